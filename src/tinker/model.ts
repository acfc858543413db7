/** A model in training on a server. */
import { z } from 'zod'
import type { Datum } from '../core/datum.js'
import { rest, unlessAborted } from './abort.js'
import type { Operation, Progress } from './call.js'
import { listCheckpoints } from './checkpoints.js'
import { chunksOf, mergeResults } from './chunks.js'
import type {
  Adam,
  Call,
  CallOptions,
  ForwardBackwardOptions,
  Loss,
  Model,
  ModelSpec,
  Sampler,
  TrainOptions,
  TrainResult,
} from './client.js'
import type { Connection } from './connection.js'
import { PromiseLost, SequenceConflict, ServerError, UserError } from './errors.js'
import type { Journal } from './journal.js'
import type { PastRequest } from './journal-state.js'
import { counts, type PreparedLoss, prepareLoss } from './loss.js'
import { type Kind, type Request, RequestQueue } from './request-queue.js'
import { RemoteSampler } from './sampler.js'
import { refusedRequest, trainRequest } from './train.js'
import { answers, type RequestBody } from './wire/endpoints.js'

const savedName = /^[a-zA-Z0-9_-]{1,255}$/
/** Looks for weights that are being written, with growing waits. */
const mostLooks = 10

export interface Home {
  connection: Connection
  journal: Journal | undefined
  /** Number for a sampling session of the session. */
  nextSampler: () => number
  /** Throws where the session is over. */
  check: () => void
}

export class RemoteModel implements Model {
  readonly #queue: RequestQueue
  readonly #past: Map<string, PastRequest>
  /** Samples under way of weights that the server reads from the model itself. */
  readonly #samples = new Set<Promise<unknown>>()
  /** Sequences that gradients are scaled for until the next step. */
  #sequencesInStep: number | undefined

  constructor(
    readonly id: string,
    readonly spec: ModelSpec,
    private readonly home: Home,
    readonly label: string | undefined,
    past: PastRequest[] = [],
  ) {
    this.#past = new Map(past.flatMap((request) => (request.label ? [[request.label, request]] : [])))
    this.#queue = new RequestQueue(home.connection, id, home.journal, this.#past)
    for (const { seq, outcome, request } of past) {
      const used = home.connection.profile.order === 'expected' ? outcome !== 'failed' : true
      if (used && (outcome || request)) this.#queue.next = Math.max(this.#queue.next, seq + 1)
    }
  }

  get sentBefore(): ReadonlySet<string> {
    return new Set(this.#past.keys())
  }

  forwardBackward(data: Datum[], loss: Loss, options: ForwardBackwardOptions = {}): Call<TrainResult> {
    return this.#train('forward_backward', options, () => {
      this.#sequencesInStep ??= options.sequencesInStep ?? data.length
      const prepared = prepareLoss(data, loss, this.home.connection.profile, this.#sequencesInStep)
      return { prepared, counted: (i, t) => counts(data[i]!, loss, t) }
    })
  }

