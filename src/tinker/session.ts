/** A session: its models and samplers, kept alive by heartbeats. */
import { link, onAbort } from './abort.js'
import type { Call, CallOptions, Model, ModelSpec, Sampler, Session, TrainOptions } from './client.js'
import { type Connection, Gone } from './connection.js'
import { PromiseLost, type TinkerError, UserError } from './errors.js'
import type { Journal } from './journal.js'
import type { PastRequest } from './journal-state.js'
import { RemoteModel } from './model.js'
import { isFinal } from './persistence.js'
import { RemoteSampler } from './sampler.js'
import { answers, type RequestBody } from './wire/endpoints.js'

/** Without an answer to heartbeats for so long, the caller is warned, ms. */
const silenceMs = 120_000
/** Exceptions in a row by which a server that tells of unknown sessions so is believed. */
const mostExceptions = 4
/** Sampling sessions of one process; a process that goes on with a session counts from a number of its own. */
const samplersPerProcess = 1_000_000

export class RemoteSession implements Session {
  lost: TinkerError | undefined
  readonly #timer: NodeJS.Timeout
  readonly #release: () => void
  #heard = performance.now()
  #beating = false
  #nextModel: number
  #nextSampler: number

  constructor(
    private readonly connection: Connection,
    private readonly journal: Journal | undefined,
    readonly id: string,
    taken: { models: number; resumes: number } = { models: 0, resumes: 0 },
  ) {
    this.#nextModel = taken.models
    this.#nextSampler = taken.resumes * samplersPerProcess
    this.#timer = setInterval(() => this.#beat(), connection.hearing.patience.heartbeatMs).unref()
    this.#release = onAbort(connection.signal, () => this.close())
  }

  createModel(spec: ModelSpec, options: TrainOptions = {}): Call<Model> {
    const number = this.#nextModel++
    return this.connection.call(
      `create_model ${spec.baseModel}`,
      async (progress) => {
        this.#check()
        if (spec.rank > this.connection.profile.maxRank)
          this.connection.hearing.warn(
            `Rank ${spec.rank} is more than the ${this.connection.profile.maxRank} that ${this.connection.profile.dialect} servers take unless told.`,
          )
        const what = `create_model ${spec.baseModel}`
        const content = JSON.stringify(bodyOf(this.id, number, spec))
        const { signal } = progress
        const digest = ''
        const id = await this.journal?.send({
          kind: 'create_model',
          seq: number,
          digest,
          spec,
          ...labelOf(options),
        })
        const post = { path: 'create_model', body: () => ({ content }), what, signal, repeatable: true }
        try {
          const promise = await this.connection.promise(post)
          progress.accepted()
          if (id !== undefined) await this.journal!.accepted(id, promise.requestId)
          const modelId = await this.connection.retrieve(promise, reading, { what, signal, progress })
          if (id !== undefined) await this.journal!.settled(id, 'done', modelId)
          return this.model(modelId, spec, options.label)
        } catch (error) {
          if (id !== undefined && isFinal(error)) await this.journal!.settled(id, 'failed')
          throw error instanceof Gone ? lost(this.connection, what, error) : error
        }
      },
      options,
    )
  }

  createSampler(of: { baseModel: string } | { path: string }, options: CallOptions = {}): Call<Sampler> {
    const number = this.#nextSampler++
    const what = 'create_sampling_session'
    return this.connection.call(
      what,
      async ({ signal }) => {
        this.#check()
        const body: RequestBody<'create_sampling_session'> = {
          session_id: this.id,
          sampling_session_seq_id: number,
          ...('path' in of ? { model_path: of.path } : { base_model: of.baseModel }),
          type: 'create_sampling_session',
        }
        const answer = await this.connection.ask(what, body, answers.create_sampling_session, {
          what,
          signal,
        })
        return new RemoteSampler(this.connection, answer.sampling_session_id, { first: 0 })
      },
      options,
    )
  }

