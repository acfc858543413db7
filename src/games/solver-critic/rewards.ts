/**
 * The rewards of solver and critic, each a pure function. Symbols: o* whether a solution's answer is right (or, without
 * answer key, whether the majority agrees), z_k the critic's verdict on step k, V its verdict on the whole, c in [0, 1]
 * the mean of its three scores. The method is this project's own recipe; the README names what each part is taken from.
 */
import type { Critique } from './critique.js'

export interface SolverRewardSettings {
  /** w_c */
  critique_weight: number
  /** g(1) and g(0). */
  gate_right: number
  gate_wrong: number
  format_reward: number
}

/**
 * The solver's reward:
 *
 *     R_S = o* + w_c g(o*) c + format_reward [well-formed],      w_c = 0.5, g(1) = 1, g(0) = 0.5
 *
 * The gate lets a wrong solution earn at most a quarter by convincing the critic, so it never beats a right one.
 *
 * @param critique c of the solution, 0 .. 1: the mean over its critiques
 */
export function solverReward(
  solution: { right: boolean; critique: number; formatted: boolean },
  settings: SolverRewardSettings,
): number {
  const { right, critique, formatted } = solution
  const gate = right ? settings.gate_right : settings.gate_wrong
  return Number(right) + settings.critique_weight * gate * critique + (formatted ? settings.format_reward : 0)
}

/** Smallest share a class counts with, so that one that is all but extinct does not drown the other. */
const RAREST = 0.05

/**
 * Weight of outcome alignment on solutions that are right, and on those that are wrong, by the inverse root of how many
 * there are of each (RL Tango), scaled so that the mean weight over solutions is 1:
 *
 *     w_y = p_y^{-1/2} / (p_1^{1/2} + p_0^{1/2}),     p_1 the share of right solutions, p_0 = 1 - p_1
 *
 * Without it a critic that calls everything by the name of the larger class earns too well.
 *
 * @param right p_1, cut to 0.05 .. 0.95
 */
export function classWeights(right: number): { right: number; wrong: number } {
  const p1 = Math.min(1 - RAREST, Math.max(RAREST, right))
  const roots = { right: Math.sqrt(p1), wrong: Math.sqrt(1 - p1) }
  const sum = roots.right + roots.wrong
  return { right: 1 / (roots.right * sum), wrong: 1 / (roots.wrong * sum) }
}

/** b: V agrees with the step verdicts (a solution is right iff no step is flawed) and FIRST_ERROR is the first flawed one. */
export function isCoherent({ sound, correct, firstError }: Critique): boolean {
  const first = sound.indexOf(false)
  return correct === first < 0 && firstError === (first < 0 ? null : first + 1)
}

/**
 * e on a planted error: FIRST_ERROR is the step that was changed. On its untouched twin: the verdict is CORRECT.
 *
 * @param planted number of the changed step; null for a twin
 */
export function evidence({ correct, firstError }: Critique, planted: number | null): boolean {
  return planted === null ? correct : firstError === planted
}

/**
 * r: share of the rival solutions (of the same question, with the other outcome) that the critic's scores rank on the
 * right side of this one:
 *
 *     r_i = mean over j with o*_j != o*_i of [(c_i - c_j)(o*_i - o*_j) > 0]
 *
 * Equal scores rank nothing. Undefined without a rival.
 */
export function ranking(
  own: { right: boolean; critique: number },
  all: readonly { right: boolean; critique: number }[],
): number | undefined {
  const rivals = all.filter((other) => other.right !== own.right)
  if (rivals.length === 0) return undefined
  const won = rivals.filter(({ critique }) => (own.right ? own.critique > critique : own.critique < critique))
  return won.length / rivals.length
}

/** k: share of the other critiques of the same solution with the same V; one that cannot be read agrees with none. */
export function agreement(own: Critique, others: readonly (Critique | null)[]): number | undefined {
  if (others.length === 0) return undefined
  return others.filter((other) => other?.correct === own.correct).length / others.length
}

/** The parts of the critic's reward by name; undefined where a part does not apply to the solution. */
export interface CriticParts {
  /** a, its class weight included. */
  outcome?: number | undefined
  /** b */
  coherence?: number | undefined
  /** e */
  evidence?: number | undefined
  /** r */
  ranking?: number | undefined
  /** k */
  agreement?: number | undefined
}

export type CriticWeights = Required<{ [part in keyof CriticParts]: number }>

export interface CriticRewardSettings {
  weights: CriticWeights
  /** What a critique that cannot be read earns. */
  unparsable_reward: number
  /** Taken off where a wrong solution of the solver was called CORRECT. */
  fooled_penalty: number
}

/**
 * The critic's reward:
 *
 *     R_C = W sum_i w_i x_i / sum_i w_i - fooled_penalty [fooled],      unparsable_reward where it cannot be read
 *
 * over the parts x_i that apply: a part that does not is left out of the normaliser. W is the sum of the weights of a, b, r
 * and k, so that for a solution with rivals R_C = w_a a + w_b b + w_r r + w_k k, and an error that was planted is worth as
 * much as it.
 *
 * @param parts null where the critique cannot be read
 */
export function criticReward(
  parts: CriticParts | null,
  fooled: boolean,
  { weights, unparsable_reward, fooled_penalty }: CriticRewardSettings,
): number {
  if (parts === null) return unparsable_reward
  const names = Object.keys(weights) as (keyof CriticParts)[]
  const applying = names.filter((name) => parts[name] !== undefined)
  const sum = (value: (name: keyof CriticParts) => number) =>
    applying.reduce((total, name) => total + value(name), 0)
  const normaliser = sum((name) => weights[name])
  const full = weights.outcome + weights.coherence + weights.ranking + weights.agreement
  const earned = normaliser === 0 ? 0 : (full * sum((name) => weights[name] * parts[name]!)) / normaliser
  return earned - (fooled ? fooled_penalty : 0)
}
