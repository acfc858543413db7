/** The interface of the Tinker client: what `connect` gives. */
import type { Datum } from '../core/datum.js'
import type { DialectName, Profile } from './profile.js'
import type { Answer } from './wire/endpoints.js'
import type { SampledSequence, TopkLogprobs } from './wire/messages.js'

export interface ConnectOptions {
  /** Default: TINKER_BASE_URL, else the hosted service. Keys come from TINKER_API_KEY alone. */
  baseUrl?: string
  /** Default: found from what the server says of itself; a guess never applies a step twice. */
  dialect?: DialectName
  /** Folder of the journal of requests: lets a process that was killed go on without applying a step twice. */
  journal?: string
  /** Hears of waits longer than 10 s, and every 10 s from then on. */
  onWait?: (wait: Wait) => void
  /** Hears of what went wrong and is tried again, one sentence each. */
  onWarning?: (sentence: string) => void
  /** Ends everything of this service. */
  signal?: AbortSignal
  patience?: Partial<Patience>
  /** How the user knows what is set here, for sentences. Default: the options and variables themselves. */
  settings?: { url?: string; dialect?: string }
}

export interface Wait {
  /** What is waited for, and how the server accounts for it where it does. */
  what: string
  /** Of the longest of these waits. */
  seconds: number
  /** Waits of this kind under way. */
  count: number
}

export interface Patience {
  /** Without any success for so long, a request gives up, ms. Default 300 000. */
  giveUpMs: number
  /** The same, where no server was ever reached at the address, ms. Default 15 000. */
  reachMs: number
  /** First wait before another try, ms; doubles up to 30 s. Default 1000. */
  backoffMs: number
  /** Longest wait for a bill to be paid, ms. Default one hour, or what the server says. */
  billingMs: number
  /** Between the heartbeats of a session, ms. Default 10 000. */
  heartbeatMs: number
  /** Silence after which a request is given up and sent again, where that is safe, ms. Default 60 000. */
  answerMs: number
  /** Longest time that the server holds a poll, ms. Default the dialect's; less where a proxy cuts connections. */
  holdMs?: number
}

export interface CallOptions {
  /**
   * Ends the call. What was sent is not undone: a training request whose sending had begun is still sent, so that the
   * model's numbers stay without a gap.
   */
  signal?: AbortSignal
  /** Milliseconds after which the call fails with Transport; counted from the call, queueing included. */
  deadlineMs?: number
}

export interface TrainOptions extends CallOptions {
  /**
   * Name of this request, unique within the model and the same when the work is done again after a crash: with a
   * journal, a request whose name was sent before is not sent again; its old answer is fetched.
   */
  label?: string
}

/** An operation under way. It can be awaited any number of times; one that nobody awaits never crashes the process. */
export interface Call<T> extends PromiseLike<T> {
  /** Resolves when the server has accepted the request; rejects when it never did. */
  readonly submitted: Promise<void>
  /** What is waited for at this moment, in words. */
  readonly waitsFor: string
  /** Awaits with a patience of its own: ends this wait only, the operation goes on. */
  wait(options?: CallOptions): Promise<T>
}

export interface Service {
  readonly url: string
  /** The dialect as data, adjusted by what the server says of itself. */
  readonly profile: Profile
  readonly models: Answer<'get_server_capabilities'>['supported_models']
  createSession(options?: SessionOptions): Call<Session>
  /** The session of the journal and its models, each with its numbers; undefined where there is none that still lives. */
  resume(options?: CallOptions): Call<Resumed | undefined>
  weightsInfo(path: string, options?: CallOptions): Call<Answer<'weights_info'>>
  checkpoints(modelId: string, options?: CallOptions): Call<Checkpoint[]>
  /** Writes the adapter of sampler weights, as the gzipped tar that the server gives, into the file. */
  downloadArchive(checkpoint: Checkpoint, file: string, options?: CallOptions): Call<void>
  deleteCheckpoint(checkpoint: Checkpoint, options?: CallOptions): Call<void>
  /** Ends heartbeats, polls and connections; models stay as they are. */
  close(): Promise<void>
}

export interface SessionOptions extends CallOptions {
  tags?: string[]
  metadata?: Record<string, unknown>
}

export interface Resumed {
  session: Session
  models: Model[]
}

export interface Session {
  readonly id: string
  /** Why the session is over, once the server no longer knows it. */
  readonly lost: Error | undefined
  createModel(spec: ModelSpec, options?: TrainOptions): Call<Model>
  /** Samples the base model, or weights that `saveWeightsForSampler` gave a path. */
  createSampler(of: { baseModel: string } | { path: string }, options?: CallOptions): Call<Sampler>
  /** Ends the heartbeats. */
  close(): void
}

