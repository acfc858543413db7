/** One server as everything that talks to it sees it: posts, promises, limits and what is heard of them. */
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { rest } from './abort.js'
import { Budget } from './budget.js'
import { Operation, type Progress } from './call.js'
import type { CallOptions } from './client.js'
import { PromiseLost, ServerError, UserError } from './errors.js'
import { type Hearing, Passing, Persistence } from './persistence.js'
import type { Profile } from './profile.js'
import { accept, jsonOf, wordsOf } from './reply.js'
import { shaped } from './shape.js'
import type { Exchange, Reply, TransportLayer } from './transport.js'
import type { WaitBoard } from './waits.js'
import { WireError } from './wire/bytes.js'
import { failed, futureHandle, notReady, sizeOnly } from './wire/endpoints.js'
import { protobufType } from './wire/protobuf.js'

export interface Limits {
  chunkDatums: number
  chunkBytes: number
  /** Bytes of prompts on their way to the server. */
  sampleBytes: number
  /** Bytes of training data on their way to the server. */
  trainBytes: number
  /** Bytes of answers on their way back, where servers announce them. */
  answerBytes: number
  /** Samples begun and not yet answered. */
  samples: number
}

export interface Body {
  content: Uint8Array | string
  type?: string
  path?: string
}

export interface Post {
  path: string
  /** Made anew for every try. */
  body: () => Body
  what: string
  signal: AbortSignal
  /** Whether sending again after an unknown outcome is harmless. */
  repeatable: boolean
  /** Hears of a status before it is refused; true: try again with the body as it is then. */
  refused?: (status: number) => boolean
  headers?: Record<string, string>
}

export interface Reading<T> {
  /** X-Tinker-Request-Type. */
  type: string
  schema: z.ZodType
  ofJson: (json: never) => T
  ofProtobuf?: (bytes: Uint8Array) => T
}

/** The server knows nothing of a promise. */
export class Gone extends Error {}

/** What Open-RL says, with the status of an operation that failed, of a promise that it does not know. */
const saysUnknown = /(future|promise|request)\b[^.]{0,60}\bnot found/i

/** Polls that come back sooner than this are paced. */
const quickPollMs = 100
/** Share of the patience for other answers that a poll is given beyond the server's own hold. */
const pollSlack = 0.25
const slowDownMs = 10_000
const slowSamples = 10

export class Connection {
  readonly dispatches: Budget
  readonly sampleBytes: Budget
  readonly trainBytes: Budget
  readonly answerBytes: Budget
  readonly samples: Budget
  /** Encoding of training requests, once the server has taken one. */
  encoding: 'protobuf' | 'json' | undefined
  #slowUntil = 0

  constructor(
    readonly transport: TransportLayer,
    readonly profile: Profile,
    readonly limits: Limits,
    readonly hearing: Hearing,
    readonly waits: WaitBoard,
    /** Ends with the service. */
    readonly signal: AbortSignal,
  ) {
    this.dispatches = new Budget(profile.concurrentSamples)
    this.sampleBytes = new Budget(limits.sampleBytes)
    this.trainBytes = new Budget(limits.trainBytes)
    this.answerBytes = new Budget(limits.answerBytes)
    this.samples = new Budget(limits.samples)
  }

  call<T>(what: string, work: (progress: Progress) => Promise<T>, options?: CallOptions): Operation<T> {
    return new Operation(what, work, options, this.signal)
  }

  /** Posts until it is accepted. */
  post<T>(post: Post, read: (reply: Reply) => T): Promise<T> {
    const attempt = async (): Promise<T> => {
      const { content, type, path } = post.body()
      const reply = await this.transport.exchange({
        method: 'POST',
        path: path ?? post.path,
        body: content,
        ...(type && { type }),
        signal: post.signal,
        headers: { ...post.headers },
        fresh: !post.repeatable,
      })
      if (reply.status >= 400 && post.refused?.(reply.status)) return attempt()
      accept(reply, { what: post.what, transport: this.transport })
      return read(reply)
    }
    return this.#persist(post, attempt)
  }

