import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  alignment,
  alignmentReward,
  type DiscriminationForm,
  type DiscriminatorWeights,
  discriminationReward,
  discriminatorReward,
  fillUnknown,
  meanOfKnown,
  reasonerReward,
  type Source,
  sliceReward,
  verdictLossWeight,
} from './rewards.js'
import type { Verdict } from './verdict.js'

const paper: DiscriminatorWeights = {
  lambda3: 1,
  lambda4: 0.5,
  rd_form: 'hard',
  ipw_floor: 0.1,
  format_penalty: 0.5,
}
const bit = fc.constantFrom<0 | 1>(0, 1)
const verdicts = fc.array(fc.option(bit), { maxLength: 12 })
const share = fc.double({ min: 0, max: 1, noNaN: true })

describe('the reasoner', () => {
  it.each([
    [1, [1, 1, 1], 2],
    [1, [0, 0], 1],
    [0, [1, 0, 1, 1], 0.75],
    [0, [], 0],
    [1, [null, 1, 0], 1.5],
  ])('with R^m = %d and verdicts %j earns %d', (answer, given, reward) => {
    expect(reasonerReward(answer, sliceReward(given)!, { lambda1: 1, lambda2: 1 })).toBeCloseTo(reward, 12)
  })

  it('earns 0 to 2, more for every YES, the same in any order', () => {
    fc.assert(
      fc.property(bit, fc.array(bit, { minLength: 1, maxLength: 12 }), fc.nat(), (answer, given, at) => {
        const reward = (list: readonly number[]) =>
          reasonerReward(answer, sliceReward(list)!, { lambda1: 1, lambda2: 1 })
        expect(reward(given)).toBeGreaterThanOrEqual(0)
        expect(reward(given)).toBeLessThanOrEqual(2)
        expect(reward([...given].reverse())).toBeCloseTo(reward(given), 12)
        const place = at % given.length
        const better = given.map((verdict, i) => (i === place ? 1 : verdict))
        expect(reward(better)).toBeGreaterThanOrEqual(reward(given))
        if (given[place] === 0) expect(reward(better)).toBeGreaterThan(reward(given))
      }),
    )
  })

  it('is not moved by slices without a verdict', () => {
    fc.assert(
      fc.property(verdicts, (given) => {
        const known = given.filter((verdict) => verdict !== null)
        if (known.length > 0) expect(sliceReward(given)).toBe(sliceReward(known))
        else expect(sliceReward(given)).toBe(given.length === 0 ? 0 : null)
      }),
    )
  })

  it('gets the mean of its group where its own slices are unknown', () => {
    expect(fillUnknown([1, null, 0.5])).toEqual([1, 0.75, 0.5])
    expect(fillUnknown([null, null])).toEqual([0, 0])
    fc.assert(
      fc.property(fc.array(fc.option(share), { minLength: 1 }), (group) => {
        const filled = fillUnknown(group)
        const mean = filled.reduce((sum, value) => sum + value, 0) / filled.length
        expect(mean).toBeCloseTo(meanOfKnown(group) ?? 0, 9)
      }),
    )
  })
})

