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
    releases.push(onAbort(signal, () => controller.abort(signal.reason)))
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

/** What hears of each signal: one listener for all, since Node warns of more than ten. */
const hearers = new WeakMap<AbortSignal, { all: Set<() => void>; listener: () => void }>()

/** Calls back when the signal ends; the function it gives calls that off. */
export function onAbort(signal: AbortSignal, hear: () => void): () => void {
  let heard = hearers.get(signal)
  if (!heard) {
    const all = new Set<() => void>()
    const listener = () => {
      hearers.delete(signal)
      for (const each of [...all]) each()
    }
    heard = { all, listener }
    hearers.set(signal, heard)
    signal.addEventListener('abort', listener, { once: true })
  }
  const { all, listener } = heard
  all.add(hear)
  return () => {
    if (!all.delete(hear) || all.size > 0) return
    signal.removeEventListener('abort', listener)
    if (hearers.get(signal)?.listener === listener) hearers.delete(signal)
  }
}

/** The promise's value, or the signal's reason where that comes first. */
export async function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let release = () => {}
  const aborted = new Promise<never>((_, reject) => {
    release = onAbort(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    release()
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
