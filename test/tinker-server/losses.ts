/**
 * What each server makes of a training batch: the losses at the current log-probabilities and their derivatives. The
 * derivative of any loss is a weighted cross entropy, which is how the engine below gets it.
 */
import type { Tensor, WireDatum } from '../../src/tinker/wire.js'
import type { LossRule } from './dialects.js'
import { OperationError, Refusal } from './errors.js'

export interface Batch {
  data: WireDatum[]
  lossFn: string
  config: Record<string, number>
}

export interface DatumLoss {
  /** Σ over tokens, or the sequence's mean where the server reduces so. */
  loss: number
  /** Tokens' losses before any reduction. */
  elementwise: Float32Array
  /** d loss / d log-probability of each target. */
  slopes: Float32Array
}

const policyLosses = ['importance_sampling', 'ppo', 'cispo', 'dro']
const known = ['target_tokens', 'weights', 'logprobs', 'advantages']

/** Throws a Refusal for a loss or a setting of it that the server does not have. */
export function checkLoss(rule: LossRule, { lossFn, config }: Batch): void {
  if (!(lossFn in rule.names))
    throw new Refusal(
      422,
      `Unknown loss_fn '${lossFn}'. Input should be ${Object.keys(rule.names).join(', ')}`,
    )
  const allowed = rule.config[lossFn] ?? []
  const wrong = Object.keys(config).filter((key) => rule.strictConfig && !allowed.includes(key))
  if (wrong.length > 0)
    throw new Refusal(
      422,
      `Invalid loss_fn_config keys for loss_fn='${lossFn}': ${wrong}. Allowed: ${allowed}`,
    )
}

/** Throws OperationError for data that the loss cannot be formed from. */
export function checkData(rule: LossRule, { data, lossFn }: Batch): void {
  const isPolicy = policyLosses.includes(lossFn)
  const needed = ['target_tokens', ...(isPolicy ? ['logprobs', 'advantages'] : [])]
  for (const { tokens, inputs } of data) {
    const names = Object.keys(inputs)
    const allowed = isPolicy && rule.policyWeights === 'refused' ? needed : known
    const extra = names.find((name) => !allowed.includes(name))
    if (rule.strictInputs && extra !== undefined)
      throw new OperationError(`loss_fn_inputs of ${lossFn} must not hold '${extra}'.`)
    if (!isPolicy && rule.policyWeights !== 'multiply' && !inputs.weights)
      throw new OperationError(`loss_fn_inputs of ${lossFn} lacks 'weights'.`)
    const absent = needed.find((name) => !inputs[name])
    if (absent) throw new OperationError(`loss_fn_inputs of ${lossFn} lacks '${absent}'.`)
    for (const name of names) {
      const { length } = inputs[name]!.data
      if (length !== tokens.length)
        throw new OperationError(`'${name}' holds ${length} values for ${tokens.length} tokens.`)
    }
    if (inputs.target_tokens!.dtype !== 'int64')
      throw new OperationError("'target_tokens' must be of dtype int64.")
    if (tokens.length === 0) throw new OperationError('A datum holds no tokens.')
  }
  const keys = (inputs: Record<string, Tensor>) => Object.keys(inputs).sort().join()
  if (rule.sameKeys && data.some(({ inputs }) => keys(inputs) !== keys(data[0]!.inputs)))
    throw new OperationError('All datums of a batch must have the same loss_fn_inputs.')
}

export function datumLoss(
  rule: LossRule,
  { lossFn, config }: Batch,
  { inputs }: WireDatum,
  logprobs: Float32Array,
): DatumLoss {
  const n = logprobs.length
  const isPolicy = policyLosses.includes(lossFn)
  const weights = !isPolicy || rule.policyWeights === 'multiply' ? inputs.weights?.data : undefined
  const elementwise = new Float32Array(n)
  const slopes = new Float32Array(n)
  const { low, high } = clipBounds(rule, lossFn, config)
  const beta = config.beta ?? 0.05
  for (let t = 0; t < n; t++) {
    const p = logprobs[t]!
    const [value, slope] = isPolicy
      ? policyLoss(lossFn, p, inputs.logprobs!.data[t]!, inputs.advantages!.data[t]!, {
          low,
          high,
          beta,
          clamp: rule.ratioClamp,
        })
      : [-p, -1]
    elementwise[t] = value
    slopes[t] = slope
  }
  const weightOf = (t: number) => weights?.[t] ?? 1
  const sumOfWeights = Array.from(slopes, (_, t) => weightOf(t)).reduce((a, b) => a + b, 0)
  const scale = rule.reduction === 'sequence' ? 1 / Math.max(sumOfWeights, 1e-9) : 1
  let loss = 0
  for (let t = 0; t < n; t++) {
    const factor = weightOf(t) * scale
    // 0 times a number that is not one is not 0, but the servers mask such tokens.
    loss += factor === 0 ? 0 : factor * elementwise[t]!
    slopes[t] = factor === 0 ? 0 : factor * slopes[t]!
  }
  return { loss, elementwise, slopes }
}

function clipBounds(rule: LossRule, lossFn: string, config: Record<string, number>) {
  const defaults = rule.names[lossFn] ?? { low: 0, high: 0 }
  if (rule.config[lossFn]?.includes('clip_range')) {
    const range = config.clip_range ?? 0.2
    return { low: 1 - range, high: 1 + range }
  }
  return {
    low: config.clip_low_threshold ?? defaults.low,
    high: config.clip_high_threshold ?? defaults.high,
  }
}

/** Loss and slope of one token: p its log-probability now, q when it was sampled, A its advantage. */
function policyLoss(
  lossFn: string,
  p: number,
  q: number,
  A: number,
  { low, high, beta, clamp }: { low: number; high: number; beta: number; clamp: number },
): [value: number, slope: number] {
  const ratio = Math.exp(Math.min(Math.max(p - q, -clamp), clamp))
  const clipped = Math.min(Math.max(ratio, low), high)
  switch (lossFn) {
    case 'ppo': {
      const [free, bound] = [ratio * A, clipped * A]
      return free <= bound ? [-free, -free] : [-bound, 0]
    }
    case 'cispo':
      return [-clipped * p * A, -clipped * A]
    case 'dro':
      return [-(p * A - 0.5 * beta * (p - q) ** 2), -(A - beta * (p - q))]
    default:
      return [-ratio * A, -ratio * A]
  }
}
