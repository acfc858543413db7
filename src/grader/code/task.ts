/** What a code task is, and what is said of a solution. */
export const languages = ['python', 'javascript'] as const
export type Language = (typeof languages)[number]

/**
 * Tests as code. With an entry point they run in a process of their own, which knows the solution only as a function
 * that it calls; without one they run behind the solution, in the solution's process.
 */
export interface ProgramTask {
  kind: 'program'
  language: Language
  /** Code that the response continues, or writes again in full. */
  prompt?: string
  /** Code that fails by throwing. A function `check` that it defines is called with the entry point (HumanEval). */
  tests: string
  /** Function that the tests are about. @default the NAME of `candidate = NAME` in the tests (MultiPL-E) */
  entryPoint?: string
}

/** A program that reads standard input and writes standard output, run once a case. */
export interface StdinTask {
  kind: 'stdin'
  language: Language
  cases: { input: string; output: string }[]
}

/** A function, or a method of `class Solution`, that is called once a case; all values as JSON has them. */
export interface FunctionTask {
  kind: 'function'
  language: Language
  name: string
  cases: { args: unknown[]; expected: unknown }[]
}

export type CodeTask = ProgramTask | StdinTask | FunctionTask

export type CodeReason =
  | 'passed'
  | 'failed'
  | 'no_code'
  | 'compile_error'
  | 'runtime_error'
  | 'timeout'
  | 'memory'
  | 'output_limit'
  | 'error'

export interface CodeVerdict {
  /** All tests passed. */
  passed: boolean
  /** Share of tests passed; a `program` is one test. */
  fraction: number
  /** Code taken from the response, null when there was none. */
  extracted: string | null
  /** Of the first test that did not pass. `error`: the tests themselves, or the machine, are at fault. */
  reason: CodeReason
  ms: number
  /** What went wrong, at most 300 characters. */
  detail: string
}
