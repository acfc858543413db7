import { describe, expect, it } from 'vitest'
import { randomStream } from '../core/random.js'
import type { DuelResult } from '../games/game.js'
import { scoreOf } from './duel.js'
import { ratings } from './ratings.js'

/** Results of takers and setters of known strength, in units of 400 Elo: ten to one. */
function played(takers: number[], setters: number[], n: number): DuelResult[][][] {
  const stream = randomStream(7, 'played')
  return takers.map((a) =>
    setters.map((b) =>
      Array.from({ length: n }, () => ({ points: Number(stream.uniform() < 1 / (1 + 10 ** (b - a))) })),
    ),
  )
}

describe('a score', () => {
  it('is the mean over tasks that were put, with its interval', () => {
    const results = [1, 1, 0, 1].map((points) => ({ points }))
    expect(scoreOf([...results, { points: null }])).toMatchObject({ score: 0.75, n: 4 })
    const { low, high } = scoreOf(Array.from({ length: 100 }, (_, i) => ({ points: i % 2 })))
    // Wilson's interval of 50 among 100.
    expect(low).toBeCloseTo(0.4038, 4)
    expect(high).toBeCloseTo(0.5962, 4)
  })

  it('counts kinds alike: a judge of one word gets a half', () => {
    const yes = [
      ...Array.from({ length: 90 }, () => ({ points: 1, kind: 'right' })),
      ...Array.from({ length: 10 }, () => ({ points: 0, kind: 'wrong' })),
    ]
    expect(scoreOf(yes).score).toBe(0.5)
    const mixed = yes.map((result, i) => ({ ...result, points: i % 10 < 8 ? 1 : 0 }))
    const { score, low, high } = scoreOf(mixed)
    expect(score).toBeCloseTo(0.8, 12)
    // Wider than that of 100 tasks of one kind, since ten of them decide half of it.
    const even = scoreOf(mixed.map(({ points }) => ({ points })))
    expect(high - low).toBeGreaterThan(1.4 * (even.high - even.low))
  })
})

describe('ratings', () => {
  it('find the strengths that the results came from, within their intervals', () => {
    const takers = [0, 0.5, 1]
    const setters = [0.2, -0.4, 0.9]
    const { taker, setter } = ratings(played(takers, setters, 400), 0)
    for (const [k, { elo, low, high }] of taker.entries()) {
      expect(Math.abs(elo - (1000 + 400 * takers[k]!))).toBeLessThan(60)
      expect(low).toBeLessThanOrEqual(elo)
      expect(high).toBeGreaterThanOrEqual(elo)
    }
    for (const [k, { elo, low, high }] of setter.entries()) {
      expect(Math.abs(elo - (1000 + 400 * setters[k]!))).toBeLessThan(60)
      expect(high - low).toBeGreaterThan(10)
      expect(high - low).toBeLessThan(150)
    }
    expect(taker[0]).toEqual({ elo: 1000, low: 1000, high: 1000 })
  })

  it('of one pair are the log odds of the score with half a point more on both sides', () => {
    const results = [[[1, 1, 1, 0].map((points) => ({ points }))]]
    const { setter } = ratings(results, 0)
    expect(setter[0]!.elo).toBeCloseTo(1000 - 400 * Math.log10(3.5 / 1.5), 3)
  })

  it('exist for a player who won everything, and are the same for the same seed', () => {
    const all = (points: number) => Array.from({ length: 10 }, () => ({ points }))
    const results = [
      [all(0), all(0)],
      [all(1), all(1)],
    ]
    const { taker } = ratings(results, 3)
    expect(taker[1]!.elo).toBeGreaterThan(1500)
    expect(Number.isFinite(taker[1]!.elo)).toBe(true)
    expect(ratings(results, 3)).toEqual(ratings(results, 3))
  })
})
