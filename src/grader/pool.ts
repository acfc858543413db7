import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigError, DataError, GraderError } from '../core/errors.js'
import { GradeChild, type Outcome } from './child.js'
import { isEquivalent } from './equivalence.js'
import { lastBoxed } from './extract/boxed.js'
import { methods } from './extract/index.js'
import type { GradeSettings } from './grade.js'
import type { GradeCase, Grader, Verdict } from './grader.js'

export interface GraderOptions extends GradeSettings {
  /** Processes that compare at the same time; started when first needed. @default 2 */
  workers?: number
  /** Time one comparison has before its process is killed and it counts as not equal, milliseconds. @default 5000 */
  deadlineMs?: number
  /** Script of the grading process. @default the one of this package */
  workerPath?: string
}

const optionsSchema = z.strictObject({
  workers: z.int().min(1).optional(),
  deadlineMs: z.number().positive().optional(),
  workerPath: z.string().optional(),
  extract: z.array(z.enum(methods)).min(1).readonly().optional(),
  tolerance: z.number().min(0).optional(),
  unevaluated: z.enum(['accept', 'refuse']).optional(),
})

/** Numerals so plain and short that comparing them is bounded, which spares the way to another process. */
const plainNumeral = /^ {0,4}[-+]?[\d,]{1,40}(?:\.\d{1,40})? {0,4}$/

/**
 * A grader that cannot hang: what is more than two plain numerals is graded in processes that are killed at the
 * deadline. Verdicts do not depend on how many processes there are. Throws ConfigError where an option is wrong.
 */
export function createGrader(options: GraderOptions = {}): Grader {
  check(options)
  const { workers = 2, deadlineMs = 5000, workerPath = ownWorker(), ...settings } = options
  const children = Array.from({ length: workers }, () => new GradeChild(workerPath, deadlineMs))
  const idle = [...children]
  const waiting: ((child: GradeChild) => void)[] = []
  const boxOnly = settings.extract?.join() === 'last_box'
  let closed = false

  async function ask(question: GradeCase): Promise<{ outcome: Outcome; ms: number }> {
    const child = idle.pop() ?? (await new Promise<GradeChild>((resolve) => waiting.push(resolve)))
    try {
      return await child.ask({ ...question, settings })
    } finally {
      const next = waiting.shift()
      if (next) next(child)
      else idle.push(child)
    }
  }

  async function gradeOne(question: GradeCase): Promise<Verdict> {
    const boxed = boxOnly && question.kind !== 'answer' ? lastBoxed(question.prediction)?.trim() : undefined
    if (boxed !== undefined && plainNumeral.test(question.gold) && plainNumeral.test(boxed)) {
      const equal = isEquivalent(question.gold, boxed)
      return { equal, extracted: boxed, from: 'last_box', reason: equal ? 'equal' : 'different', ms: 0 }
    }
    const { outcome, ms } = await ask(question)
    return typeof outcome === 'object'
      ? { ...outcome, ms }
      : { equal: false, extracted: boxed ?? null, reason: outcome, ms }
  }

  return {
    grade: async (cases) => {
      if (closed) throw new GraderError('The grader is closed.')
      cases.forEach(checkCase)
      return Promise.all(cases.map(gradeOne))
    },
    close: async () => {
      closed = true
      await Promise.all(children.map((child) => child.close()))
    },
  }
}

function check(options: GraderOptions): void {
  const [issue] = optionsSchema.safeParse(options).error?.issues ?? []
  if (issue === undefined) return
  const name = issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''
  throw new ConfigError(`The grader's options are wrong: ${name}${issue.message}.`, {
    hint: `It takes ${Object.keys(optionsSchema.shape).join(', ')}.`,
  })
}

function checkCase({ gold, prediction }: GradeCase, index: number): void {
  for (const [name, value] of Object.entries({ gold, prediction })) {
    if (typeof value !== 'string')
      throw new DataError(`Case ${index} of the cases to grade: ${name} is no text.`)
  }
}

function ownWorker(): string {
  return fileURLToPath(new URL('./grade-worker.js', import.meta.url))
}
