import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accuracyInterval } from './interval.js'

const coin = (right: number, n: number) => Array.from({ length: n }, (_, i) => Number(i < right))

describe('the interval of an accuracy', () => {
  it("is Wilson's for one sample a problem", () => {
    const { mean, low, high } = accuracyInterval(coin(8, 10), 1)
    expect(mean).toBeCloseTo(0.8, 12)
    // p = 8/10, z = 1.96: (0.8 + 0.19208 +- 1.96 sqrt(0.016 + 0.009604)) / 1.38416
    expect(low).toBeCloseTo(0.490157, 4)
    expect(high).toBeCloseTo(0.943318, 4)
  })

  it('has width where every answer is right or wrong', () => {
    expect(accuracyInterval(coin(20, 20), 1).low).toBeLessThan(0.9)
    expect(accuracyInterval(coin(0, 20), 1).high).toBeGreaterThan(0.1)
  })

  it('counts problems, not samples, where a problem has several', () => {
    const shares = [0, 0.5, 1, 1]
    const { mean, low, high } = accuracyInterval(shares, 2)
    const deviation = Math.sqrt((0.625 ** 2 + 0.125 ** 2 + 2 * 0.375 ** 2) / 3)
    expect(mean).toBe(0.625)
    expect(mean - low).toBeCloseTo((1.96 * deviation) / 2, 12)
    expect(high).toBe(1)
  })

  it('holds the mean and stays within [0, 1]', () => {
    const shares = fc.array(
      fc.integer({ min: 0, max: 4 }).map((k) => k / 4),
      { minLength: 1, maxLength: 50 },
    )
    fc.assert(
      fc.property(shares, (values) => {
        const { mean, low, high } = accuracyInterval(values, 4)
        return 0 <= low && low <= mean + 1e-12 && mean <= high + 1e-12 && high <= 1
      }),
    )
  })

  it('has width where all problems have the same share: Wilson, of problems', () => {
    expect(accuracyInterval([1, 1, 1], 4)).toEqual(accuracyInterval([1, 1, 1], 1))
    expect(accuracyInterval([0, 0], 4).high).toBeGreaterThan(0.5)
    const { mean, low, high } = accuracyInterval([0.1, 0.1, 0.1], 10)
    expect([mean, low < 0.02, high > 0.5]).toEqual([0.1, true, true])
    const one = accuracyInterval([0.5], 8)
    expect(one.high - one.low).toBeGreaterThan(0.7)
  })

  it('is not a number where there are no problems', () => {
    expect(accuracyInterval([], 1).mean).toBeNaN()
  })
})
