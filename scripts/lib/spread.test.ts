import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { difference, plusMinus, rangeOf, spreadOf } from './spread.js'

/** Shares of 512 problems. */
const value = fc.integer({ min: 0, max: 512 }).map((right) => right / 512)
const values = fc.array(value, { minLength: 2, maxLength: 6 })

describe('rangeOf', () => {
  it('gives the middle, whatever stands at the ends', () => {
    expect(rangeOf([40, 3, 5])).toEqual({ median: 5, least: 3, most: 40 })
    expect(rangeOf([8, 2, 4, 100])).toEqual({ median: 6, least: 2, most: 100 })
    expect(rangeOf([7])).toEqual({ median: 7, least: 7, most: 7 })
  })
})

describe('spreadOf', () => {
  it('gives mean, deviation and half the interval of Student', () => {
    // 4.303 is the two-sided 95 % quantile of t with 2 degrees of freedom.
    const { mean, sd, half } = spreadOf([0.1, 0.2, 0.3])
    expect([mean, sd]).toEqual([expect.closeTo(0.2), expect.closeTo(0.1)])
    expect(half).toBeCloseTo((4.303 * 0.1) / Math.sqrt(3))
    expect(plusMinus(spreadOf([0.1, 0.2, 0.3]))).toBe('20.0 ± 10.0')
  })

  it('says nothing of the spread of one value', () => {
    expect(spreadOf([0.5])).toMatchObject({ mean: 0.5, sd: 0, half: Number.POSITIVE_INFINITY })
  })

  it('never has a narrower interval than a larger sample of the same values', () => {
    fc.assert(
      fc.property(values, (some) => {
        expect(spreadOf([...some, ...some]).half).toBeLessThanOrEqual(spreadOf(some).half)
      }),
    )
  })
})

describe('difference', () => {
  it('is that of Welch', () => {
    // Variances 1 and 4, three values each: freedom 2.94, so 2 degrees; se = sqrt(1/3 + 4/3).
    const { mean, half } = difference([1, 2, 3], [4, 6, 8])
    expect(mean).toBe(-4)
    expect(half).toBeCloseTo(4.303 * Math.sqrt(5 / 3))
  })

  it('turns its sign with its sides, and has none between equals', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const [there, back] = [difference(a, b), difference(b, a)]
        expect(there.mean).toBeCloseTo(-back.mean)
        expect(there.half).toBeCloseTo(back.half)
        expect(difference(a, a).mean).toBe(0)
      }),
    )
  })

  it('has no end where a side is one value', () => {
    expect(difference([1], [1, 2]).half).toBe(Number.POSITIVE_INFINITY)
  })
})
