import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { config as schema } from './config.js'
import type { Critique } from './critique.js'
import {
  agreement,
  type CriticParts,
  classWeights,
  criticReward,
  evidence,
  isCoherent,
  ranking,
  solverReward,
} from './rewards.js'

const settings = schema.parse({})
const share = fc.double({ min: 0, max: 1, noNaN: true })
const said = (changes: Partial<Critique>): Critique => ({
  sound: [true, true, true],
  logic: 10,
  steps: 10,
  answer: 10,
  correct: true,
  firstError: null,
  feedback: 'none',
  ...changes,
})

describe('solverReward', () => {
  const reward = (right: boolean, critique: number, formatted = false) =>
    solverReward({ right, critique, formatted }, settings)

  it('has the values of the method: 1 to 1.5 when right, 0 to .25 when wrong, and .1 for the form', () => {
    expect([reward(true, 0), reward(true, 0.5), reward(true, 1)]).toEqual([1, 1.25, 1.5])
    expect([reward(false, 0), reward(false, 0.5), reward(false, 1)]).toEqual([0, 0.125, 0.25])
    expect(reward(true, 1, true)).toBeCloseTo(1.6, 12)
    expect(reward(false, 1, true)).toBeCloseTo(0.35, 12)
  })

  it('never pays a wrong solution as much as a right one, and rises with the score', () => {
    fc.assert(
      fc.property(share, share, fc.boolean(), fc.boolean(), (a, b, form, otherForm) => {
        expect(reward(false, a, form)).toBeLessThan(reward(true, b, otherForm))
        const [low, high] = [Math.min(a, b), Math.max(a, b)]
        for (const right of [true, false]) {
          expect(reward(right, low)).toBeLessThanOrEqual(reward(right, high))
        }
      }),
    )
  })

  it('is open to persuasion without the gate', () => {
    const open = { ...settings, gate_wrong: 1, critique_weight: 2 }
    expect(solverReward({ right: false, critique: 1, formatted: false }, open)).toBeGreaterThan(
      solverReward({ right: true, critique: 0, formatted: false }, open),
    )
  })
})

describe('classWeights', () => {
  it('is 1 and 1 for even classes, and by inverse roots otherwise', () => {
    expect(classWeights(0.5).right).toBeCloseTo(1, 12)
    const { right, wrong } = classWeights(0.9)
    expect(wrong / right).toBeCloseTo(Math.sqrt(0.9 / 0.1), 12)
    expect(right).toBeCloseTo(0.8333, 4)
    expect(wrong).toBeCloseTo(2.5, 4)
  })

  it('averages 1 over solutions, treats the classes alike and stays bounded', () => {
    fc.assert(
      fc.property(share, (p) => {
        const { right, wrong } = classWeights(p)
        const cut = Math.min(0.95, Math.max(0.05, p))
        expect(cut * right + (1 - cut) * wrong).toBeCloseTo(1, 9)
        expect(classWeights(1 - p).wrong).toBeCloseTo(right, 9)
        expect(Math.max(right, wrong)).toBeLessThan(3.75)
        expect(right >= wrong).toBe(p <= 0.5)
      }),
    )
  })
})

describe('isCoherent', () => {
  it('wants the verdict of the worst step, and its number', () => {
    expect(isCoherent(said({}))).toBe(true)
    expect(isCoherent(said({ correct: false }))).toBe(false)
    expect(isCoherent(said({ firstError: 1 }))).toBe(false)
    const flawed = { sound: [true, false, false], correct: false }
    expect(isCoherent(said({ ...flawed, firstError: 2 }))).toBe(true)
    expect(isCoherent(said({ ...flawed, firstError: 3 }))).toBe(false)
    expect(isCoherent(said({ ...flawed, firstError: null }))).toBe(false)
    expect(isCoherent(said({ ...flawed, firstError: 2, correct: true }))).toBe(false)
  })
})

describe('evidence', () => {
  it('is found at the planted step, and not in the twin', () => {
    expect(evidence(said({ firstError: 2, correct: false }), 2)).toBe(true)
    expect(evidence(said({ firstError: 1, correct: false }), 2)).toBe(false)
    expect(evidence(said({}), 2)).toBe(false)
    expect(evidence(said({}), null)).toBe(true)
    expect(evidence(said({ correct: false }), null)).toBe(false)
  })
})

