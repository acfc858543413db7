/** Group-relative advantages: GRPO (arXiv 2402.03300, section 4.1), Dr. GRPO (arXiv 2503.20783) without the scaling. */
import { InvariantError } from '../../core/errors.js'

/** Keeps the division finite where rewards hardly differ. */
const EPSILON = 1e-4

export interface AdvantageOptions {
  /** Divide by the group's standard deviation. */
  scaleRewards: boolean
  /** n - 1 instead of n below the variance, as torch.std. Default true. */
  unbiased?: boolean
}

/**
 * Advantages of one group of rewards:
 *
 *     A_i = (r_i - mean(r)) / (std(r) + 1e-4)      or, without scaling,      A_i = r_i - mean(r)
 *
 * Equal rewards (a group of one included) give exact zeros: such a group teaches nothing.
 * Throws InvariantError where a reward is not finite.
 */
export function groupAdvantages(rewards: readonly number[], options: AdvantageOptions): number[] {
  const { scaleRewards, unbiased = true } = options
  const bad = rewards.find((reward) => !Number.isFinite(reward))
  if (bad !== undefined) throw new InvariantError(`A reward is ${bad}, which is not a finite number.`)
  if (allEqual(rewards)) return rewards.map(() => 0)
  const center = mean(rewards)
  const scale = scaleRewards ? std(rewards, unbiased) + EPSILON : 1
  return rewards.map((reward) => (reward - center) / scale)
}

/** Arithmetic mean; NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum / values.length
}

/** Standard deviation; 0 of one value. */
export function std(values: ArrayLike<number>, unbiased = true): number {
  if (values.length < 2) return 0
  const center = mean(values)
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += (values[i]! - center) ** 2
  return Math.sqrt(sum / (values.length - (unbiased ? 1 : 0)))
}

/** Compared exactly: the floating-point residue of a mean must not be divided by an epsilon. */
export function allEqual(values: readonly number[]): boolean {
  return values.every((value) => value === values[0])
}
