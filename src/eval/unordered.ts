/** A finished job with its value; empty where the stream gave an item or ended. */
interface Settled<U> {
  job?: Promise<Settled<U>>
  value?: U
}

/**
 * Works on the items of a stream as they arrive, at most `limit` at a time, and yields results as they are ready: a
 * slow item holds up none that came after it. An error of the stream or of the work ends it. Stream and work are
 * told by a signal when no more is wanted of them: at such an error, at the caller's own signal, or when the caller
 * stops reading.
 */
export async function* mapUnordered<T, U>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<U>,
  signal?: AbortSignal,
): AsyncGenerator<U> {
  const ending = new AbortController()
  const either = AbortSignal.any([ending.signal, ...(signal ? [signal] : [])])
  const items = open(either)[Symbol.asyncIterator]()
  const running = new Set<Promise<Settled<U>>>()
  let coming: Promise<Settled<U>> | undefined
  let ended = false

  const pull = async (): Promise<Settled<U>> => {
    const next = await items.next()
    coming = undefined
    if (next.done) {
      ended = true
      return {}
    }
    const job: Promise<Settled<U>> = work(next.value, either).then((value) => ({ job, value }))
    running.add(job)
    return {}
  }

  try {
    for (;;) {
      if (!ended && running.size < limit) coming ??= pull()
      const open = coming ? [...running, coming] : [...running]
      if (open.length === 0) return
      const { job, value } = await Promise.race(open)
      if (job === undefined) continue
      running.delete(job)
      yield value as U
    }
  } finally {
    ending.abort()
    await Promise.allSettled([...(coming ? [coming] : []), ...running])
    await items.return?.()
  }
}