  forward(data: Pick<Datum, 'tokens' | 'targets'>[], options: TrainOptions = {}): Call<TrainResult> {
    return this.#train('forward', options, () => {
      const weighted = data.map((datum) => ({
        ...datum,
        weights: new Float32Array(datum.tokens.length).fill(1),
      }))
      const plain = { ...this.home.connection.profile, reduction: 'token' as const }
      return { prepared: prepareLoss(weighted, { name: 'cross_entropy' }, plain), counted: () => true }
    })
  }

  optimStep(adam: Adam, options: TrainOptions = {}): Call<{ metrics: Record<string, number> }> {
    this.#sequencesInStep = undefined
    this.#queue.changes++
    const gradients = this.#queue.underWay('forward_backward')
    const body = (seq: number): RequestBody<'optim_step'> => ({
      model_id: this.id,
      seq_id: seq,
      adam_params: {
        learning_rate: adam.learningRate,
        beta1: adam.beta1,
        beta2: adam.beta2,
        eps: adam.epsilon,
        weight_decay: adam.weightDecay,
        grad_clip_norm: adam.clipNorm,
      },
      type: 'optim_step',
    })
    const request: Omit<Request<{ metrics: Record<string, number> }>, 'label'> = {
      kind: 'optim_step',
      ...encoding(body),
      reading: {
        type: 'OptimStep',
        schema: answers.optim_step,
        ofJson: ({ metrics }: z.output<typeof answers.optim_step>) => ({ metrics: numbersOf(metrics ?? {}) }),
      },
      keep: { store: (result) => result.metrics, restore: (metrics: never) => ({ metrics }) },
      applied: () => ({ metrics: {} }),
      before: (signal) => this.#quiet(signal),
    }
    return this.#call('optim_step', options, async (progress) => {
      const result = await this.#queue.perform({ ...request, label: options.label }, progress)
      if ((await Promise.all(gradients)).includes(false))
        throw new ServerError(
          `optim_step of model ${this.id} was applied without the gradients it was meant for.`,
          {
            hint: 'See the error of forward_backward, and load the last saved weights into a new model.',
          },
        )
      return result
    })
  }

  saveWeights(name: string, options: TrainOptions = {}): Call<{ path: string }> {
    const body = (seq: number): RequestBody<'save_weights'> => ({
      model_id: this.id,
      path: name,
      seq_id: seq,
      overwrite: false,
      type: 'save_weights',
    })
    return this.#save('save_weights', 'SaveWeights', 'training', name, body, options)
  }

  saveWeightsForSampler(name: string, options: TrainOptions = {}): Call<{ path: string }> {
    const body = (seq: number): RequestBody<'save_weights_for_sampler'> => ({
      model_id: this.id,
      path: name,
      seq_id: seq,
      type: 'save_weights_for_sampler',
    })
    return this.#save('save_weights_for_sampler', 'SaveWeightsForSampler', 'sampler', name, body, options)
  }

  snapshot(options: TrainOptions = {}): Call<Sampler> {
    const changes = this.#queue.changes
    let number: number | undefined
    const body = (seq: number): RequestBody<'save_weights_for_sampler'> => {
      number ??= this.home.nextSampler()
      return {
        model_id: this.id,
        seq_id: seq,
        sampling_session_seq_id: number,
        type: 'save_weights_for_sampler',
      }
    }
    const schema = answers.save_weights_for_sampler.extend({ sampling_session_id: z.string() })
    const request: Request<string> = {
      kind: 'save_weights_for_sampler',
      label: options.label,
      ...encoding(body),
      identity: () => 'snapshot',
      reading: {
        type: 'SaveWeightsForSampler',
        schema,
        ofJson: (answer: z.output<typeof schema>) => answer.sampling_session_id,
      },
      keep: { store: (id) => id, restore: (id: never) => id },
    }
    return this.#call('save_weights_for_sampler', options, async (progress) => {
      const id = await this.#queue.perform(request, progress)
      const live = this.home.connection.profile.snapshots === 'live'
      const stale = () => live && this.#queue.changes !== changes
      return new RemoteSampler(this.home.connection, id, {
        first: this.home.journal?.past ? Math.floor(Math.random() * 1e9) : 0,
        ...(live && { stale, during: (sample) => this.#keep(sample) }),
      })
    })
  }

  loadWeights(path: string, options: TrainOptions & { optimizer?: boolean } = {}): Call<void> {
    this.#queue.changes++
    const body = (seq: number): RequestBody<'load_weights'> => ({
      model_id: this.id,
      seq_id: seq,
      path,
      optimizer: options.optimizer ?? true,
      type: 'load_weights',
    })
    const request: Request<void> = {
      kind: 'load_weights',
      label: options.label,
      ...encoding(body),
      reading: { type: 'LoadWeights', schema: answers.load_weights, ofJson: () => undefined },
      applied: () => undefined,
      before: async (signal) => {
        if (this.home.connection.profile.loadFirstOnly && this.#queue.next > 1)
          throw new UserError(`Model ${this.id} cannot load ${path}: it was trained or saved before.`, {
            hint: 'This server loads weights into new models only: create one.',
          })
        await this.#quiet(signal)
      },
    }
    return this.#call('load_weights', options, (progress) => this.#queue.perform(request, progress))
  }

  async forget(): Promise<void> {
    for (const [label, { outcome }] of this.#past) if (outcome) this.#past.delete(label)
    await this.home.journal?.forgotten(this.id)
  }

  unload(options: CallOptions = {}): Call<void> {
    const { connection } = this.home
    const what = `unload_model of model ${this.id}`
    return connection.call(
      what,
      async (progress) => {
        const { unload } = connection.profile
        const type = unload === 'unload_model' && { type: unload }
        const content = JSON.stringify({ model_id: this.id, ...type })
        const post = { path: unload, what, signal: progress.signal, repeatable: true }
        const promise = await connection.promise({ ...post, body: () => ({ content }) })
        progress.accepted()
        const reading = { type: 'UnloadModel', schema: answers.unload_model, ofJson: () => undefined }
        await connection.retrieve(promise, reading, { what, signal: progress.signal, progress })
        await this.home.journal?.unloaded(this.id)
      },
      options,
    )
  }

  #train(
    kind: 'forward_backward' | 'forward',
    options: TrainOptions,
    prepare: () => { prepared: PreparedLoss; counted: (datum: number, position: number) => boolean },
  ): Call<TrainResult> {
    const { connection } = this.home
    return this.#call(kind, options, async (progress) => {
      let ready: ReturnType<typeof prepare>
      try {
        ready = prepare()
      } catch (error) {
        return this.#queue.perform(refusedRequest<TrainResult>(kind, error), progress)
      }
      const { prepared, counted } = ready
      const { chunkDatums, chunkBytes } = connection.limits
      const chunks = chunksOf(prepared.data, { datums: chunkDatums, bytes: chunkBytes })
      let first = 0
      const results = chunks.map((chunk, i) => {
        const from = first
        first += chunk.data.length
        const label = options.label === undefined || i === 0 ? options.label : `${options.label}#${i + 1}`
        const request = trainRequest(connection, this.id, {
          kind,
          label,
          loss: prepared,
          chunk,
          counted: (j, t) => counted(from + j, t),
        })
        const last = i === chunks.length - 1
        return this.#queue.perform(request, last ? progress : { ...progress, accepted: () => {} })
      })
      return mergeResults(
        await allOf(results),
        chunks.map(({ data }) => data.length),
      )
    })
  }

  #save(
    kind: 'save_weights' | 'save_weights_for_sampler',
    type: string,
    listed: 'training' | 'sampler',
    name: string,
    body: (seq: number) => object,
    options: TrainOptions,
  ): Call<{ path: string }> {
    const schema = z.object({ path: z.string() })
    let tries = 0
    const counted = (seq: number) => {
      tries++
      return body(seq)
    }
    const request: Request<{ path: string }> = {
      kind,
      label: options.label,
      ...encoding(body),
      encode: (seq) => encoding(counted).encode(seq),
      reading: { type, schema, ofJson: ({ path }: { path: string }) => ({ path }) },
      keep: { store: ({ path }) => path, restore: (path: never) => ({ path }) },
      applied: () => this.#find(listed, name),
    }
    return this.#call(kind, options, async (progress) => {
      if (!savedName.test(name))
        throw new UserError(`"${name}" is no name for saved weights.`, {
          hint: 'Names have letters, digits, - and _ alone, at most 255.',
        })
      try {
        return await this.#queue.perform(request, progress)
      } catch (error) {
        const exists = error instanceof SequenceConflict && error.expected === undefined
        if (!exists || error.message.includes('sent before')) throw error
        if (tries > 1 || this.home.journal?.past) return await this.#find(listed, name)
        throw new UserError(`Model ${this.id} has saved weights of the name ${name} already.`, {
          hint: 'Save under a name that was never used before.',
          cause: error,
        })
      }
    })
  }

  /** Weights that are known to be saved, though the answer was lost. */
  async #find(type: 'training' | 'sampler', name: string): Promise<{ path: string }> {
    const { connection } = this.home
    for (let look = 0; connection.profile.checkpoints && look < mostLooks; look++) {
      if (look > 0) await rest(connection.hearing.patience.backoffMs * look, connection.signal)
      const list = await listCheckpoints(connection, this.id, connection.signal)
      const found = list.find((item) => item.type === type && item.id.split('/').at(-1) === name)
      if (found) return { path: found.path }
    }
    throw new PromiseLost(`${connection.transport.url} saved ${name}, but does not say where.`, 'yes', {
      hint: 'Save again under another name.',
    })
  }

  #call<T>(kind: Kind, options: TrainOptions, work: (progress: Progress) => Promise<T>): Operation<T> {
    const checked = (progress: Progress) => {
      this.home.check()
      return work(progress)
    }
    return this.home.connection.call(
      `${kind} of model ${this.id}`,
      async (progress) => checked(progress),
      options,
    )
  }

  #keep(sample: Promise<unknown>): void {
    const ended = sample.catch(() => {}).finally(() => this.#samples.delete(ended))
    this.#samples.add(ended)
  }

  /** Samples that read the model's own weights end before these change. */
  async #quiet(signal: AbortSignal): Promise<void> {
    await unlessAborted(Promise.all(this.#samples), signal)
  }
}

function encoding(body: (seq: number) => object): Pick<Request<never>, 'encode' | 'identity' | 'bytes'> {
  const content = (seq: number) => JSON.stringify(body(seq))
  return { encode: (seq) => ({ content: content(seq) }), identity: () => content(0), bytes: 200 }
}

function numbersOf(metrics: Record<string, number | null>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).map(([key, value]) => [key, value ?? Number.NaN]))
}

/** All values; where some fail, the first failure once all have ended. */
async function allOf<T>(promises: Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(promises)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
