/** Tasks side by side, and what they yield as it comes. */

/**
 * Runs the tasks that `next` hands out, `limit` at once, and yields their results as they come, in any order. `next`
 * is asked again whenever a task has ended, so a task may give rise to others. Tasks wait where results are not
 * fetched, so that what is held stays bounded. After a failure no task begins: `onFailure` is told, those under way
 * end, their results are yielded, and then the first failure is thrown.
 */
export async function* sideBySide<T>(
  next: () => (() => Promise<T[]>) | undefined,
  limit: number,
  onFailure: () => void,
): AsyncGenerator<T> {
  const ready: T[] = []
  let running = 0
  let failure: { error: unknown } | undefined
  let wake = () => {}
  const run = async (task: () => Promise<T[]>) => {
    try {
      ready.push(...(await task()))
    } catch (error) {
      failure ??= { error }
      onFailure()
    }
    running--
    begin()
    wake()
  }
  const begin = () => {
    while (failure === undefined && running < limit && ready.length < 2 * limit) {
      const task = next()
      if (task === undefined) break
      running++
      void run(task)
    }
  }
  for (;;) {
    begin()
    if (ready.length > 0) yield ready.shift()!
    else if (running === 0) break
    else
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  if (failure !== undefined) throw failure.error
}
