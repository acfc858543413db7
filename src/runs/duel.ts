/** Plays a duel: the policies of two rounds face each other, and nobody learns. */
import { InvariantError } from '../core/errors.js'
import type { FrozenPolicy, Policy } from '../engine/engine.js'
import { wilson } from '../eval/interval.js'
import type { AnyGame, Duel, DuelResult, GameContext, Role } from '../games/game.js'
import type { Emit } from './events.js'
import { gameContext, type Match } from './match.js'

export type Side = 'setter' | 'taker'

/** The duel of a match's game, as its settings have it. */
export function duelOf({ game, recipe }: { game: AnyGame; recipe: { settings: unknown } }): Duel | undefined {
  return game.duel?.(recipe.settings)
}

/** What a duel sees of the run: the same streams and seeds every time, so that opponents meet on common random numbers. */
export function duelContext(
  match: Match,
  policies: Partial<Record<Side, FrozenPolicy>>,
  { signal, emit, seed = match.recipe.seed }: { signal: AbortSignal; emit: Emit; seed?: number },
): GameContext<unknown> {
  const duel = duelOf(match)!
  const seeded = { ...match, recipe: { ...match.recipe, seed } }
  const ctx = gameContext(seeded, 'duel', signal, emit)
  const seated = (['setter', 'taker'] as const).flatMap((side): [string, Role][] => {
    const policy = policies[side]
    const name = duel[side]
    return policy ? [[name, { ...match.roles[name]!, policy: spectator(policy) }]] : []
  })
  return { ...ctx, roles: { ...ctx.roles, ...Object.fromEntries(seated) } }
}

/** A policy that plays and cannot learn. */
function spectator(policy: FrozenPolicy): Policy {
  const refuse = async (): Promise<never> => {
    throw new InvariantError('Nobody learns in a duel.')
  }
  return {
    tokenizer: policy.tokenizer,
    version: policy.version,
    sample: (...args) => policy.sample(...args),
    logprobs: (sequences) => policy.logprobs(sequences),
    forwardBackward: refuse,
    optimStep: refuse,
    snapshot: refuse,
    save: refuse,
    load: refuse,
    close: refuse,
  }
}

export interface Score {
  /** Points of the taker: the mean over kinds of the mean over the tasks of a kind; NaN without tasks. */
  score: number
  /** 95 % interval. */
  low: number
  high: number
  /** Tasks that were put. */
  n: number
}

/**
 * The score of results with its interval: Wilson's, where all tasks are of one kind, on the effective number of tasks
 * n = m (1 - m) / se^2 for several kinds.
 */
export function scoreOf(results: readonly DuelResult[]): Score {
  const put = results.flatMap(({ points, kind = '' }) => (points === null ? [] : { points, kind }))
  const kinds = [...new Set(put.map(({ kind }) => kind))].map((kind) =>
    put.filter((each) => each.kind === kind).map(({ points }) => points),
  )
  const means = kinds.map((points) => points.reduce((sum, each) => sum + each, 0) / points.length)
  const score = means.reduce((sum, each) => sum + each, 0) / means.length
  const variance =
    kinds.reduce((sum, points, k) => sum + (means[k]! * (1 - means[k]!)) / points.length, 0) /
    kinds.length ** 2
  const effective = variance > 0 ? (score * (1 - score)) / variance : put.length
  const { low, high } = wilson(score, effective)
  return { score, low, high, n: put.length }
}
