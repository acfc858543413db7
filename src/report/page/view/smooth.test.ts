import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { smoothed } from './smooth.js'

describe('smoothed', () => {
  it('is the weighted mean of what came before', () => {
    expect(smoothed([1, null, 3], 0.5)).toEqual([1, null, (0.5 * 0.5 * 1 + 0.5 * 3) / 0.75])
    expect(smoothed([1, 5], 0)).toEqual([1, 5])
  })

  it('stays between the least and the largest value, and starts at the first', () => {
    const values = fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 0.99, noNaN: true }), (all, keep) => {
        const out = smoothed(all, keep) as number[]
        expect(out[0]).toBeCloseTo(all[0]!)
        expect(Math.min(...out)).toBeGreaterThanOrEqual(Math.min(...all) - 1e-9)
        expect(Math.max(...out)).toBeLessThanOrEqual(Math.max(...all) + 1e-9)
      }),
    )
  })
})
