/** What the four kinds of server do differently, as data. */

export type Dialect = 'hosted' | 'skyrl' | 'tuft' | 'openrl'

/** Operations of a model that carry a number of its sequence. */
export type TrainingKind =
  | 'forward_backward'
  | 'forward'
  | 'optim_step'
  | 'save_weights'
  | 'save_weights_for_sampler'
  | 'load_weights'

export interface LossRule {
  /** Names of the losses, each with its default clip bounds where it clips. */
  names: Record<string, { low: number; high: number } | undefined>
  /** `sequence`: Σ(w ℓ) / Σw of each sequence, and gradients over the number of sequences; `token`: plain sums. */
  reduction: 'token' | 'sequence'
  /** What weights do beside a policy loss. Where they multiply, absent ones are 1, the prompt included. */
  policyWeights: 'refused' | 'ignored' | 'multiply'
  /** Keys of `loss_fn_config` by loss. */
  config: Record<string, string[]>
  /** A key that is not among them is refused; else it is passed over. */
  strictConfig: boolean
  /** Unknown tensors of a datum, such as a mask, are refused. */
  strictInputs: boolean
  /** All datums of a batch must carry the same tensors. */
  sameKeys: boolean
  /** Largest |log ratio| that is exponentiated. */
  ratioClamp: number
}

export interface Profile {
  dialect: Dialect
  /** Unknown fields of a request are refused with status 422. */
  strictFields: boolean
  /** `any`: a key must be there and begin as hosted keys do; `listed`: it must be one that the server knows. */
  auth: 'none' | 'any' | 'listed'
  sessionStatus: number
  futureStatus: number
  /**
   * `sequence`: executed by number whatever the arrival; `arrival`: executed as they come;
   * `expected`: each must carry the number that comes next.
   */
  order: 'sequence' | 'arrival' | 'expected'
  /** Operations whose retry is known by its number. */
  deduped: ReadonlySet<TrainingKind>
  /** Status of a request that reuses a number for something else. */
  reusedStatus: number
  /** Longest time that `retrieve_future` waits, and what it says then. */
  holdMs: number
  expired: '408' | 'try_again'
  /** How a failed operation is told. */
  failure: 'body' | '400' | 'status' | 'openrl'
  /** Delivered results that stay retrievable. */
  keptResults: number
  /** Status for a promise that the server does not know. */
  unknownFuture: number
  /** Promises that had not been executed are cancelled by a restart. */
  cancelsOnRestart: boolean
  /** JSON bodies of `forward_backward`, and the route `forward`. */
  json: boolean
  /** Encoding of the results of samples and training: as the client accepts it, or protobuf whatever that says. */
  results: 'accepted' | 'protobuf'
  /** What becomes of training on no data and of no samples: an error, a result, or a promise that is never kept. */
  nothing: 'refused' | 'taken' | 'hangs'
  /** `flag`: only where the client configuration says so. */
  zstd: 'yes' | 'no' | 'flag'
  /** Decompressed bytes above which a body is refused with status 413. */
  bodyLimit: number
  /** `load_weights` is allowed as the first request of a model only. */
  loadFirstOnly: boolean
  /** `optimizer: false` of `load_weights` is not known: the optimizer's state is always taken. */
  alwaysLoadsOptimizer: boolean
  /** What a sampling session samples. `slot`: snapshots are written over the weights in training. */
  sampler: 'frozen' | 'slot' | 'live'
  /** Log-probabilities of a prompt: NaN for its first token, or nothing for it, so one value less than tokens. */
  promptLogprobs: 'nan first' | 'none first'
  /** Sample i of a request has a stream of its own, or that of the seed `seed + i`, which must be below 2^31. */
  seeds: 'own' | 'in a row'
  /** The optimizer's weight decay acts on every adapter of the server. */
  decaysAll: boolean
  /** Name by which the server's own description (/openapi.json) calls it. */
  title: string | undefined
  /** Generation ends at the model's end-of-text ids by itself. */
  stopsAtEos: boolean
  /** `late`: string stops cut a completion that was generated to its full length. */
  stops: 'any' | 'late' | 'ignored'
  /** Adapter's alpha for its rank. */
  alpha: (rank: number) => number
  /** `train_mlp` and its like choose the layers. */
  honoursTargets: boolean
  maxRank: number
  /** Names of checkpoints: pattern, and whether a second save of a name is refused. */
  names: { pattern: RegExp | undefined; unique: 'always' | 'unless overwrite' | 'never' }
  /** Routes that others have and this one lacks. */
  missing: ReadonlySet<string>
  losses: LossRule
}

const policyClips = ['clip_low_threshold', 'clip_high_threshold']
const all: TrainingKind[] = [
  'forward_backward',
  'forward',
  'optim_step',
  'save_weights',
  'save_weights_for_sampler',
  'load_weights',
]
const hour = 3600_000

