/** Policies whose weights live on a server. */
import { randomBytes } from 'node:crypto'
import type { Datum } from '../../core/datum.js'
import { CheckpointError, ConfigError } from '../../core/errors.js'
import type { Rollout } from '../../core/rollout.js'
import type { Model, ModelSpec } from '../../tinker/client.js'
import type { Profile } from '../../tinker/profile.js'
import type {
  AdamParams,
  FrozenPolicy,
  Loss,
  LossReport,
  OptimReport,
  Policy,
  SampleParams,
  SampleRequest,
  Tokenizer,
} from '../engine.js'
import { Batch } from './batch.js'
import { checkTokens, klOf, penaltyData, reportOf, wireLoss } from './report.js'
import { sampleAll, scoreAll, type Weights } from './sampling.js'
import { requireSaved, type SavedPolicy, writeSaved } from './saved.js'
import { type Server, unloadMs } from './servers.js'

/** What a policy and its snapshots share. */
export interface Home {
  server: Server
  spec: ModelSpec
  tokenizer: Tokenizer
  /** Where the tokenizer was read from. */
  source: SavedPolicy['tokenizer']
  /** Says once what a server does otherwise than asked. */
  warn(sentence: string): void
}

/** Weights that a server keeps for a sampling session. */
class FrozenSampler implements FrozenPolicy {
  readonly version: number

  constructor(
    private readonly home: Home,
    private readonly weights: Weights,
  ) {
    this.version = weights.version
  }

  get tokenizer(): Tokenizer {
    return this.home.tokenizer
  }

  sample(requests: SampleRequest[], params: SampleParams, signal?: AbortSignal): AsyncGenerator<Rollout> {
    return sampleAll(async () => this.weights, requests, params, sampledFrom(this.home), signal)
  }

  logprobs(sequences: { tokens: Int32Array; targets: Int32Array }[]): Promise<Float32Array[]> {
    return scoreAll(this.weights.sampler, sequences, sampledFrom(this.home))
  }

  async close(): Promise<void> {}
}

export class TinkerPolicy implements Policy {
  #model: Model
  /** Steps done, and steps sent. */
  #version = 0
  #sent = 0
  /** Nothing was asked of the model yet. */
  #untouched = true
  /** Resolves when all earlier calls have been sent. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Batches of the present turn of the event loop: a step that follows at once goes with them. */
  #batches: Batch[] = []
  /** Why the gradient since the last step is not whole. */
  #spoiled: { error: unknown } | undefined
  /** Sampler of the weights after all steps that were sent. */
  #weights: Promise<Weights> | undefined

  constructor(
    private readonly home: Home,
    model: Model,
  ) {
    this.#model = model
    home.server.policies.add(this)
  }

  /** A new model on the server, or one with saved weights and a new optimizer. */
  static async open(home: Home, saved?: SavedPolicy, version = 0): Promise<TinkerPolicy> {
    const policy = new TinkerPolicy(home, await home.server.session.createModel(home.spec))
    if (!saved) return policy
    try {
      await policy.#take(saved.path, false)
    } catch (error) {
      await policy.close()
      throw error
    }
    policy.#version = policy.#sent = version
    return policy
  }

  get tokenizer(): Tokenizer {
    return this.home.tokenizer
  }

  get version(): number {
    return this.#version
  }

