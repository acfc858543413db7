import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { areaUnderCurve, balancedAccuracy, processF1 } from './measures.js'

const outcomes = fc
  .array(fc.boolean(), { minLength: 2, maxLength: 12 })
  .filter((all) => new Set(all).size === 2)

describe('balancedAccuracy', () => {
  it('is a half for one who says the same of all, and 0 for one who says nothing', () => {
    fc.assert(
      fc.property(outcomes, fc.boolean(), (all, said) => {
        expect(balancedAccuracy(all.map((right) => ({ right, said })))).toBe(0.5)
        expect(balancedAccuracy(all.map((right) => ({ right, said: right })))).toBe(1)
        expect(balancedAccuracy(all.map((right) => ({ right, said: undefined })))).toBe(0)
      }),
    )
  })

  it('is no number where a class is missing', () => {
    expect(balancedAccuracy([{ right: true, said: true }])).toBeNaN()
  })
})

describe('areaUnderCurve', () => {
  it('is a half for equal scores, and mirrors when the scores do', () => {
    const scored = fc.array(fc.record({ right: fc.boolean(), score: fc.integer({ min: 0, max: 30 }) }), {
      minLength: 2,
    })
    fc.assert(
      fc.property(scored, (all) => {
        if (new Set(all.map(({ right }) => right)).size < 2) return
        const mirrored = all.map(({ right, score }) => ({ right, score: -score }))
        expect(areaUnderCurve(all) + areaUnderCurve(mirrored)).toBeCloseTo(1, 12)
        expect(areaUnderCurve(all.map(({ right }) => ({ right, score: 1 })))).toBe(0.5)
      }),
    )
  })

  it('counts pairs', () => {
    const scored = [
      { right: true, score: 0.9 },
      { right: true, score: 0.4 },
      { right: false, score: 0.4 },
      { right: false, score: 0.1 },
    ]
    expect(areaUnderCurve(scored)).toBe(3.5 / 4)
  })
})

describe('processF1', () => {
  it('is the harmonic mean of both kinds', () => {
    const locations = [
      { truth: 2, said: 2 },
      { truth: 1, said: 3 },
      { truth: null, said: null },
      { truth: null, said: null },
    ]
    expect(processF1(locations)).toBeCloseTo((2 * 0.5 * 1) / 1.5, 12)
    expect(processF1(locations.map(({ truth }) => ({ truth, said: null })))).toBe(0)
    expect(processF1(locations.map(({ truth }) => ({ truth, said: undefined })))).toBe(0)
    expect(processF1(locations.map(({ truth }) => ({ truth, said: truth })))).toBe(1)
  })
})
