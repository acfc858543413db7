/** Signals and waits that leave no listener behind. */

export interface Linked {
  readonly signal: AbortSignal
  /** Ends the linked signal alone. */
  abort(reason: unknown): void
  /** Lets go of the signals and the timer. */
  release(): void
}

/** A signal that ends with the first of the given ones, or after `deadlineMs` with the error that `late` makes. */
export function link(
  signals: (AbortSignal | undefined)[],
  deadline?: { ms: number; late: () => Error },
): Linked {
  const controller = new AbortController()
  const releases: (() => void)[] = []
  for (const signal of signals) {
    if (!signal) continue
    if (signal.aborted) controller.abort(signal.reason)
    const end = () => controller.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    releases.push(() => signal.removeEventListener('abort', end))
  }
  if (deadline) {
    const timer = setTimeout(() => controller.abort(deadline.late()), deadline.ms)
    releases.push(() => clearTimeout(timer))
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => {
      for (const release of releases) release()
    },
  }
}

/** The promise's value, or the signal's reason where that comes first. */
export async function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let end = () => {}
  const aborted = new Promise<never>((_, reject) => {
    end = () => reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Waits; rejects with the signal's reason. */
export function rest(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  return unlessAborted(over, signal).finally(() => clearTimeout(timer))
}
