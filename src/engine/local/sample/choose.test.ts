import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { samplingDistribution } from '../../../../test/support/sampling.js'
import { chiSquareP } from '../../../../test/support/statistics.js'
import { NotFiniteError } from '../../../core/errors.js'
import { randomStream } from '../../../core/random.js'
import { chooseToken, samplingEntropy } from './choose.js'

const free = { temperature: 1, topP: 1, topK: 0 }
/** The largest uniform number below 1 that a stream can give. */
const nearlyOne = 1 - 2 ** -53

const choose = (probabilities: number[], u: number, changes: Partial<typeof free> = {}) =>
  chooseToken(Float32Array.from(probabilities), 0, probabilities.length, { ...free, ...changes }, u)

/** Tokens that some u gives, on a grid finer than any share used here. */
function reachable(probabilities: number[], changes: Partial<typeof free>): number[] {
  const tokens = new Set<number>()
  for (let i = 0; i < 500; i++) tokens.add(choose(probabilities, i / 500, changes))
  tokens.add(choose(probabilities, nearlyOne, changes))
  return [...tokens].sort((a, b) => a - b)
}

/** Float32 shares of a random distribution of V tokens, some of them 0. */
const distribution = fc.integer({ min: 1, max: 40 }).chain((length) =>
  fc
    .array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1000 })), {
      minLength: length,
      maxLength: length,
    })
    .filter((counts) => counts.some((count) => count > 0))
    .map((counts) => counts.map((count) => count / counts.reduce((a, b) => a + b, 0))),
)
const filters = fc.record({
  topK: fc.integer({ min: 0, max: 10 }),
  topP: fc.constantFrom(1e-6, 0.3, 0.9, 1),
})

describe('chooseToken', () => {
  it('takes the first token whose cumulative probability exceeds u', () => {
    const probabilities = [0.25, 0, 0.5, 0.25]
    for (const [u, token] of [
      [0, 0],
      [0.2499, 0],
      [0.25, 2],
      [0.7499, 2],
      [0.75, 3],
      [nearlyOne, 3],
    ] as const)
      expect(choose(probabilities, u)).toBe(token)
  })

  it('reads the row it is asked for', () => {
    const rows = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 1, 0)
    expect([0, 1, 2].map((row) => chooseToken(rows, row, 3, free, 0.5))).toEqual([0, 2, 1])
    const filtered = { ...free, topK: 2 }
    expect([0, 1, 2].map((row) => chooseToken(rows, row, 3, filtered, 0.5))).toEqual([0, 2, 1])
    const greedy = { ...free, temperature: 0 }
    expect([0, 1, 2].map((row) => chooseToken(rows, row, 3, greedy, 0.5))).toEqual([0, 2, 1])
  })

  it('never takes a token of probability 0, whatever u and the filters', () => {
    const uniform = fc.oneof(
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.constantFrom(0, nearlyOne),
    )
    fc.assert(
      fc.property(distribution, filters, uniform, (probabilities, changes, u) => {
        expect(probabilities[choose(probabilities, u, changes)]).toBeGreaterThan(0)
      }),
      { seed: 1, numRuns: 300 },
    )
  })

  it('takes the most probable where float32 shares sum to less than u', () => {
    const probabilities = [0.1, 0.3, 0.2, 0.3].map((p) => p * 0.999)
    expect(choose(probabilities, nearlyOne)).toBe(1)
    // A filtered draw is relative to what is left, so it ends with the last token kept.
    expect(choose(probabilities, nearlyOne, { topK: 3 })).toBe(2)
  })

  it.each<[string, { topK?: number; topP?: number }]>([
    ['freely', {}],
    ['from the top 4', { topK: 4 }],
    ['from the nucleus of 0.7', { topP: 0.7 }],
    ['from the nucleus of 0.7 among the top 4', { topK: 4, topP: 0.7 }],
  ])('draws %s as often as it should', (_, changes) => {
    const shares = [0.05, 0.3, 0.02, 0.2, 0.15, 0.15, 0.1, 0.03]
    // A nucleus among the top 4 is a share of their mass of 0.8: 0.3 + 0.2 are 0.5, 0.65 with the next, of 0.56.
    const expected: number[] =
      changes.topK === 4 && changes.topP
        ? [0, 0.3, 0, 0.2, 0.15, 0, 0, 0].map((p) => p / 0.65)
        : samplingDistribution(shares.map(Math.log), changes)
    const random = randomStream(1, 'draws')
    const counts = shares.map(() => 0)
    for (let i = 0; i < 10_000; i++) counts[choose(shares, random.uniform(), changes)]!++
    expect(chiSquareP(counts, expected)).toBeGreaterThan(0.01)
    expect(counts.map((count) => count > 0)).toEqual(expected.map((p) => p > 0))
  })
})

describe('probabilities that are not numbers', () => {
  it.each([{}, { topK: 2 }, { topP: 0.5 }, { temperature: 0 }])('are an error, with %o', (changes) => {
    expect(() => choose([Number.NaN, Number.NaN, Number.NaN], 0.5, changes)).toThrow(NotFiniteError)
  })
})

describe('temperature 0', () => {
  it('takes the most probable, the lowest index on a tie, whatever u', () => {
    for (const u of [0, 0.5, nearlyOne]) {
      expect(choose([0.2, 0.3, 0.1, 0.3, 0.1], u, { temperature: 0 })).toBe(1)
      expect(choose([0.25, 0.25, 0.25, 0.25], u, { temperature: 0 })).toBe(0)
      expect(choose([0.2, 0.3, 0.5], u, { temperature: 0, topK: 2, topP: 0.5 })).toBe(2)
    }
  })
})

