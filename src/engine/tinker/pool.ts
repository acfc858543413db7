/** Work on many items at once, bounded, with results as they come. */
import { setMaxListeners } from 'node:events'

/**
 * Runs `work` on the items, at most `limit` at a time, and yields each result when it is there. Leaving the loop, the
 * signal or the first failure ends what is under way through the signal that `work` is given.
 */
export async function* inParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, signal: AbortSignal) => PromiseLike<R>,
  signal?: AbortSignal,
): AsyncGenerator<R> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  // Everything under way listens, which is no leak.
  setMaxListeners(0, stop.signal)
  const results: R[] = []
  let failure: { error: unknown } | undefined
  let next = 0
  let running = 0
  let wake = () => {}
  const start = () => {
    while (running < limit && next < items.length && !failure) {
      running++
      void run(items[next++]!)
    }
  }
  const run = async (item: T) => {
    try {
      results.push(await work(item, stop.signal))
    } catch (error) {
      failure ??= { error }
    } finally {
      running--
      start()
      wake()
    }
  }
  const abort = () => {
    failure ??= { error: signal!.reason }
    wake()
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    start()
    for (;;) {
      while (results.length > 0) yield results.shift()!
      if (failure) throw failure.error
      if (running === 0 && next >= items.length) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    next = items.length
    stop.abort(failure?.error)
  }
}