  model(id: string, spec: ModelSpec, label: string | undefined, past: PastRequest[] = []): Model {
    const nextSampler = () => this.#nextSampler++
    return new RemoteModel(
      id,
      spec,
      { connection: this.connection, journal: this.journal, nextSampler, check: () => this.#check() },
      label,
      past,
    )
  }

  /** Asks for a model that an earlier process created. */
  async takeUp(past: PastRequest, requests: PastRequest[], signal: AbortSignal): Promise<Model | undefined> {
    if (past.outcome === 'done') return this.model(String(past.result), past.spec!, past.label, requests)
    if (past.outcome === 'failed' || !past.request) return undefined
    const what = `create_model ${past.spec!.baseModel}`
    const progress = { signal, tell: () => {}, accepted: () => {} }
    try {
      const promise = { requestId: past.request, seconds: 0 }
      const id = await this.connection.retrieve(promise, reading, { what, signal, progress })
      return this.model(id, past.spec!, past.label, requests)
    } catch (error) {
      if (error instanceof Gone || isFinal(error)) return undefined
      throw error
    }
  }

  /** Whether the server knows the session. */
  async alive(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#ask(signal)
      return true
    } catch (error) {
      if (error instanceof UserError) return false
      throw error
    }
  }

  close(): void {
    this.#release()
    clearInterval(this.#timer)
  }

  async #beat(): Promise<void> {
    if (this.#beating || this.lost) return
    this.#beating = true
    const linked = link([this.connection.signal], { ms: silenceMs, late: () => new Error('no answer') })
    try {
      await this.#ask(linked.signal)
      this.#heard = performance.now()
    } catch (error) {
      if (error instanceof UserError) {
        this.lost = new UserError(
          `Session ${this.id} is over: ${this.connection.transport.url} does not know it any more.`,
          {
            hint: 'Open a new session, and load the last saved weights into new models.',
            cause: error,
          },
        )
        this.close()
        this.connection.hearing.warn(this.lost.message)
      } else if (!this.connection.signal.aborted && performance.now() - this.#heard >= silenceMs) {
        const seconds = Math.round((performance.now() - this.#heard) / 1000)
        this.connection.hearing.warn(
          `${this.connection.transport.url} has not answered a heartbeat for ${seconds} s.`,
        )
      }
    } finally {
      linked.release()
      this.#beating = false
    }
  }

  /** Throws UserError where the server does not know the session. */
  #ask(signal: AbortSignal) {
    let failures = 0
    // TuFT has an exception then, which may also have another cause.
    const refused = (status: number) => {
      const unknown = status === 500 && this.connection.profile.unknownSession === 500
      if (unknown && ++failures === mostExceptions)
        throw new UserError(`${this.connection.transport.url} fails at the heartbeats of session ${this.id}.`)
      return false
    }
    const body: RequestBody<'session_heartbeat'> = { session_id: this.id, type: 'session_heartbeat' }
    return this.connection.ask('session_heartbeat', body, answers.session_heartbeat, {
      what: 'session_heartbeat',
      signal,
      refused,
    })
  }

  #check(): void {
    if (this.lost) throw this.lost
  }
}

const reading = {
  type: 'CreateModel',
  schema: answers.create_model,
  ofJson: (answer: { model_id: string }) => answer.model_id,
}

function bodyOf(session: string, number: number, spec: ModelSpec): RequestBody<'create_model'> {
  return {
    session_id: session,
    model_seq_id: number,
    base_model: spec.baseModel,
    user_metadata: {},
    lora_config: {
      rank: spec.rank,
      ...(spec.seed !== undefined && { seed: spec.seed }),
      train_unembed: spec.trainUnembedding ?? true,
      train_mlp: spec.trainMlp ?? true,
      train_attn: spec.trainAttention ?? true,
    },
    type: 'create_model',
  }
}

function lost({ transport }: Connection, what: string, gone: Gone): PromiseLost {
  return new PromiseLost(`${transport.url} lost ${what}: ${gone.message}.`, 'unknown', {
    hint: 'Create the model anew; one that was lost may keep its place on the server.',
    cause: gone,
  })
}

const labelOf = ({ label }: TrainOptions) => (label === undefined ? {} : { label })