const hosted: Profile = {
  dialect: 'hosted',
  strictFields: true,
  auth: 'any',
  sessionStatus: 200,
  futureStatus: 200,
  order: 'sequence',
  deduped: new Set(all),
  reusedStatus: 400,
  holdMs: 30_000,
  expired: '408',
  failure: 'body',
  keptResults: 512,
  unknownFuture: 410,
  cancelsOnRestart: false,
  json: false,
  results: 'accepted',
  nothing: 'refused',
  zstd: 'flag',
  bodyLimit: 2 ** 30,
  loadFirstOnly: true,
  alwaysLoadsOptimizer: false,
  sampler: 'frozen',
  promptLogprobs: 'nan first',
  seeds: 'own',
  decaysAll: false,
  title: undefined,
  stopsAtEos: true,
  stops: 'any',
  alpha: () => 32,
  honoursTargets: true,
  maxRank: 128,
  names: { pattern: /^[\w.-]+$/, unique: 'unless overwrite' },
  missing: new Set(['forward', 'delete_model', 'download', 'models_checkpoints']),
  losses: {
    names: {
      cross_entropy: undefined,
      importance_sampling: undefined,
      ppo: { low: 0.8, high: 1.2 },
      cispo: { low: 0, high: 4 },
      dro: undefined,
    },
    reduction: 'token',
    policyWeights: 'refused',
    config: { ppo: policyClips, cispo: policyClips, dro: ['beta'] },
    strictConfig: true,
    strictInputs: true,
    sameKeys: false,
    ratioClamp: Number.POSITIVE_INFINITY,
  },
}

const skyrl: Profile = {
  ...hosted,
  dialect: 'skyrl',
  strictFields: false,
  auth: 'none',
  order: 'arrival',
  deduped: new Set<TrainingKind>(['forward_backward', 'forward', 'optim_step']),
  reusedStatus: 409,
  holdMs: 300_000,
  failure: '400',
  keptResults: Number.POSITIVE_INFINITY,
  unknownFuture: 404,
  results: 'protobuf',
  nothing: 'hangs',
  zstd: 'yes',
  alwaysLoadsOptimizer: true,
  sampler: 'slot',
  promptLogprobs: 'none first',
  seeds: 'in a row',
  decaysAll: true,
  title: 'Tinker API Mock',
  stopsAtEos: false,
  stops: 'late',
  honoursTargets: false,
  maxRank: 32,
  names: { pattern: /^[a-zA-Z0-9_-]{1,255}$/, unique: 'always' },
  missing: new Set([
    'client/dynamic_config',
    'auth/token',
    'forward',
    'delete_model',
    'publish',
    'ttl',
    'checkpoints',
    'sessions',
    'session',
    'signed',
  ]),
  losses: {
    ...hosted.losses,
    names: {
      cross_entropy: undefined,
      importance_sampling: undefined,
      ppo: { low: 0.8, high: 1.2 },
      cispo: { low: 0.8, high: 1.2 },
    },
    reduction: 'sequence',
    policyWeights: 'multiply',
    config: { ppo: [...policyClips, 'value_clip'], cispo: policyClips },
    strictInputs: false,
  },
}

const tuft: Profile = {
  ...hosted,
  dialect: 'tuft',
  auth: 'listed',
  sessionStatus: 201,
  futureStatus: 202,
  order: 'expected',
  deduped: new Set(),
  holdMs: 120_000,
  expired: 'try_again',
  failure: 'status',
  keptResults: Number.POSITIVE_INFINITY,
  unknownFuture: 404,
  cancelsOnRestart: true,
  nothing: 'taken',
  zstd: 'yes',
  bodyLimit: 64 * 2 ** 20,
  loadFirstOnly: false,
  title: 'TuFT',
  alpha: (rank) => 2 * rank,
  maxRank: 16,
  names: { pattern: undefined, unique: 'never' },
  missing: new Set([
    'client/dynamic_config',
    'forward',
    'delete_model',
    'download',
    'ttl',
    'models_checkpoints',
    'signed',
  ]),
  losses: {
    ...hosted.losses,
    names: { ...hosted.losses.names, ppo: { low: 0.9, high: 1.1 }, cispo: { low: 0.9, high: 1.1 } },
    policyWeights: 'ignored',
    config: {
      cross_entropy: ['temperature'],
      importance_sampling: ['temperature'],
      ppo: [...policyClips, 'temperature'],
      cispo: [...policyClips, 'temperature'],
      dro: ['beta', 'temperature'],
    },
    strictInputs: false,
    sameKeys: true,
  },
}

const openrl: Profile = {
  ...hosted,
  dialect: 'openrl',
  strictFields: false,
  auth: 'none',
  order: 'arrival',
  deduped: new Set(),
  holdMs: 60_000,
  expired: 'try_again',
  failure: 'openrl',
  unknownFuture: 400,
  json: true,
  zstd: 'no',
  sampler: 'live',
  loadFirstOnly: false,
  stops: 'ignored',
  honoursTargets: false,
  names: { pattern: undefined, unique: 'never' },
  missing: new Set([
    'client/config',
    'client/dynamic_config',
    'auth/token',
    'unload_model',
    'training_runs',
    'training_run',
    'run_checkpoints',
    'models_checkpoints',
    'archive',
    'download',
    'delete_checkpoint',
    'publish',
    'ttl',
    'checkpoints',
    'sessions',
    'session',
    'signed',
    'sampler',
  ]),
  losses: {
    ...hosted.losses,
    names: { cross_entropy: undefined, importance_sampling: undefined, ppo: { low: 0.8, high: 1.2 } },
    policyWeights: 'multiply',
    config: { ppo: ['clip_range'] },
    strictConfig: false,
    strictInputs: false,
    ratioClamp: 20,
  },
}

export const profiles: Record<Dialect, Profile> = { hosted, skyrl, tuft, openrl }

/** How long a session of SkyRL lives without a heartbeat; the others never end one. */
export const sessionTimeoutMs: Record<Dialect, number> = {
  hosted: Number.POSITIVE_INFINITY,
  skyrl: hour / 12,
  tuft: Number.POSITIVE_INFINITY,
  openrl: Number.POSITIVE_INFINITY,
}