export interface ModelSpec {
  /** As the server names it. */
  baseModel: string
  rank: number
  /** Seeds the adapter's initial weights. */
  seed?: number
  trainAttention?: boolean
  trainMlp?: boolean
  trainUnembedding?: boolean
}

/** Loss by its Tinker name, summed over tokens and sequences; clip bounds are those of the ratio (0.8, 1.2). */
export type Loss =
  | { name: 'cross_entropy' }
  | { name: 'importance_sampling' }
  | { name: 'ppo' | 'cispo'; clipLow: number; clipHigh: number }

export interface ForwardBackwardOptions extends TrainOptions {
  /**
   * Sequences of all `forwardBackward` calls until the next step: makes their sum exact on servers that take a mean
   * over sequences. Default: those of the first call after a step, which is exact for one call a step.
   */
  sequencesInStep?: number
}

export interface TrainResult {
  /** Log-probability of each target, one array a datum. */
  logprobs: Float32Array[]
  /** The server's own, by `name:reduction`; they differ in meaning between servers. */
  metrics: Record<string, number>
}

export interface Adam {
  learningRate: number
  beta1: number
  beta2: number
  epsilon: number
  weightDecay: number
  /** Global gradient norm above which gradients are scaled down; 0 = off. */
  clipNorm: number
}

/**
 * A model in training. Its requests are sent one after another in the order of the calls, without waiting for the
 * answers: `forwardBackward` and `optimStep` are called back to back and awaited together.
 *
 * Where a request fails, those called after it and not yet sent fail as well; an `optimStep` that the server applied
 * without the gradients it was meant for rejects: load the last saved weights into a new model then.
 */
export interface Model {
  readonly id: string
  readonly spec: ModelSpec
  /** Label that it was created under. */
  readonly label: string | undefined
  /** Labels of requests that an earlier process sent and that were not asked for again yet. */
  readonly sentBefore: ReadonlySet<string>
  /** `data` are logical datums: the client brings weights and advantages into the form the server needs. */
  forwardBackward(data: Datum[], loss: Loss, options?: ForwardBackwardOptions): Call<TrainResult>
  /** Log-probabilities of targets, without gradients. */
  forward(data: Pick<Datum, 'tokens' | 'targets'>[], options?: TrainOptions): Call<TrainResult>
  optimStep(adam: Adam, options?: TrainOptions): Call<{ metrics: Record<string, number> }>
  /**
   * Weights and optimizer, under a name of letters, digits, - and _ that was never used before: SkyRL and hosted refuse a
   * second use, TuFT and Open-RL write over the first.
   */
  saveWeights(name: string, options?: TrainOptions): Call<{ path: string }>
  /** Weights for sampling, kept under a name: for archives and later sessions. */
  saveWeightsForSampler(name: string, options?: TrainOptions): Call<{ path: string }>
  /** A sampler of the weights as they are now, in one request; not kept. */
  snapshot(options?: TrainOptions): Call<Sampler>
  loadWeights(path: string, options?: TrainOptions & { optimizer?: boolean }): Call<void>
  /**
   * Lets go of the labels of all requests that were answered: they will not be asked for again, as once the caller's own
   * state that follows from them is on the disk. Bounds the journal; resolves when that is written.
   */
  forget(): Promise<void>
  /** Gives the model's place back; what was not saved is gone. */
  unload(options?: CallOptions): Call<void>
}

export interface SampleOptions extends CallOptions {
  /** Completions, at least 1. */
  n: number
  maxTokens: number
  temperature: number
  topP?: number
  /** 0 = off. */
  topK?: number
  /** On SkyRL that of sample 0, and sample i has `seed + i`: all below 2^31. */
  seed?: number
  /** Ids or strings, not both; see `planStop`. Tokens include the id, or the token that completed the string. */
  stop?: number[] | string[]
  promptLogprobs?: boolean
  topkPromptLogprobs?: number
}

export interface Sample {
  /** `n` of them; each log-probability is a number. */
  sequences: Required<SampledSequence>[]
  /** Where asked for: of each prompt token given those before it; NaN for the first. */
  promptLogprobs?: Float32Array
  topkPromptLogprobs?: TopkLogprobs
}

export interface Sampler {
  readonly id: string
  /** Completions are cut behind the first stop id, also where the server did not. */
  sample(prompt: Int32Array, options: SampleOptions): Call<Sample>
  /** Raw log-probability of each token given those before it; NaN for the first. */
  computeLogprobs(tokens: Int32Array, options?: CallOptions): Call<Float32Array>
}

export interface Checkpoint {
  modelId: string
  /** As the server lists it. */
  id: string
  type: 'training' | 'sampler'
  time: string
  path: string
  bytes?: number
}
