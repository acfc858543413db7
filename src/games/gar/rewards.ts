/**
 * The rewards of GAR (arXiv 2512.16917, sections 3 and 4.1), each a pure function. Symbols: x_1 .. x_n the slices of a
 * trajectory, v the discriminator's verdict on a slice (1 = YES), s its source (1 = reference, 0 = generated), R^m 1 where
 * the trajectory's final answer is right and else 0.
 */
import { mean } from '../grpo/advantages.js'
import type { Verdict } from './verdict.js'

/** s: 1 = reference, 0 = generated. */
export type Source = 0 | 1

/** Mean of the numbers that are there; null where none is. */
export function meanOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : mean(known)
}

/**
 * R^s = (1/n) sum_i r^s_i, over the slices that have a verdict. One number for the whole trajectory: all its tokens
 * share one advantage.
 *
 * @param scores r^s_i in [0, 1], null where no verdict could be read.
 * @returns in [0, 1]; 0 without slices, since nothing sound was written; null where no slice has a verdict.
 */
export function sliceReward(scores: readonly (number | null)[]): number | null {
  return scores.length === 0 ? 0 : meanOfKnown(scores)
}

/** Puts the group's mean in the place of slice rewards that are unknown, so that they neither pay nor cost; 0 where all are. */
export function fillUnknown(group: readonly (number | null)[]): number[] {
  const middle = meanOfKnown(group) ?? 0
  return group.map((value) => value ?? middle)
}

export interface ReasonerWeights {
  lambda1: number
  lambda2: number
}

/** R^rea = lambda1 R^m + lambda2 R^s. */
export function reasonerReward(
  answer: number,
  slices: number,
  { lambda1, lambda2 }: ReasonerWeights,
): number {
  return lambda1 * answer + lambda2 * slices
}

/**
 * How the objective R^d = E_ref[log M_d(x)] + E_gen[log(1 - M_d(x))] becomes a reward for one sampled verdict:
 *
 *     hard   r^d = 1[v = s]                        linear in p_s, so that its optimum is a certain verdict
 *     ipw    r^d = 1[v = s] / max(p_s, floor)      its policy gradient is that of log p_s
 *     bce    r^d = 0                               -log p_s enters as a loss of its own, see `verdictLossWeight`
 *
 * p_1 = p_YES, p_0 = 1 - p_YES.
 */
export type DiscriminationForm = 'hard' | 'ipw' | 'bce'

/**
 * r^d of one verdict.
 *
 * @param yes p_YES; of `ipw` alone. Where it is unknown the reward is that of `hard`.
 */
export function discriminationReward(
  form: DiscriminationForm,
  verdict: Verdict,
  source: Source,
  yes: number | undefined,
  floor: number,
): number {
  if (form === 'bce' || verdict !== source) return 0
  if (form === 'hard' || yes === undefined) return 1
  return 1 / Math.max(source === 1 ? yes : 1 - yes, floor)
}

/** r^a = 1[v = R^m]: the verdict on a generated slice agrees with the final answer of its trajectory. */
export function alignmentReward(verdict: Verdict, right: boolean): number {
  return verdict === Number(right) ? 1 : 0
}

/** R^a of a trajectory: the mean agreement of its slice verdicts with its answer. Null without verdicts. */
export function alignment(verdicts: readonly (Verdict | null)[], right: boolean): number | null {
  return meanOfKnown(verdicts.map((verdict) => (verdict === null ? null : alignmentReward(verdict, right))))
}

export interface DiscriminatorWeights {
  lambda3: number
  lambda4: number
  rd_form: DiscriminationForm
  ipw_floor: number
  /** Taken off where no verdict can be read, in the place of all other terms. */
  format_penalty: number
}

/** One sampled judgment of one slice. */
export interface JudgedSlice {
  verdict: Verdict | null
  source: Source
  yes?: number | undefined
  /** R^m of a generated slice's trajectory; undefined for references, and where nothing was answered. */
  right?: boolean | undefined
}

/**
 * Reward of one judgment, and its parts before weighting:
 *
 *     generated   lambda3 r^d + lambda4 r^a        reference   lambda3 r^d        unreadable   -format_penalty
 */
export function discriminatorReward(
  { verdict, source, yes, right }: JudgedSlice,
  weights: DiscriminatorWeights,
): { reward: number; discrimination: number; alignment: number } {
  if (verdict === null) return { reward: -weights.format_penalty, discrimination: 0, alignment: 0 }
  const discrimination = discriminationReward(weights.rd_form, verdict, source, yes, weights.ipw_floor)
  const agreement = source === 1 || right === undefined ? 0 : alignmentReward(verdict, right)
  return {
    reward: weights.lambda3 * discrimination + weights.lambda4 * agreement,
    discrimination,
    alignment: agreement,
  }
}

/**
 * `bce`: L = -[s log p_YES + (1 - s) log(1 - p_YES)] has dL/d(l_YES - l_NO) = p_YES - s. So -w (l_YES - l_NO) with
 * w = s - p_YES, held constant, has the same gradient: w weighs YES as a target, and -w weighs NO.
 *
 * @returns w in [-1, 1].
 */
export function verdictLossWeight(source: Source, yes: number): number {
  return source - yes
}