describe('filters', () => {
  const shares = [0.125, 0.25, 0.0625, 0.375, 0.1875]

  it('top-k keeps the k most probable', () => {
    expect(reachable(shares, { topK: 1 })).toEqual([3])
    expect(reachable(shares, { topK: 2 })).toEqual([1, 3])
    expect(reachable(shares, { topK: 3 })).toEqual([1, 3, 4])
    expect(reachable(shares, { topK: 5 })).toEqual([0, 1, 2, 3, 4])
    expect(reachable(shares, { topK: 50 })).toEqual([0, 1, 2, 3, 4])
  })

  it('top-p keeps the smallest set that reaches the share, with the token that crosses it', () => {
    expect(reachable(shares, { topP: 1e-9 })).toEqual([3])
    expect(reachable(shares, { topP: 0.375 })).toEqual([3])
    expect(reachable(shares, { topP: 0.376 })).toEqual([1, 3])
    expect(reachable(shares, { topP: 0.625 })).toEqual([1, 3])
    expect(reachable(shares, { topP: 0.8 })).toEqual([1, 3, 4])
    expect(reachable(shares, { topP: 0.999 })).toEqual([0, 1, 2, 3, 4])
  })

  it('top-p is a share of what top-k leaves', () => {
    // The top 3 hold 0.8125; the first of them is 0.46 of that, two are 0.77.
    expect(reachable(shares, { topK: 3, topP: 0.46 })).toEqual([3])
    expect(reachable(shares, { topK: 3, topP: 0.47 })).toEqual([1, 3])
    expect(reachable(shares, { topK: 3, topP: 0.77 })).toEqual([1, 3, 4])
  })

  it('keep the lower index of a tie', () => {
    const tied = [0.125, 0.25, 0.25, 0.125, 0.25]
    expect(reachable(tied, { topK: 2 })).toEqual([1, 2])
    expect(reachable(tied, { topK: 4 })).toEqual([0, 1, 2, 4])
    expect(reachable(tied, { topP: 0.5 })).toEqual([1, 2])
    expect(reachable(tied, { topP: 0.85 })).toEqual([0, 1, 2, 4])
  })

  it('divide [0, 1) among the tokens kept by their probabilities', () => {
    fc.assert(
      fc.property(distribution, filters, (probabilities, { topK, topP }) => {
        const floats = Array.from(Float32Array.from(probabilities))
        const ranked = floats
          .map((p, token) => ({ p, token }))
          .filter(({ p }) => p > 0)
          .sort((a, b) => b.p - a.p || a.token - b.token)
          .slice(0, topK || undefined)
        const mass = ranked.reduce((sum, { p }) => sum + p, 0)
        let reached = 0
        const kept = ranked.filter(({ p }) => {
          const keep = reached < topP * mass
          reached += p
          return keep
        })
        // Without a filter the tokens share [0, 1) in the order of the vocabulary.
        const order = topK || topP < 1 ? kept : kept.sort((a, b) => a.token - b.token)
        const total = order.reduce((sum, { p }) => sum + p, 0)
        let below = 0
        for (const { p, token } of order) {
          expect(choose(probabilities, (below + p / 2) / total, { topK, topP })).toBe(token)
          below += p
        }
      }),
      { seed: 1, numRuns: 100 },
    )
  })
})

describe('samplingEntropy', () => {
  const entropy = (probabilities: number[], changes: Partial<typeof free> = {}) =>
    samplingEntropy(Float32Array.from(probabilities), 0, probabilities.length, { ...free, ...changes })

  it('is that of the whole distribution where nothing is filtered', () => {
    expect(entropy([0.5, 0.25, 0, 0.25])).toBeCloseTo(1.5 * Math.LN2, 7)
    expect(entropy([0.25, 0.25, 0.25, 0.25])).toBeCloseTo(Math.log(4), 7)
  })

  it('is that of what the filters leave, renormalised', () => {
    const shares = [0.125, 0.25, 0.0625, 0.375, 0.1875]
    const two = -(0.4 * Math.log(0.4) + 0.6 * Math.log(0.6))
    expect(entropy(shares, { topP: 0.625 })).toBeCloseTo(two, 7)
    expect(entropy(shares, { topK: 2 })).toBeCloseTo(two, 7)
    expect(entropy(shares, { topK: 4, topP: 0.5 })).toBeCloseTo(two, 7)
  })

  it('is exactly 0 where one token is left, and only there', () => {
    for (const changes of [{ topP: 1e-9 }, { topK: 1 }, { temperature: 0 }])
      expect(entropy([0.1, 0.7, 0.2], changes)).toBe(0)
    expect(entropy([0, 1, 0])).toBe(0)
    expect(entropy([1e-6, 1 - 1e-6])).toBeGreaterThan(0)
  })

  it('agrees with the shares that tokens are drawn with, and is at most the log of their number', () => {
    fc.assert(
      fc.property(distribution, filters, (probabilities, changes) => {
        const floats = Array.from(Float32Array.from(probabilities))
        const sorted = floats.filter((p) => p > 0).sort((a, b) => b - a)
        const ranked = sorted.slice(0, changes.topK || undefined)
        const mass = ranked.reduce((sum, p) => sum + p, 0)
        let reached = 0
        const kept = ranked.filter((p) => {
          const keep = reached < changes.topP * mass
          reached += p
          return keep
        })
        const total = kept.reduce((sum, p) => sum + p, 0)
        const expected = kept.reduce((sum, p) => sum - (p / total) * Math.log(p / total), 0)
        const value = entropy(probabilities, changes)
        expect(value).toBeCloseTo(expected, 9)
        expect(value).toBeGreaterThanOrEqual(0)
        expect(value).toBeLessThanOrEqual(Math.log(kept.length) + 1e-9)
      }),
      { seed: 1, numRuns: 300 },
    )
  })
})
