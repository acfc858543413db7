/** What the kinds of servers of the Tinker protocol do differently, as data. */

export const dialectNames = ['hosted', 'skyrl', 'tuft', 'openrl'] as const
export type DialectName = (typeof dialectNames)[number]
export type LossName = 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo'

export interface Profile {
  dialect: DialectName
  /** The server does not say so: it is the one that it is most like. */
  guessed?: true
  /** The key TINKER_API_KEY must be set. */
  needsKey: boolean
  /** Encoding of `forward_backward`; `both`: protobuf, and JSON where the server turns out not to read it. */
  train: 'protobuf' | 'both'
  /** Where log-probabilities without gradients come from. */
  forward: 'forward_only' | 'route'
  losses: readonly LossName[]
  /** `sequence`: the mean over the weights of each sequence, then over the sequences of the step; `token`: plain sums. */
  reduction: 'token' | 'sequence'
  /** Policy losses carry the tensor `weights`; absent ones count as 1, the prompt included. */
  weightsWithPolicyLoss: boolean
  /** Form of PPO's clip bounds: those of the ratio, or one symmetric distance from 1. */
  clip: 'bounds' | 'range'
  /**
   * Execution order of a model's requests. `sequence`: by number; `arrival`: as they come; `expected`: each must carry
   * the number that comes next, and failed ones do not advance it.
   */
  order: 'sequence' | 'arrival' | 'expected'
  /**
   * What keeps gradients and steps that are sent again after an unknown outcome from being applied twice. `retry`: the
   * server knows a retry by its number; `count`: it carries out no number twice; `none`: nothing, so they are not sent.
   */
  deduplicates: 'retry' | 'count' | 'none'
  /** Statuses of `retrieve_future` that tell of an operation that failed. */
  failureStatuses: readonly number[]
  /** Milliseconds a poll may be held by the server; the client waits a little longer. */
  pollHoldMs: number
  /** `retrieve_future` can be asked for the size of an answer first. */
  announcesSize: boolean
  /** Weights are loaded into a model before its first training request only. */
  loadFirstOnly: boolean
  /** `frozen`: a sampling session keeps the weights it was made of; `live`: it is only safe until the model's next step. */
  snapshots: 'frozen' | 'live'
  /** Sample i of a request is that of the seed `seed + i`, which must be below 2^31; elsewhere each has its own stream. */
  seedsInARow: boolean
  /** Weight decay acts on every adapter of the server. */
  decaysAll: boolean
  /** Status of a heartbeat of a session that the server does not know. */
  unknownSession: number
  /** Samples end at the model's own end-of-text ids without being told. */
  stopsAtEos: boolean
  /** `server`: stops are obeyed; `client`: they are ignored, and the client cuts. */
  stops: 'server' | 'client'
  /** `top_p` and `top_k` are obeyed. */
  truncates: boolean
  /** Several base models may be served by one address. */
  manyBaseModels: boolean
  /** Route that gives a model's place back. */
  unload: 'unload_model' | 'delete_model'
  /** Checkpoints can be listed, fetched and deleted. */
  checkpoints: boolean
  /** Adapter scale: alpha for a rank, where the server fixes it. */
  alpha: (rank: number) => number
  maxRank: number
  /** Requests for samples in flight at most. */
  concurrentSamples: number
}

const hosted: Profile = {
  dialect: 'hosted',
  needsKey: true,
  train: 'protobuf',
  forward: 'forward_only',
  losses: ['cross_entropy', 'importance_sampling', 'ppo', 'cispo'],
  reduction: 'token',
  weightsWithPolicyLoss: false,
  clip: 'bounds',
  order: 'sequence',
  deduplicates: 'retry',
  failureStatuses: [],
  pollHoldMs: 40_000,
  announcesSize: true,
  loadFirstOnly: true,
  snapshots: 'frozen',
  seedsInARow: false,
  decaysAll: false,
  unknownSession: 404,
  stopsAtEos: true,
  stops: 'server',
  truncates: true,
  manyBaseModels: true,
  unload: 'unload_model',
  checkpoints: true,
  alpha: () => 32,
  maxRank: 128,
  concurrentSamples: 400,
}

export const profiles: Record<DialectName, Profile> = {
  hosted,
  skyrl: {
    ...hosted,
    dialect: 'skyrl',
    needsKey: false,
    reduction: 'sequence',
    weightsWithPolicyLoss: true,
    order: 'arrival',
    failureStatuses: [400],
    pollHoldMs: 300_000,
    announcesSize: false,
    snapshots: 'live',
    seedsInARow: true,
    decaysAll: true,
    stopsAtEos: false,
    manyBaseModels: false,
    maxRank: 32,
  },
  tuft: {
    ...hosted,
    dialect: 'tuft',
    order: 'expected',
    deduplicates: 'count',
    failureStatuses: [400, 403, 404, 409, 413, 422],
    pollHoldMs: 120_000,
    announcesSize: false,
    loadFirstOnly: false,
    unknownSession: 500,
    alpha: (rank) => 2 * rank,
    maxRank: 16,
  },
  openrl: {
    ...hosted,
    dialect: 'openrl',
    needsKey: false,
    train: 'both',
    forward: 'route',
    losses: ['cross_entropy', 'importance_sampling', 'ppo'],
    weightsWithPolicyLoss: true,
    clip: 'range',
    order: 'arrival',
    deduplicates: 'none',
    failureStatuses: [400],
    pollHoldMs: 60_000,
    announcesSize: false,
    loadFirstOnly: false,
    snapshots: 'live',
    stopsAtEos: false,
    stops: 'client',
    truncates: false,
    manyBaseModels: false,
    unload: 'delete_model',
    checkpoints: false,
  },
}
