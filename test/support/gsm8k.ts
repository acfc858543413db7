/** A table of answers to gsm8k: how often each problem is answered right, and in what words. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { randomStream } from '../../src/core/random.js'

export const dataFolder = join(projectRoot(), '..', 'shared', 'data')
const file = join(dataFolder, 'gsm8k_test.jsonl')
export const hasGsm8k = existsSync(file)

export const SAMPLES = 6

export interface AnswerTable {
  problems: number
  /** Right samples of each problem, of `SAMPLES`. */
  right: number[]
  /** Mean over problems of the share of right samples. */
  accuracy: number
  /** Share of answers with nothing to take. */
  unanswered: number
  /** The next answer to a problem, found by its text in what was put. Each problem has `SAMPLES` of them. */
  next(put: string): string
}

const rightForms = [
  (gold: string) => `\\boxed{${gold}}`,
  (gold: string) => `We find \\boxed{\\$${gold}}.`,
  (gold: string) => `First \\boxed{1}, no: \\boxed{ ${gold} }`,
]
const wrongForms = [
  (gold: string) => `\\boxed{${gold}7}`,
  (gold: string) => `It is \\boxed{-${gold}} or so.`,
  () => 'I do not know.',
]

/** Drawn with a seed: the same table in every process. */
export function answerTable(): AnswerTable {
  const rows = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const stream = randomStream(7, 'table')
  const right = rows.map(() => stream.int(SAMPLES + 1))
  const places = new Map<string, number>(rows.map(({ problem }, i) => [problem, i]))
  const given = rows.map(() => 0)
  const wrong = right.reduce((sum, count) => sum + SAMPLES - count, 0)
  let unanswered = 0
  const scripts = rows.map(({ answer }, i) =>
    Array.from({ length: SAMPLES }, (_, sample) => {
      if (sample < right[i]!) return `Some steps.\n${stream.pick(rightForms)(answer)}`
      const form = stream.int(wrongForms.length)
      if (form === 2) unanswered++
      return wrongForms[form]!(answer)
    }),
  )
  const total = rows.length * SAMPLES
  return {
    problems: rows.length,
    right,
    accuracy: (total - wrong) / total,
    unanswered: unanswered / total,
    next(put) {
      const place = places.get(put)
      if (place === undefined) throw new Error(`${put} is not in the table.`)
      return scripts[place]![given[place]!++]!
    },
  }
}
