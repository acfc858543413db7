/**
 * Grades 100,000 generated pairs in killable processes and counts what must not happen: a crash, a timeout, a readable
 * text that does not equal itself, a verdict that depends on the order. `npm run fuzz-grader -- [pairs] [seed]`
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { projectRoot } from '../src/core/paths.js'
import type { GradeCase, Verdict } from '../src/grader/grader.js'
import { createGrader } from '../src/grader/index.js'
import { readAnswer } from '../src/grader/notation/read.js'
import { answers } from '../test/support/answers.js'

const [pairs = 100_000, seed = 1] = process.argv.slice(2).map(Number)
const BATCH = 2000

const grader = createGrader({ deadlineMs: 5000 })
const counts = { pairs: 0, equal: 0, crashes: 0, timeouts: 0, notItself: 0, orderMatters: 0 }
const times: number[] = []
const examples: Record<string, unknown>[] = []
const note = (fault: keyof typeof counts, example: object) => {
  counts[fault]++
  if (examples.length < 20) examples.push({ fault, ...example })
}
const hasLetterUnit = (text: string) => /[\d.][a-zA-Z]/.test(text.normalize('NFKC'))

for (let from = 0; from < pairs; from += BATCH) {
  const texts = answers(seeds())
  const batch = fc.sample(fc.tuple(texts, texts), {
    seed: seed + from,
    numRuns: Math.min(BATCH, pairs - from),
  })
  const cases: GradeCase[] = batch.flatMap(([a, b]): GradeCase[] => [
    { gold: a, prediction: b, kind: 'answer' },
    { gold: b, prediction: a, kind: 'answer' },
    { gold: a, prediction: a, kind: 'answer' },
    { gold: a, prediction: b },
  ])
  const verdicts = await grader.grade(cases)
  for (const [i, [a, b]] of batch.entries())
    check(a, b, verdicts.slice(4 * i, 4 * i + 4) as [Verdict, Verdict, Verdict, Verdict])
  process.stderr.write(`${counts.pairs} pairs\n`)
}
await grader.close()
times.sort((a, b) => a - b)
const at = (share: number) => Number((times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(2))
console.log(JSON.stringify({ ...counts, ms: { p50: at(0.5), p99: at(0.99), max: at(1) } }))
for (const example of examples) console.log(JSON.stringify(example))
process.exitCode = counts.crashes + counts.timeouts + counts.notItself + counts.orderMatters > 0 ? 1 : 0

function check(a: string, b: string, verdicts: [Verdict, Verdict, Verdict, Verdict]): void {
  const [there, back, self] = verdicts
  counts.pairs++
  if (there.equal) counts.equal++
  for (const { ms, reason } of verdicts) {
    times.push(ms)
    if (reason === 'error') note('crashes', { a, b })
    if (reason === 'timeout') note('timeouts', { a, b })
  }
  const plain = !/boxed|fbox|answer/.test(a + b)
  if (plain && readAnswer(a) !== undefined && !self.equal) note('notItself', { a })
  const whole = there.from === 'whole' && back.from === 'whole'
  if (plain && whole && !hasLetterUnit(a + b) && there.equal !== back.equal) note('orderMatters', { a, b })
}

function seeds(): string[] {
  const file = join(projectRoot(), '..', 'shared', 'cases', 'verify.jsonl')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.flatMap((line): string[] => {
    const { gold, prediction } = JSON.parse(line)
    return [gold, prediction].filter((text) => text !== '')
  })
}
