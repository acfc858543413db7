import { Worker } from 'node:worker_threads'

/** Interval at which the thread looks for the parent, milliseconds. */
const PERIOD = 1000

/**
 * Ends this child process when its parent is gone: at once while the event loop is free, and within about a second,
 * from a thread of its own, while something blocks it.
 */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit())
  const watch = `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL')
  }, ${PERIOD})`
  new Worker(watch, { eval: true }).unref()
}
