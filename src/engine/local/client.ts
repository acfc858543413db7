/** Calls into the engine's thread as promises and streams; errors arrive as what they were. */
import { Worker } from 'node:worker_threads'
import {
  CheckpointError,
  ConfigError,
  DataError,
  EngineError,
  InvariantError,
  messageOf,
  NotFiniteError,
  type SparringError,
} from '../../core/errors.js'
import type { ErrorRecord, Method, Request, Response, WorkerStart } from './protocol.js'

interface Pending {
  items?: (values: unknown[]) => void
  done: (value: unknown) => void
  fail: (error: unknown) => void
}

export class Client {
  readonly #worker: Worker
  readonly #pending = new Map<number, Pending>()
  #ids = 0
  #ended: unknown

  constructor(start: WorkerStart) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: start,
      name: 'sparring engine',
    })
    this.#worker.on('message', (response: Response) => this.#receive(response))
    this.#worker.on('error', (cause) =>
      this.#end(new EngineError(`The engine's thread stopped: ${messageOf(cause)}.`, { cause })),
    )
    this.#worker.on('exit', () => this.#end(new EngineError('The engine was closed.')))
  }

  call<T>(method: Method, ...args: unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#send(method, args, { done: resolve as (value: unknown) => void, fail: reject })
    })
  }

  /** Items of a call as they come. Leaving the loop early, or the signal, ends the call in the thread as well. */
  async *stream<T>(method: Method, args: unknown[], signal?: AbortSignal): AsyncGenerator<T> {
    signal?.throwIfAborted()
    const items: T[] = []
    let ended = false
    let failure: { error: unknown } | undefined
    let wake = () => {}
    const id = this.#send(method, args, {
      items: (values) => {
        items.push(...(values as T[]))
        wake()
      },
      done: () => {
        ended = true
        wake()
      },
      fail: (error) => {
        failure = { error }
        ended = true
        wake()
      },
    })
    const abort = () => wake()
    signal?.addEventListener('abort', abort)
    try {
      for (;;) {
        while (items.length > 0) yield items.shift()!
        signal?.throwIfAborted()
        if (failure) throw failure.error
        if (ended) return
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      if (!ended) this.#worker.postMessage({ cancel: id } satisfies Request)
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  /** A call in progress keeps the process alive; an idle engine does not. */
  #send(method: Method, args: unknown[], pending: Pending): number {
    if (this.#ended) {
      pending.fail(this.#ended)
      return 0
    }
    const id = ++this.#ids
    this.#pending.set(id, pending)
    this.#worker.ref()
    this.#worker.postMessage({ id, method, args } satisfies Request)
    return id
  }

  #receive(response: Response): void {
    const pending = this.#pending.get(response.id)
    if (!pending) return
    if ('items' in response) {
      pending.items?.(response.items)
      return
    }
    this.#pending.delete(response.id)
    if (this.#pending.size === 0) this.#worker.unref()
    if ('error' in response) pending.fail(fromRecord(response.error))
    else pending.done(response.result)
  }

  #end(error: unknown): void {
    this.#ended ??= error
    for (const pending of this.#pending.values()) pending.fail(this.#ended)
    this.#pending.clear()
  }
}

const classes: Record<string, new (message: string, options: { hint?: string }) => SparringError> = {
  config: ConfigError,
  data: DataError,
  engine: EngineError,
  not_finite: NotFiniteError,
  checkpoint: CheckpointError,
}

function fromRecord({ code, message, hint, stack }: ErrorRecord): SparringError {
  const error = new (classes[code] ?? InvariantError)(message, hint === undefined ? {} : { hint })
  if (stack !== undefined) error.stack = stack
  return error
}
