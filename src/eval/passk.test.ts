import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { passAtK, usualKs } from './passk.js'

/** Share of the k-subsets of n samples, c of them right, that hold a right one: counted one by one. */
function counted(n: number, c: number, k: number): number {
  let [all, good] = [0, 0]
  for (let set = 0; set < 2 ** n; set++) {
    const members = Array.from({ length: n }, (_, i) => (set >> i) & 1)
    if (members.reduce((sum, member) => sum + member, 0) !== k) continue
    all++
    if (members.some((member, i) => member === 1 && i < c)) good++
  }
  return good / all
}

const cases = fc
  .integer({ min: 1, max: 9 })
  .chain((n) => fc.tuple(fc.constant(n), fc.integer({ min: 0, max: n }), fc.integer({ min: 1, max: n })))

describe('pass@k', () => {
  it('is the share of sets of k samples that hold a right one', () => {
    fc.assert(fc.property(cases, ([n, c, k]) => Math.abs(passAtK(n, c, k) - counted(n, c, k)) < 1e-12))
  })

  it('is the share of right samples for k = 1, and does not fall with k or c', () => {
    fc.assert(
      fc.property(cases, ([n, c, k]) => {
        expect(passAtK(n, c, 1)).toBeCloseTo(c / n, 12)
        if (k < n) expect(passAtK(n, c, k + 1)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-12)
        if (c < n) expect(passAtK(n, c + 1, k)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-12)
      }),
    )
  })

  it('stays a number for very many samples', () => {
    // 1 - C(9999, 100) / C(10000, 100) = 100 / 10000
    expect(passAtK(10_000, 1, 100)).toBeCloseTo(0.01, 12)
    expect(passAtK(10_000, 5000, 5000)).toBe(1)
    expect(passAtK(6, 0, 4)).toBe(0)
  })

  it('is reported for powers of two', () => {
    expect([1, 2, 6, 8, 10].map(usualKs)).toEqual([[1], [1, 2], [1, 2, 4], [1, 2, 4, 8], [1, 2, 4, 8]])
  })
})