  /** Posts JSON, and gives the checked answer. */
  ask<T>(
    path: string,
    body: object,
    schema: z.ZodType<T>,
    post: Pick<Post, 'what' | 'signal' | 'refused'> & { repeatable?: boolean },
  ): Promise<T> {
    const content = JSON.stringify(body)
    const headers = { 'x-idempotency-key': randomUUID() }
    return this.post({ repeatable: true, ...post, path, headers, body: () => ({ content }) }, (reply) =>
      shaped(schema, jsonOf(reply)),
    )
  }

  /** Posts what is answered later; gives the id of its promise. */
  async promise(post: Post): Promise<{ requestId: string; seconds: number }> {
    const begun = performance.now()
    const headers = { 'x-idempotency-key': randomUUID(), ...post.headers }
    const handle = await this.post({ ...post, headers }, (reply) => shaped(futureHandle, jsonOf(reply)))
    return { requestId: handle.request_id, seconds: (performance.now() - begun) / 1000 }
  }

  /** A request other than a post, checked. */
  get<T>(path: string, schema: z.ZodType<T>, { what, signal }: Pick<Post, 'what' | 'signal'>): Promise<T> {
    return this.#persist({ what, signal, repeatable: true }, async () =>
      shaped(schema, jsonOf(await this.fetch({ method: 'GET', path, signal }, what))),
    )
  }

  async fetch(exchange: Exchange, what: string): Promise<Reply> {
    const reply = await this.transport.exchange(exchange)
    accept(reply, { what, transport: this.transport })
    return reply
  }

  /** Polls until the promise is kept. Throws Gone where the server does not know it. */
  async retrieve<T>(
    promise: { requestId: string; seconds: number },
    reading: Reading<T>,
    { what, signal, progress }: { what: string; signal: AbortSignal; progress: Progress },
  ): Promise<T> {
    const kind = `the server's answer to ${what.split(' ', 1)[0]}`
    const wait = this.waits.begin(kind)
    const tell = (state?: string) => {
      wait.what = state ? `${kind} (${state})` : kind
      progress.tell(state ? `the answer to ${what} (${state})` : `the answer to ${what}`)
    }
    tell()
    const persistence = new Persistence(what, this.hearing)
    let sizeKnown = false
    let release = () => {}
    try {
      for (let iteration = 0; ; iteration++) {
        const begun = performance.now()
        try {
          const reply = await this.#poll(promise, reading, iteration, sizeKnown, signal)
          const found = this.#read(reply, reading, what)
          if ('result' in found) return found.result
          persistence.succeeded()
          if (found.bytes !== undefined) {
            tell('room for a large answer')
            release = await this.answerBytes.take(found.bytes, signal)
            sizeKnown = true
          } else {
            tell(found.state)
            if (performance.now() - begun < quickPollMs) await rest(quickPollMs, signal)
          }
        } catch (error) {
          if (!(error instanceof Passing)) throw error
          tell(error.message)
          await persistence.failed(error, signal)
        }
      }
    } finally {
      release()
      wait.end()
    }
  }

  /** After the server asked to slow down, few samples are sent at once for a while. */
  slowDown(): void {
    this.#slowUntil = performance.now() + slowDownMs
    this.dispatches.setLimit(slowSamples)
    const timer = setTimeout(() => {
      if (performance.now() >= this.#slowUntil - 1) this.dispatches.setLimit(this.profile.concurrentSamples)
    }, slowDownMs)
    timer.unref()
  }

  async #persist<T>(
    { what, signal, repeatable }: Pick<Post, 'what' | 'signal' | 'repeatable'>,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const persistence = new Persistence(what, this.hearing)
    const wait = this.waits.begin(`the server to take ${what.split(' ', 1)[0]}`)
    try {
      for (;;) {
        try {
          return await attempt()
        } catch (error) {
          if (!(error instanceof Passing)) throw error
          if (!repeatable && !error.unsent) throw this.#unknown(what, error)
          await persistence.failed(error, signal)
        }
      }
    } finally {
      wait.end()
    }
  }

  #poll<T>(
    { requestId, seconds }: { requestId: string; seconds: number },
    reading: Reading<T>,
    iteration: number,
    sizeKnown: boolean,
    signal: AbortSignal,
  ): Promise<Reply> {
    const { patience } = this.hearing
    const announce = this.profile.announcesSize && { allow_metadata_only: !sizeKnown }
    return this.transport.exchange({
      method: 'POST',
      path: 'retrieve_future',
      body: JSON.stringify({ request_id: requestId, ...announce }),
      headers: {
        ...(reading.ofProtobuf && { accept: protobufType }),
        'x-tinker-request-iteration': String(iteration),
        'x-tinker-request-type': reading.type,
        ...(iteration === 0 && { 'x-tinker-create-promise-roundtrip-time': seconds.toFixed(6) }),
      },
      timeoutMs: (patience.holdMs ?? this.profile.pollHoldMs) + pollSlack * patience.answerMs,
      signal,
    })
  }

  #read<T>(
    reply: Reply,
    reading: Reading<T>,
    what: string,
  ): { result: T } | { state: string | undefined; bytes?: undefined } | { bytes: number } {
    const { status } = reply
    if (status === 408) return { state: stateOf(tryJson(reply)) }
    const said = wordsOf(reply)
    const unknown = status === 404 || status === 410 || (status === 400 && saysUnknown.test(said))
    if (unknown) throw new Gone(this.transport.redact(said))
    this.#throwFailure(reply, what)
    accept(reply, { what, transport: this.transport })
    try {
      if (reading.ofProtobuf && reply.type === protobufType)
        return { result: reading.ofProtobuf(reply.bytes) }
      const json = jsonOf(reply)
      const waiting = notReady.safeParse(json)
      if (waiting.success) return { state: stateOf(waiting.data) }
      const size = sizeOnly.safeParse(json)
      if (size.success) return { bytes: size.data.response_payload_size }
      const failure = failed.safeParse(json)
      if (failure.success)
        throw this.#operationFailed(what, failure.data.error, failure.data.category === 'user')
      return { result: reading.ofJson(shaped(reading.schema, json) as never) }
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      throw new Passing(`an answer that cannot be read: ${error.message}`, { kind: 'doubt', cause: error })
    }
  }

  /** Statuses that tell of a failed operation rather than of the poll. */
  #throwFailure(reply: Reply, what: string): void {
    const { status } = reply
    if (status === 400 && reply.bytes.length > 0 && !this.profile.failureStatuses.includes(400))
      throw new Passing(`HTTP 400, ${this.transport.redact(wordsOf(reply))}`, { kind: 'doubt', status })
    if (status === 409 || !this.profile.failureStatuses.includes(status) || reply.bytes.length === 0) return
    throw this.#operationFailed(what, wordsOf(reply), true)
  }

  #operationFailed(what: string, error: string, user: boolean): Error {
    const said = this.transport.redact(error).replace(/\s+/g, ' ').trim().replace(/\.$/, '')
    const message = `${this.transport.url} failed at ${what}: ${said}.`
    if (user) return new UserError(message, { hint: 'Change what it names, or see what the server logs.' })
    return new ServerError(message, { hint: 'See what the server logs.' })
  }

  #unknown(what: string, cause: Passing): PromiseLost {
    return new PromiseLost(
      `Whether ${this.transport.url} carried out ${what} is not known: ${cause.message}.`,
      'unknown',
      { hint: 'Load the last saved weights into a new model: sent again, it might be applied twice.', cause },
    )
  }
}

function stateOf(value: unknown): string | undefined {
  const { queue_state, queue_state_reason } = (value ?? {}) as Record<string, unknown>
  if (typeof queue_state !== 'string' || queue_state === 'active') return undefined
  return typeof queue_state_reason === 'string' ? `${queue_state}: ${queue_state_reason}` : queue_state
}

function tryJson(reply: Reply): unknown {
  try {
    return JSON.parse(reply.bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
