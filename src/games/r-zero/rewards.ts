/**
 * The rewards of R-Zero (arXiv 2508.05004), each a pure function. Symbols: s the share of the majority among the
 * solver's m answers to a question, C the cluster of similar questions that a question belongs to, B the questions of
 * the batch. Comparisons are written so that a NaN earns nothing.
 */

/** How uncertainty is scored: the paper's `tent`, or the released code's `minority`, half as high. */
export type Uncertainty = 'tent' | 'minority'

/**
 * Uncertainty of the solver, highest where half of its answers agree:
 *
 *     tent:  1 - 2 |s - 1/2|          minority:  min(s, 1 - s)
 *
 * @param s 0 .. 1
 */
export function uncertaintyReward(s: number, form: Uncertainty): number {
  const minority = Math.min(s, 1 - s)
  return form === 'tent' ? 2 * minority : minority
}

/** Repetition penalty: |C| / B. */
export function repetitionPenalty(cluster: number, batch: number): number {
  return cluster / batch
}

export interface ChallengerRewardSettings {
  uncertainty: Uncertainty
  /** Whether a reward of a well-formed question is at least 0: the paper's max(0, ..). */
  reward_floor: boolean
  malformed_reward: number
}

/**
 * The challenger's reward:
 *
 *     r = uncertainty - |C| / B       cut at 0 with `reward_floor`;       malformed_reward where there is no question
 */
export function challengerReward(
  question: { share: number; cluster: number } | null,
  batch: number,
  settings: ChallengerRewardSettings,
): number {
  if (question === null) return settings.malformed_reward
  const { share, cluster } = question
  const reward = uncertaintyReward(share, settings.uncertainty) - repetitionPenalty(cluster, batch)
  return settings.reward_floor ? Math.max(0, reward) : reward
}

/**
 * Share of the majority: its votes over all m answers (the paper), or over those that answer at all (the code). 0
 * where nobody does.
 */
export function majorityShare(
  { count, votes }: { count: number; votes: number },
  answers: number,
  of: 'samples' | 'votes',
): number {
  const all = of === 'samples' ? answers : votes
  return all === 0 ? 0 : count / all
}

/** Whether the solver trains on a question: share_low <= s <= share_high, both included. */
export function isInBand(s: number, bounds: { share_low: number; share_high: number }): boolean {
  return s >= bounds.share_low && s <= bounds.share_high
}
