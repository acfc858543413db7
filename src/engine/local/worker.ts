/** The engine's thread: kernels run here, so that the event loop, the page and Ctrl-C stay alive. */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf, SparringError } from '../../core/errors.js'
import { Host } from './host.js'
import { startRuntime } from './ort/runtime.js'
import type { ErrorRecord, Request, Response, WorkerStart } from './protocol.js'

const port = parentPort!
const { threads, options } = workerData as WorkerStart
const host = new Host(options)
const cancelled = new Set<number>()
let started = false
/** Requests run one behind the other: kernels would only fight for the same cores. */
let last: Promise<void> = Promise.resolve()

port.on('message', (request: Request) => {
  if ('cancel' in request) cancelled.add(request.cancel)
  else last = last.then(() => answer(request.id, request.method, request.args))
})

const send = (response: Response) => port.postMessage(response)

async function answer(id: number, method: string, args: unknown[]): Promise<void> {
  try {
    if (!started) startRuntime(threads)
    started = true
    if (method === 'sample') {
      await sample(id, args)
      return
    }
    const call = host[method as 'logprobs'] as (...args: unknown[]) => unknown
    send({ id, result: await call.apply(host, args) })
  } catch (error) {
    send({ id, error: toRecord(error) })
  }
}

/**
 * Between steps, this often, messages are let in (a cancellation is noticed) and finished completions go out, several at
 * once: a message for each would wake the other thread while every core computes.
 */
const breathEvery = 20

async function sample(id: number, args: unknown[]): Promise<void> {
  let lastBreath = performance.now()
  let finished: unknown[] = []
  const flush = () => {
    if (finished.length > 0) send({ id, items: finished })
    finished = []
  }
  const breathe = async () => {
    if (performance.now() - lastBreath < breathEvery) return
    flush()
    await new Promise((resolve) => setImmediate(resolve))
    lastBreath = performance.now()
    if (cancelled.has(id)) throw new Cancelled()
  }
  const [handle, requests, params] = args as Parameters<Host['sample']>
  for await (const item of host.sample(handle, requests, params, breathe)) finished.push(item)
  flush()
  send({ id, result: undefined })
}

class Cancelled extends Error {}

function toRecord(error: unknown): ErrorRecord {
  if (error instanceof Cancelled) return { code: 'cancelled', message: 'Sampling was cancelled.' }
  const known = SparringError.isInstance(error)
  return {
    code: known ? error.code : 'invariant',
    message: messageOf(error),
    ...(known && error.hint !== undefined && { hint: error.hint }),
    ...(error instanceof Error && error.stack !== undefined && { stack: error.stack }),
  }
}