describe('the discriminator', () => {
  it.each<[Source, boolean | undefined, Verdict | null, number]>([
    [1, undefined, 1, 1],
    [1, undefined, 0, 0],
    [0, true, 1, 0.5],
    [0, true, 0, 1],
    [0, false, 1, 0],
    [0, false, 0, 1.5],
    [0, undefined, 0, 1],
    [0, undefined, 1, 0],
    [0, true, null, -0.5],
    [1, undefined, null, -0.5],
  ])('of source %d and answer %s for verdict %s earns %d', (source, right, verdict, reward) => {
    expect(discriminatorReward({ source, right, verdict }, paper).reward).toBe(reward)
  })

  it('is paid by parts that add up to its reward', () => {
    const judged = fc.record({ source: bit, verdict: bit, right: fc.boolean(), yes: share })
    const form = fc.constantFrom<DiscriminationForm>('hard', 'ipw', 'bce')
    fc.assert(
      fc.property(judged, form, share, share, (slice, rd_form, lambda3, lambda4) => {
        const weights = { ...paper, rd_form, lambda3, lambda4 }
        const { reward, discrimination, alignment } = discriminatorReward(slice, weights)
        expect(reward).toBeCloseTo(lambda3 * discrimination + lambda4 * alignment, 12)
        expect(reward).toBeGreaterThanOrEqual(0)
        if (slice.verdict !== slice.source || rd_form === 'bce') expect(discrimination).toBe(0)
        if (slice.source === 1) expect(alignment).toBe(0)
      }),
    )
  })

  it('divides by the probability of the true source in ipw, by the floor at least', () => {
    expect(discriminationReward('ipw', 1, 1, 0.25, 0.1)).toBe(4)
    expect(discriminationReward('ipw', 0, 0, 0.25, 0.1)).toBeCloseTo(4 / 3, 12)
    expect(discriminationReward('ipw', 1, 1, 0.01, 0.1)).toBe(10)
    expect(discriminationReward('ipw', 1, 0, 0.25, 0.1)).toBe(0)
    expect(discriminationReward('ipw', 1, 1, undefined, 0.1)).toBe(1)
  })

  it('treats the two sources alike, YES and NO exchanged', () => {
    fc.assert(
      fc.property(bit, bit, share, fc.constantFrom<DiscriminationForm>('hard', 'ipw'), (v, s, yes, form) => {
        const mirrored = discriminationReward(form, (1 - v) as Verdict, (1 - s) as Source, 1 - yes, 0.1)
        expect(discriminationReward(form, v, s, yes, 0.1)).toBeCloseTo(mirrored, 9)
      }),
    )
  })

  it('agrees with the answer: R^a is the mean of its verdicts agreeing', () => {
    expect(alignment([1, 1, 0, null], true)).toBeCloseTo(2 / 3, 12)
    expect(alignment([1, 1, 0, null], false)).toBeCloseTo(1 / 3, 12)
    expect(alignment([null], true)).toBeNull()
    fc.assert(
      fc.property(verdicts, fc.boolean(), (given, right) => {
        const value = alignment(given, right)
        const other = alignment(given, !right)
        if (value !== null) expect(value + other!).toBeCloseTo(1, 12)
      }),
    )
  })
})

/**
 * What the weights imply: at a slice that is a reference with probability d, and whose trajectory is right with
 * probability q where it is generated, the p_YES that each form of R^d drives the discriminator to.
 */
describe('the optimum of p_YES', () => {
  const ds = [0.1, 0.3, 0.5, 0.7]
  const qs = [0, 0.5, 1]

  /** Expected gradient with respect to the logit of YES: sum over sources and verdicts of pi(v) r(v) d log pi(v). */
  function slope(p: number, d: number, q: number, form: DiscriminationForm): number {
    const weights = { ...paper, rd_form: form, ipw_floor: 1e-9 }
    const cases: [number, Source, boolean | undefined][] = [
      [d, 1, undefined],
      [(1 - d) * q, 0, true],
      [(1 - d) * (1 - q), 0, false],
    ]
    return cases.reduce((sum, [chance, source, right]) => {
      const earned = (verdict: Verdict) =>
        discriminatorReward({ verdict, source, right, yes: p }, weights).reward
      const policyGradient = p * earned(1) * (1 - p) + (1 - p) * earned(0) * -p
      const beside = form === 'bce' ? verdictLossWeight(source, p) : 0
      return sum + chance * (policyGradient + beside)
    }, 0)
  }

  /** Where the slope changes its sign; 0 or 1 where it never does, NaN where it is flat. */
  function optimum(d: number, q: number, form: DiscriminationForm): number {
    let [low, high] = [1e-6, 1 - 1e-6]
    if (Math.abs(slope(0.5, d, q, form)) < 1e-12 && Math.abs(slope(0.3, d, q, form)) < 1e-12)
      return Number.NaN
    if (slope(low, d, q, form) < 0) return 0
    if (slope(high, d, q, form) > 0) return 1
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2
      if (slope(middle, d, q, form) > 0) low = middle
      else high = middle
    }
    return (low + high) / 2
  }

  const table: Record<string, number[]> = {
    0.1: [0.07, 0.1, 0.16],
    0.3: [0.24, 0.3, 0.38],
    0.5: [0.44, 0.5, 0.56],
    0.7: [0.67, 0.7, 0.73],
  }

  it.each(['ipw', 'bce'] as const)('%s: near d, moved by the answer', (form) => {
    for (const d of ds) {
      const row = qs.map((q) => Number(optimum(d, q, form).toFixed(2)))
      expect([d, row]).toEqual([d, table[d]])
    }
  })

  it('hard: certain, whatever d is', () => {
    const row = (d: number) => qs.map((q) => optimum(d, q, 'hard'))
    expect(row(0.1)).toEqual([0, 0, 0])
    expect(row(0.3)).toEqual([0, 0, 0])
    expect(row(0.5)).toEqual([0, Number.NaN, 1])
    expect(row(0.7)).toEqual([1, 1, 1])
  })

  it('so a discriminator that tells sources apart says NO to all that is generated', () => {
    for (const q of qs) expect(optimum(0.05, q, 'hard')).toBe(0)
    expect(alignmentReward(0, true)).toBe(0)
  })
})