  sample(requests: SampleRequest[], params: SampleParams, signal?: AbortSignal): AsyncGenerator<Rollout> {
    return sampleAll(() => this.#sampler(), requests, params, sampledFrom(this.home), signal)
  }

  /** The trainer's, in one request. */
  async logprobs(sequences: { tokens: Int32Array; targets: Int32Array }[]): Promise<Float32Array[]> {
    if (sequences.length === 0) return []
    for (const { tokens, targets } of sequences) {
      checkTokens(tokens, this.tokenizer.vocabSize)
      checkTokens(targets, this.tokenizer.vocabSize)
    }
    this.#flush()
    const { logprobs } = await this.#send((model) => model.forward(sequences))
    return logprobs
  }

  forwardBackward(data: Datum[], loss: Loss): Promise<LossReport> {
    const batch = new Batch(data, loss, this.tokenizer.vocabSize)
    this.#batches.push(batch)
    queueMicrotask(() => this.#flush())
    return batch.report
  }

  async optimStep(adam: AdamParams): Promise<OptimReport> {
    if (adam.weightDecay > 0 && this.#profile.decaysAll) this.#checkDecay(adam.weightDecay)
    const refused = this.#flush()
    if (refused) throw refused.error
    if (adam.clipNorm > 0 && this.#profile.dialect === 'skyrl')
      this.home.warn(`${this.#url} does not clip gradients: clip_norm ${adam.clipNorm} has no effect there.`)
    this.#weights = undefined
    const version = ++this.#sent
    const { metrics } = await this.#send((model) => {
      const spoiled = this.#spoiled
      this.#spoiled = undefined
      if (spoiled) throw spoiled.error
      return model.optimStep(adam)
    })
    this.#version = version
    return { gradNorm: gradNormOf(metrics), updateNorm: Number.NaN, version }
  }

  /** Where a server samples the live weights, a snapshot is a model of its own. */
  async snapshot(): Promise<FrozenPolicy> {
    this.#flush()
    if (this.#profile.snapshots === 'frozen') return new FrozenSampler(this.home, await this.#sampler())
    const saved = await this.#save(true)
    return TinkerPolicy.open(this.home, saved, saved.version)
  }

  async save(folder: string, options: { optimizer?: boolean } = {}): Promise<void> {
    this.#flush()
    await writeSaved(folder, await this.#save(options.optimizer ?? true))
  }

  load(folder: string): Promise<void> {
    this.#flush()
    const loading = this.#turn.then(() => this.#load(folder))
    this.#turn = loading.catch(() => {})
    return loading
  }

  async close(): Promise<void> {
    this.#flush()
    await this.#turn
    await unload(this.#model)
    this.home.server.policies.delete(this)
  }

  get #profile(): Profile {
    return this.home.server.service.profile
  }

  get #url(): string {
    return this.home.server.service.url
  }

  /** Throws ConfigError where the decay would move other policies of this engine. */
  #checkDecay(decay: number): void {
    const others = this.home.server.policies.size - 1
    if (others > 0)
      throw new ConfigError(
        `Weight decay ${decay} on ${this.#url} would decay ${others} other adapters there: it acts on all that the server holds.`,
        {
          hint: 'Set optim.weight_decay of the roles to 0, or give each role a server of its own by roles.ROLE.url.',
        },
      )
    this.home.warn(
      `${this.#url} decays every adapter that it holds: weight_decay ${decay} acts on those of its other users as well.`,
    )
  }

  /** Sends the gathered batches; what was refused, where one of them was, and none was sent. */
  #flush(): { error: unknown } | undefined {
    const batches = this.#batches
    this.#batches = []
    const refused = batches.find((batch) => batch.refused)?.refused
    if (refused) {
      for (const batch of batches) batch.fail(refused.error)
      return refused
    }
    const sequencesInStep = batches.reduce(
      (sum, { data, loss }) => sum + data.length * (klOf(loss) ? 2 : 1),
      0,
    )
    for (const batch of batches) batch.settle(this.#train(batch, sequencesInStep))
    return undefined
  }

  /** The gradient of a KL term needs log-probabilities of these weights: it is sent once those have been answered. */
  async #train({ data, loss }: Batch, sequencesInStep: number): Promise<LossReport> {
    const coefficient = klOf(loss)
    const answer = this.#send((model) => model.forwardBackward(data, wireLoss(loss), { sequencesInStep }))
    if (coefficient === 0) return reportOf(data, loss, (await answer).logprobs)
    const penalty = answer.then(({ logprobs }) => penaltyData(data, coefficient, logprobs))
    const pulled = this.#send(
      (model, penalty) => model.forwardBackward(penalty, { name: 'cross_entropy' }, { sequencesInStep }),
      penalty,
    )
    pulled.catch((error) => {
      this.#spoiled ??= { error }
    })
    const [{ logprobs }] = await Promise.all([answer, pulled])
    return reportOf(data, loss, logprobs)
  }

  /** Calls reach the model in the order they are made, also where one has to wait for something first. */
  #send<T>(ask: (model: Model) => PromiseLike<T>): Promise<T>
  #send<T, R>(ask: (model: Model, ready: R) => PromiseLike<T>, ready: Promise<R>): Promise<T>
  #send<T, R>(ask: (model: Model, ready: R) => PromiseLike<T>, ready?: Promise<R>): Promise<T> {
    // Wrapped, so that the turn ends when the call is made and not when it is answered.
    const made = this.#turn
      .then(() => ready as Promise<R>)
      .then((ready) => {
        this.#untouched = false
        return { call: ask(this.#model, ready) }
      })
    this.#turn = made.catch(() => {})
    return made.then(({ call }) => call)
  }

  #sampler(): Promise<Weights> {
    this.#flush()
    if (this.#weights) return this.#weights
    const version = this.#sent
    const weights = this.#send((model) => model.snapshot()).then((sampler) => ({ sampler, version }))
    this.#weights = weights
    weights.catch(() => {
      if (this.#weights === weights) this.#weights = undefined
    })
    return weights
  }

  async #save(optimizer: boolean): Promise<SavedPolicy> {
    const version = this.#sent
    // A name that was used before is refused by some servers and written over by others.
    const name = `step-${version}-${randomBytes(4).toString('hex')}`
    const { path } = await this.#send((model) => model.saveWeights(name))
    const { baseModel, rank, trainAttention = true, trainMlp = true } = this.home.spec
    return {
      url: this.#url,
      ...(!this.#profile.guessed && { dialect: this.#profile.dialect }),
      path,
      base_model: baseModel,
      rank,
      attention: trainAttention,
      mlp: trainMlp,
      version,
      optimizer,
      tokenizer: this.home.source,
    }
  }

  async #load(folder: string): Promise<void> {
    const saved = await requireSaved(folder)
    const { baseModel, rank } = this.home.spec
    if (saved.rank !== rank || saved.base_model !== baseModel)
      throw new CheckpointError(
        `${folder} holds an adapter of rank ${saved.rank} on ${saved.base_model}; this policy has rank ${rank} on ${baseModel}.`,
      )
    if (!this.#untouched) {
      // Most servers load into new models only, and the old one's place may be the last.
      await unload(this.#model)
      this.#model = await this.home.server.session.createModel(this.home.spec)
    }
    this.#weights = undefined
    this.#spoiled = undefined
    await this.#take(saved.path, saved.optimizer)
    this.#version = this.#sent = saved.version
  }

  async #take(path: string, optimizer: boolean): Promise<void> {
    this.#untouched = false
    await this.#model.loadWeights(path, { optimizer })
  }
}

/** Leaving a model behind is no reason to fail: servers let go of those that are not heard of. */
async function unload(model: Model): Promise<void> {
  await model.unload({ deadlineMs: unloadMs }).then(undefined, () => {})
}

const sampledFrom = ({ tokenizer, server }: Home) => ({ tokenizer, profile: server.service.profile })

/** Under whichever name the server tells it. */
function gradNormOf(metrics: Record<string, number>): number {
  const name = Object.keys(metrics).find((key) => /grad_norm\b/.test(key))
  return name === undefined ? Number.NaN : metrics[name]!
}
