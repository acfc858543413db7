/** An operation under way, as callers see it. */
import { link, unlessAborted } from './abort.js'
import type { Call, CallOptions } from './client.js'
import { Transport } from './errors.js'

/** What the work of a call tells of itself. */
export interface Progress {
  /** Ends with the caller's signal, the deadline, or the service. */
  readonly signal: AbortSignal
  /** Says what is waited for now. */
  tell(waitsFor: string): void
  /** The server accepted the request. */
  accepted(): void
}

export class Operation<T> implements Call<T> {
  readonly submitted: Promise<void>
  #waitsFor: string
  readonly #result: Promise<T>
  readonly #what: string

  /** `what` names the operation in sentences; `work` is begun at once. */
  constructor(
    what: string,
    work: (progress: Progress) => Promise<T>,
    options: CallOptions | undefined,
    serviceSignal: AbortSignal,
  ) {
    const linked = link([options?.signal, serviceSignal], deadlineOf(what, options))
    let accepted = () => {}
    let refused = (_: unknown) => {}
    this.submitted = new Promise((resolve, reject) => {
      accepted = resolve
      refused = reject
    })
    this.#what = what
    this.#waitsFor = what
    const tell = (waitsFor: string) => {
      this.#waitsFor = waitsFor
    }
    this.#result = run(work, { signal: linked.signal, tell, accepted }).finally(linked.release)
    this.#result.then(accepted, refused)
    this.submitted.catch(() => {})
  }

  get waitsFor(): string {
    return this.#waitsFor
  }

  // biome-ignore lint/suspicious/noThenProperty: a call is awaited as promises are
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(fulfilled, rejected)
  }

  async wait(options: CallOptions = {}): Promise<T> {
    const linked = link([options.signal], deadlineOf(this.#what, options))
    try {
      return await unlessAborted(this.#result, linked.signal)
    } finally {
      linked.release()
    }
  }
}

/** The work may go on after its caller was let go; how it ends is then nobody's concern. */
async function run<T>(work: (progress: Progress) => Promise<T>, progress: Progress): Promise<T> {
  const result = work(progress)
  result.catch(() => {})
  return await unlessAborted(result, progress.signal)
}

function deadlineOf(what: string, options: CallOptions | undefined) {
  const ms = options?.deadlineMs
  if (ms === undefined) return undefined
  return { ms, late: () => new Transport(`${what} was not done within ${ms / 1000} s.`, { hint: laterHint }) }
}

const laterHint = 'Allow more time, or see what the server is busy with.'