describe('ranking', () => {
  const solution = (right: boolean, critique: number) => ({ right, critique })

  it('is the share of rivals on the right side; equal scores rank nothing', () => {
    const all = [solution(true, 0.8), solution(true, 0.3), solution(false, 0.3), solution(false, 0.5)]
    expect(all.map((own) => ranking(own, all))).toEqual([1, 0, 0.5, 0.5])
  })

  it('does not apply without rivals', () => {
    expect(ranking(solution(true, 1), [solution(true, 1), solution(true, 0)])).toBeUndefined()
  })

  it('is 0 throughout for a critic that scores all alike, and 1 for one that tells them apart', () => {
    const group = fc
      .array(fc.boolean(), { minLength: 2, maxLength: 8 })
      .filter((all) => new Set(all).size === 2)
    fc.assert(
      fc.property(group, share, (outcomes, score) => {
        const alike = outcomes.map((right) => solution(right, score))
        const apart = outcomes.map((right) => solution(right, right ? 0.9 : 0.1))
        for (const own of alike) expect(ranking(own, alike)).toBe(0)
        for (const own of apart) expect(ranking(own, apart)).toBe(1)
      }),
    )
  })
})

describe('agreement', () => {
  it('is the share of the others with the same verdict', () => {
    expect(agreement(said({}), [said({}), said({ correct: false }), null])).toBeCloseTo(1 / 3, 12)
    expect(agreement(said({}), [])).toBeUndefined()
  })
})

describe('criticReward', () => {
  const reward = (parts: CriticParts | null, fooled = false) => criticReward(parts, fooled, settings)

  it('is 1 a + 0.5 b + 0.5 r + 0.25 k on a solution with rivals', () => {
    expect(reward({ outcome: 1, coherence: 1, ranking: 1, agreement: 1 })).toBeCloseTo(2.25, 12)
    expect(reward({ outcome: 1, coherence: 0, ranking: 0.5, agreement: 0 })).toBeCloseTo(1.25, 12)
    expect(reward({ outcome: 0, coherence: 0, ranking: 0.5, agreement: 0 })).toBeCloseTo(0.25, 12)
    expect(reward({ outcome: 2.5, coherence: 1, ranking: 0, agreement: 1 })).toBeCloseTo(2.5 + 0.75, 12)
  })

  it('leaves out of the normaliser what does not apply: a perfect critique is worth 2.25 everywhere', () => {
    expect(reward({ evidence: 1, coherence: 1, agreement: 1 })).toBeCloseTo(2.25, 12)
    expect(reward({ outcome: 1, coherence: 1 })).toBeCloseTo(2.25, 12)
    expect(reward({ evidence: 1, coherence: 0 })).toBeCloseTo(1.125, 12)
    expect(reward({})).toBe(0)
  })

  it('takes 1 off where the critic was fooled, and gives -0.5 to what cannot be read', () => {
    expect(reward({ outcome: 0, coherence: 0, ranking: 0, agreement: 0 }, true)).toBe(-1)
    expect(reward(null)).toBe(-0.5)
    expect(reward(null, true)).toBe(-0.5)
  })

  it('rises with every part and stays in its range', () => {
    const parts = fc.record(
      { outcome: share, coherence: share, evidence: share, ranking: share, agreement: share },
      { requiredKeys: [] },
    )
    const names = ['outcome', 'coherence', 'evidence', 'ranking', 'agreement'] as const
    fc.assert(
      fc.property(parts, fc.constantFrom(...names), fc.boolean(), (given, name, fooled) => {
        const value = reward(given, fooled)
        expect(value).toBeGreaterThanOrEqual(-1)
        expect(value).toBeLessThanOrEqual(2.25 + 1e-9)
        if (given[name] !== undefined)
          expect(reward({ ...given, [name]: 1 }, fooled)).toBeGreaterThanOrEqual(value - 1e-9)
      }),
    )
  })
})
