import { availableParallelism } from 'node:os'
import { GraderError } from '../../core/errors.js'
import { checkCases, checkLanguage, checkOptions } from './checks.js'
import { extractCode } from './extract-code.js'
import { judge, type Start } from './judge.js'
import type { Run } from './run.js'
import { Sandbox, type SandboxOptions, type SandboxReport } from './sandbox.js'
import type { CodeTask, CodeVerdict, Language } from './task.js'

export interface CodeGraderOptions extends SandboxOptions {
  /** Responses that are judged at the same time. @default the number of processors */
  concurrency?: number
}

export interface CodeCase {
  task: CodeTask
  /** Free text; the code is taken from it by `extractCode`. */
  response: string
}

export interface CodeGrader {
  /**
   * Judges responses; order is kept. Nothing that a response holds makes it throw. Throws DataError where a case is no
   * task and text, GraderError where this machine cannot run the language, and the signal's reason once it aborts.
   */
  grade(cases: CodeCase[], signal?: AbortSignal): Promise<CodeVerdict[]>
  /** How programs of a language are kept apart from this machine. Throws GraderError where none can be run. */
  describe(language: Language): Promise<SandboxReport>
  /** Ends what is being judged. */
  close(): Promise<void>
}

const MAX_DETAIL = 300

/** Throws ConfigError where an option is unknown or out of range. */
export function createCodeGrader(options: CodeGraderOptions = {}): CodeGrader {
  checkOptions(options)
  const sandbox = new Sandbox(options)
  const concurrency = options.concurrency ?? availableParallelism()
  const closing = new AbortController()
  const grades = new Set<Promise<CodeVerdict[]>>()
  const waiting: (() => void)[] = []
  let busy = 0

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (busy >= concurrency) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }

  async function gradeOne(
    { task, response }: CodeCase,
    mine: Set<Run>,
    signal: AbortSignal,
  ): Promise<CodeVerdict> {
    signal.throwIfAborted()
    const extracted = extractCode(response, task.language)
    const nothing = { passed: false, fraction: 0, extracted, ms: 0 }
    if (extracted === null) return { ...nothing, reason: 'no_code', detail: 'the response holds no code' }
    const began = performance.now()
    const start: Start = async (language, job, runOptions) => {
      signal.throwIfAborted()
      const run = await sandbox.start(language, job, runOptions)
      mine.add(run)
      void run.done.then(() => mine.delete(run))
      if (signal.aborted) run.stop()
      return run
    }
    const { tests, outcomes } = await judge(task, extracted, start)
    signal.throwIfAborted()
    const good = outcomes.filter(({ reason }) => reason === 'passed').length
    const { reason, detail } = outcomes.find((outcome) => outcome.reason !== 'passed') ?? outcomes[0]!
    const ms = performance.now() - began
    return { passed: good === tests, fraction: good / tests, extracted, reason, ms, detail: shown(detail) }
  }

  /** Ends only when everything that it started has ended. */
  async function gradeAll(cases: CodeCase[], signal: AbortSignal): Promise<CodeVerdict[]> {
    const mine = new Set<Run>()
    signal.addEventListener('abort', () => {
      for (const run of mine) run.stop()
    })
    const settled = await Promise.allSettled(cases.map((item) => inTurn(() => gradeOne(item, mine, signal))))
    await Promise.all([...mine].map((run) => run.done))
    return settled.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }

  return {
    grade: async (cases, signal) => {
      checkCases(cases)
      const grading = gradeAll(cases, AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]))
      grades.add(grading)
      return grading.finally(() => grades.delete(grading))
    },
    describe: async (language) => {
      checkLanguage(language)
      return sandbox.describe(language)
    },
    close: async () => {
      closing.abort(new GraderError('The code grader is closed.'))
      await Promise.allSettled(grades)
    },
  }
}

/** One short line without control characters: it comes from a program that nobody trusts. */
function shown(detail: string): string {
  return detail
    .slice(0, 10 * MAX_DETAIL)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_DETAIL)
}
