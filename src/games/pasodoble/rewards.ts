/**
 * The rewards of PasoDoble (arXiv 2511.11881), each a pure function. Symbols: q_i the i-th question of a knowledge text,
 * a*_i the proposer's own answer, a_ij the solver's j-th answer of J, p_i the pass rate, H the history of questions.
 * Comparisons are written so that a NaN earns nothing.
 */

/**
 * Pass rate of a question:
 *
 *     r^s_ij = 1 if a_ij is equivalent to a*_i, else 0          p_i = (1/J) sum_j r^s_ij
 *
 * @param rewards r^s_ij over j, each 0 or 1. No answers (a question never asked): 0.
 * @returns p_i in [0, 1].
 */
export function passRate(rewards: readonly number[]): number {
  return rewards.length === 0 ? 0 : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
}

/**
 * Difficulty: the harder, the better, as long as it can be solved at all.
 *
 *     r_diff = 1.1 - p   if p > tau_low,   else 0
 *
 * p = tau_low is too hard and earns 0; p = 1 earns 0.1, so that a question that is merely right beats an invalid one.
 */
export function difficultyReward(p: number, tauLow: number): number {
  return p > tauLow ? 1.1 - p : 0
}

/**
 * Diversity: the share of the history that the question does not repeat.
 *
 *     r_div = (|H| - #{h in H : J(q, h) > tau_sim}) / |H|,   1 if H is empty
 *
 * J is the Jaccard index of the sets of token ids.
 * @param duplicates members of H that the question repeats, 0 .. size
 */
export function diversityReward(duplicates: number, size: number): number {
  return size === 0 ? 1 : (size - duplicates) / size
}

export interface ProposerRewardSettings {
  tau_low: number
  tau_div: number
  w: number
  /** Whether r_div = tau_div passes. The paper's form: at_least; the released code: above. */
  diversity_gate: 'at_least' | 'above'
  /** Off: no bonus and no gate. */
  diversity: boolean
}

/** The diversity gate of r^p: r_div >= tau_div (or > tau_div); open where diversity is off. */
export function isDiverse(diversity: number, settings: ProposerRewardSettings): boolean {
  if (!settings.diversity) return true
  const { tau_div: least, diversity_gate: gate } = settings
  return gate === 'at_least' ? diversity >= least : diversity > least
}

/**
 * The proposer's reward:
 *
 *     r^p = r_diff + w r_div   if p > tau_low and the question is diverse,   else 0
 *
 * There is no upper bound on p here: p = 1 earns 0.1 + w r_div. Malformed questions come with p = 0 and earn 0. With
 * tau_low = 0.2, w = 0.2, r_div = 1 and J = 6 the largest rewards are 2/6: .9667, 3/6: .8, 4/6: .6333, 5/6: .4667, 1: .3.
 */
export function proposerReward(p: number, diversity: number, settings: ProposerRewardSettings): number {
  if (!(p > settings.tau_low && isDiverse(diversity, settings))) return 0
  return difficultyReward(p, settings.tau_low) + (settings.diversity ? settings.w * diversity : 0)
}

/** A question the solver can learn from: tau_low < p < tau_high, both strict. */
export function isValidForSolver(p: number, bounds: { tau_low: number; tau_high: number }): boolean {
  return p > bounds.tau_low && p < bounds.tau_high
}

/** Why a question cannot count, whatever its pass rate. */
export type Flaw =
  | 'no_question'
  | 'no_answer'
  | 'question_in_answer'
  | 'box_in_question'
  | 'answer_in_question'

export interface HackingCheckSettings {
  reject_question_in_answer: boolean
  reject_box_in_question: boolean
  reject_answer_in_question: boolean
  /** Shorter answers (characters) may stand in the question: "2" is in nearly every problem. The released code: 1. */
  leak_min_length: number
}

/**
 * The reward-hacking check (released code only): a question with a flaw has p_i := 0. Flaws in the order they are looked
 * for: nothing to ask, nothing to compare with, the question is a piece of its answer, the question shows a \boxed{}, the
 * answer's text is a piece of the question.
 */
export function hackingCheck(question: string, answer: string, settings: HackingCheckSettings): Flaw | null {
  if (question === '') return 'no_question'
  if (answer === '') return 'no_answer'
  if (settings.reject_question_in_answer && answer.includes(question)) return 'question_in_answer'
  if (settings.reject_box_in_question && question.includes('\\boxed{')) return 'box_in_question'
  const leaks = answer.length >= settings.leak_min_length && question.includes(answer)
  return settings.reject_answer_in_question && leaks ? 'answer_in_question' : null
}
