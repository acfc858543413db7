/**
 * Ratings from cross-play by the model of Bradley and Terry (1952): P(taker i earns the point of a task of setter j) =
 * 1 / (1 + exp(b_j - a_i)). With tasks as opponents it is the Rasch model of tests: a is skill, b is difficulty. In Elo's scale a
 * difference of 400 is odds of ten to one.
 */
import { type RandomStream, randomStream } from '../core/random.js'
import type { DuelResult } from '../games/game.js'
import { scoreOf } from './duel.js'

export interface Rating {
  elo: number
  /** 95 % interval by bootstrap over tasks. */
  low: number
  high: number
}

const SCALE = 400 / Math.LN10
/** Rating of the first taker. */
const BASE = 1000
const RESAMPLES = 400

interface Estimate {
  /** a_i - a_0 */
  taker: number[]
  /** b_j - a_0 */
  setter: number[]
}

/**
 * Elo of every snapshot. The first taker has 1000 by definition, so every interval is one of the difference from it. Points of
 * kinds count as in a score.
 *
 * @param results [taker][setter][task]; the tasks of a setter are the same for all takers.
 */
export function ratings(
  results: readonly (readonly (readonly DuelResult[])[])[],
  seed: number,
): { taker: Rating[]; setter: Rating[] } {
  const whole = estimate(results)
  const stream = randomStream(seed, 'arena', 'bootstrap')
  const estimates = Array.from({ length: RESAMPLES }, () => estimate(resample(results, stream)))
  const rate = (side: keyof Estimate) =>
    whole[side].map((value, k): Rating => {
      const drawn = estimates.map((each) => elo(each[side][k]!)).sort((a, b) => a - b)
      return { elo: elo(value), low: quantile(drawn, 0.025), high: quantile(drawn, 0.975) }
    })
  return { taker: rate('taker'), setter: rate('setter') }
}

const elo = (value: number) => BASE + SCALE * value

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.round(q * (sorted.length - 1))]!
}

/** Draws the tasks of each setter anew, with replacement: the same draw for all takers, who met the same tasks. */
function resample(
  results: readonly (readonly (readonly DuelResult[])[])[],
  stream: RandomStream,
): DuelResult[][][] {
  const draws = results[0]!.map((tasks) => tasks.map(() => stream.int(tasks.length)))
  return results.map((row) => row.map((tasks, j) => draws[j]!.map((task) => tasks[task]!)))
}

/**
 * The a and b of the greatest likelihood, by Newton's steps on each in turn. Each pair that met has half a point more on both
 * sides (as Jeffreys' prior has it for a single share), so that a player who won or lost everything has a rating.
 */
function estimate(results: readonly (readonly (readonly DuelResult[])[])[]): Estimate {
  const pairs = results.map((row) =>
    row.map((tasks) => {
      const { score, n } = scoreOf(tasks)
      return n === 0 ? { points: 0, n: 0 } : { points: score * n + 0.5, n: n + 1 }
    }),
  )
  const takers = pairs.map(() => 0)
  const setters = pairs[0]!.map(() => 0)
  for (let sweep = 0; sweep < 500; sweep++) {
    let moved = 0
    takers.forEach((a, i) => {
      takers[i] = a + newton(pairs[i]!.map((pair, j) => ({ ...pair, at: a - setters[j]! })))
      moved = Math.max(moved, Math.abs(takers[i]! - a))
    })
    setters.forEach((b, j) => {
      setters[j] = b - newton(pairs.map((row, i) => ({ ...row[j]!, at: takers[i]! - b })))
      moved = Math.max(moved, Math.abs(setters[j]! - b))
    })
    if (moved < 1e-6) break
  }
  const origin = takers[0]!
  return { taker: takers.map((a) => a - origin), setter: setters.map((b) => b - origin) }
}

/** A step towards the maximum of sum of points * x - n * log(1 + exp(x)) along a common shift of x; at most one unit. */
function newton(pairs: readonly { points: number; n: number; at: number }[]): number {
  let slope = 0
  let curvature = 0
  for (const { points, n, at } of pairs) {
    const p = 1 / (1 + Math.exp(-at))
    slope += points - n * p
    curvature += n * p * (1 - p)
  }
  return curvature === 0 ? 0 : Math.max(-1, Math.min(1, slope / curvature))
}
