import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signFlipTest } from './paired.js'

/** All ways to give signs, one by one. */
function counted(differences: number[]): number {
  const observed = Math.abs(differences.reduce((sum, value) => sum + value, 0))
  let extreme = 0
  for (let signs = 0; signs < 2 ** differences.length; signs++) {
    const sum = differences.reduce((total, value, i) => total + ((signs >> i) & 1 ? value : -value), 0)
    if (Math.abs(sum) >= observed) extreme++
  }
  return extreme / 2 ** differences.length
}

describe('the sign-flip test', () => {
  it('is what counting all flips gives', () => {
    const some = fc.array(fc.integer({ min: -6, max: 6 }), { maxLength: 11 })
    fc.assert(fc.property(some, (values) => Math.abs(signFlipTest(values) - counted(values)) < 1e-12))
  })

  it("is McNemar's exact test for single samples", () => {
    // 9 discordant pairs, 1 against 8: 2 (C(9,0) + C(9,1)) / 2^9
    const values = [...Array(8).fill(1), -1, ...Array(50).fill(0)]
    expect(signFlipTest(values)).toBeCloseTo(20 / 512, 12)
  })

  it('does not depend on scale or sign, and says 1 where nothing differs', () => {
    expect(signFlipTest([3, 6, -3])).toBe(signFlipTest([1, 2, -1]))
    expect(signFlipTest([-1, -2, 1])).toBe(signFlipTest([1, 2, -1]))
    expect([signFlipTest([]), signFlipTest([0, 0])]).toEqual([1, 1])
  })

  it('stays exact and quick for a large set', () => {
    const values = Array.from({ length: 1319 }, (_, i) => (i % 13) - 6)
    const p = signFlipTest(values.map((value, i) => (i % 9 === 0 ? value + 4 : value)))
    expect(p).toBeGreaterThan(0)
    expect(p).toBeLessThan(0.01)
  })
})
