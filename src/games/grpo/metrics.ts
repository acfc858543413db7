/**
 * What a role's round looked like, as numbers by metric name (docs/metrics.md). Where there is nothing to measure, the
 * name is left out.
 */
import type { Rollout } from '../../core/rollout.js'
import type { Verdict } from '../../grader/grader.js'
import { allEqual, mean, std } from './advantages.js'
import type { StepReport } from './step.js'

export type Metrics = Record<string, number>

export function prefixed(prefix: string, metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}/${name}`, value]))
}

/** Value at the share q of the sorted values, linear between neighbours; NaN of nothing. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)] ?? Number.NaN
  const high = sorted[Math.ceil(at)] ?? Number.NaN
  return low + (high - low) * (at - Math.floor(at))
}

/** Share of the items that pass; NaN of nothing. */
export function fraction<T>(items: readonly T[], test: (item: T) => boolean): number {
  return items.filter(test).length / items.length
}

/**
 * Rewards by group. `group/all_good`: every reward of the group is above 0; `all_bad`: none is; `mixed`: the rest.
 * `zero_std_frac`: all rewards equal, so the group teaches nothing.
 */
export function rewardMetrics(all: readonly (readonly number[])[]): Metrics {
  const groups = all.filter((group) => group.length > 0)
  const rewards = groups.flat()
  if (rewards.length === 0) return {}
  const good = (reward: number) => reward > 0
  const allGood = fraction(groups, (group) => group.every(good))
  const allBad = fraction(groups, (group) => !group.some(good))
  return {
    'reward/mean': mean(rewards),
    'reward/std': std(rewards),
    'reward/p10': quantile(rewards, 0.1),
    'reward/p90': quantile(rewards, 0.9),
    'group/all_good': allGood,
    'group/all_bad': allBad,
    'group/mixed': 1 - allGood - allBad,
    'group/zero_std_frac': fraction(groups, allEqual),
  }
}

/** Questions by how many of their answers were right: `pass_rate/p0` .. `pass_rate/p<answers>`, and the mean rate. */
export function passRateMetrics(rates: readonly number[], answers: number): Metrics {
  if (rates.length === 0) return {}
  const metrics: Metrics = {}
  for (let right = 0; right <= answers; right++) {
    metrics[`pass_rate/p${right}`] = rates.filter((rate) => Math.round(rate * answers) === right).length
  }
  return { ...metrics, 'pass_rate/mean': mean(rates) }
}

const reasons = ['equal', 'different', 'no_answer', 'unparsable_gold', 'timeout', 'error'] as const

/** Share of each outcome of the grader. */
export function verdictMetrics(verdicts: readonly Verdict[]): Metrics {
  if (verdicts.length === 0) return {}
  const share = (reason: Verdict['reason']) => fraction(verdicts, (verdict) => verdict.reason === reason)
  return Object.fromEntries(reasons.map((reason) => [`verdict/${reason}_frac`, share(reason)]))
}

/** Lengths in tokens, entropies in nats a token, repetition. */
export function rolloutMetrics(rollouts: readonly Rollout[]): Metrics {
  if (rollouts.length === 0) return {}
  const lengths = rollouts.map((rollout) => rollout.tokens.length)
  const finished = rollouts.filter((rollout) => rollout.stop !== 'length')
  const metrics: Metrics = {
    'len/mean': mean(lengths),
    'len/p50': quantile(lengths, 0.5),
    'len/p95': quantile(lengths, 0.95),
    'len/truncated_frac': 1 - finished.length / rollouts.length,
    'len/repetition': mean(rollouts.map((rollout) => repetitionRate(rollout.tokens))),
    'policy/entropy_estimate': -mean(rollouts.flatMap((rollout) => [...rollout.logprobs])),
  }
  if (finished.length > 0) {
    metrics['len/terminated_mean'] = mean(finished.map((rollout) => rollout.tokens.length))
  }
  return { ...metrics, ...entropyMetrics(rollouts) }
}

/** Entropy below which a token counts as decided, nats. */
const DECIDED = 1e-3

/** Exact entropies where the engine knows them; `entropy_nonzero` leaves out the tokens that were as good as certain. */
export function entropyMetrics(rollouts: readonly Rollout[]): Metrics {
  const entropies = rollouts.flatMap((rollout) => [...(rollout.entropies ?? [])])
  if (entropies.length === 0) return {}
  const open = entropies.filter((entropy) => entropy > DECIDED)
  return {
    'policy/entropy': mean(entropies),
    'policy/zero_entropy_frac': 1 - open.length / entropies.length,
    ...(open.length > 0 && { 'policy/entropy_nonzero': mean(open) }),
  }
}

/** Share of n-grams of tokens that stood earlier in the same completion, [0, 1); 0 where it is shorter than n. */
export function repetitionRate(tokens: ArrayLike<number>, n = 8): number {
  const total = tokens.length - n + 1
  if (total <= 0) return 0
  const seen = new Set<string>()
  const all = Array.from(tokens)
  for (let i = 0; i < total; i++) seen.add(all.slice(i, i + n).join())
  return 1 - seen.size / total
}

/** Without the numbers that a server does not tell. */
export function told(metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => !Number.isNaN(value)))
}

/** Means over a role's steps of the round. `kl_sampler_trainer` is that of the first step, whose weights are the sampler's. */
export function stepMetrics(steps: readonly StepReport[]): Metrics {
  const over = (value: (step: StepReport) => number) => mean(steps.map(value))
  if (steps.length === 0) return { 'optim/steps': 0 }
  const ratios = steps.flatMap((step) => step.loss.ratio ?? [])
  const kl = steps[0]!.samplerKl
  const drift = steps.flatMap((step) => step.referenceKl ?? [])
  return {
    loss: over((step) => step.loss.loss),
    'optim/steps': steps.length,
    'optim/tokens': over((step) => step.loss.tokens),
    ...told({
      'optim/grad_norm': over((step) => step.optim.gradNorm),
      'optim/update_norm': over((step) => step.optim.updateNorm),
    }),
    'optim/lr': over((step) => step.learningRate),
    ...(ratios.length > 0 && {
      'ratio/mean': mean(ratios.map((ratio) => ratio.mean)),
      'ratio/max': Math.max(...ratios.map((ratio) => ratio.max)),
      'clip/low_frac': mean(ratios.map((ratio) => ratio.clippedLow)),
      'clip/high_frac': mean(ratios.map((ratio) => ratio.clippedHigh)),
    }),
    ...(kl && { 'policy/kl_sampler_trainer_v1': kl[0], 'policy/kl_sampler_trainer_v2': kl[1] }),
    ...(drift.length > 0 && { 'policy/kl_reference': mean(drift) }),
  }
}

/** Mean log-probability of a completion's tokens, nats; 0 where it is empty. */
export function meanLogprob(rollout: Rollout): number {
  return rollout.logprobs.length === 0 ? 0 : mean(rollout.logprobs)
}
