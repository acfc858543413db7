/**
 * What a child process is told, and what it says, one line a message: a letter and a JSON value. Each direction has a
 * pipe of its own, so that what a program said last is read even when it hears no more.
 *
 * To the child: `J` job, `C` call, `R` returned, `X` threw. From it: `E` the solution does not compile, `T` the tests do
 * not, `L` the solution is loaded, `C` call, `R` returned, `X` threw [name, text], `V` verdict of the tests.
 *
 * `sources` are spellings of one program, of which the first that compiles is run.
 */
export type Job =
  | { mode: 'script'; sources: string[]; prelude: boolean }
  | { mode: 'serve'; sources: string[]; prelude: boolean; entry: string }
  | { mode: 'judge'; setup: string[]; tests: string; entry: string }
  | { mode: 'together'; sources: string[]; prelude: boolean; tests: string; token: string }

/** A call: positional arguments, and arguments by name. */
export type Call = [unknown[], Record<string, unknown>]

export interface TestsVerdict {
  passed: boolean
  /** The job's, where tests that share the solution's process ran to their end. */
  token?: string | null
  /** Name of the error that the solution threw, where that is what ended the tests. */
  remote?: string | null
  detail?: string
}

export function message(letter: string, value: unknown): string {
  return `${letter}${JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? { $: 'bigint', v: `${v}` } : v))}\n`
}
