import type { Job } from './job.js'
import type { Start } from './judge.js'
import type { Run, RunResult } from './run.js'
import type { CodeReason, Language } from './task.js'

/** Outcome of one test. */
export interface Outcome {
  reason: CodeReason
  detail: string
}

/** A solution's process, known as a function that can be called. */
export class Solution {
  #run!: Run
  #refusal: string | undefined
  #ended: Outcome | undefined
  #pending: ((reply: string | Outcome) => void) | undefined

  static async start(start: Start, language: Language, job: Job, tests = 1): Promise<Solution> {
    const solution = new Solution()
    const onMessage = (line: string) => solution.#take(line)
    solution.#run = await start(language, job, { tests, onMessage })
    void solution.#run.done.then((result) => solution.#end(result))
    return solution
  }

  private constructor() {}

  /** Sends a call, one at a time. Gives the reply, `R` or `X` and JSON, or what ended the process. */
  call(line: string): Promise<string | Outcome> {
    if (this.#ended) return Promise.resolve(this.#ended)
    this.#run.send(line)
    return new Promise((resolve) => {
      this.#pending = resolve
    })
  }

  extend(): void {
    this.#run.extend()
  }

  async stop(): Promise<void> {
    this.#run.stop()
    await this.#run.done
  }

  /** What the process says unasked is dropped. */
  #take(line: string): void {
    if (line.startsWith('E')) this.#refusal ??= textOf(line)
    else if (line.startsWith('R') || line.startsWith('X')) this.#answer(line)
  }

  #end(result: RunResult): void {
    const refused = this.#refusal !== undefined
    this.#ended = refused ? { reason: 'compile_error', detail: this.#refusal! } : failureOf(result)
    this.#answer(this.#ended)
  }

  #answer(reply: string | Outcome): void {
    this.#pending?.(reply)
    this.#pending = undefined
  }
}

/** The text of a message, which a solution may have made up. */
export function textOf(line: string): string {
  try {
    return String(JSON.parse(line.slice(1)))
  } catch {
    return 'a message that cannot be read'
  }
}

/** What the end of a program says, where it should have gone on or ended well. */
export function failureOf({ ended, status, stderr }: RunResult): Outcome {
  if (ended === 'timeout') return { reason: 'timeout', detail: 'out of time' }
  if (ended === 'memory') return { reason: 'memory', detail: 'out of memory' }
  if (ended === 'output_limit') return { reason: 'output_limit', detail: 'wrote too much' }
  if (ended === 'error') return { reason: 'error', detail: stderr }
  const early = status === 0 ? 'ended before the tests did' : `ended with exit status ${status}`
  return { reason: 'runtime_error', detail: lastError(stderr) ?? early }
}

function lastError(stderr: string): string | undefined {
  return stderr.match(/^(?:Uncaught )?[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*$/gm)?.at(-1)
}
