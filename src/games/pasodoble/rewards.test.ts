import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  difficultyReward,
  diversityReward,
  hackingCheck,
  isDiverse,
  isValidForSolver,
  passRate,
  proposerReward,
} from './rewards.js'

const settings = { tau_low: 0.2, tau_div: 0.3, w: 0.2, diversity_gate: 'at_least', diversity: true } as const
const bounds = { tau_low: 0.2, tau_high: 1 }
const sixths = [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1]
const share = fc.double({ min: 0, max: 1, noNaN: true })

describe('passRate', () => {
  it('is the mean of the rewards, and 0 without answers', () => {
    expect(passRate([1, 0, 0, 1, 1, 0])).toBe(0.5)
    expect(passRate([])).toBe(0)
  })
})

describe('difficultyReward', () => {
  it('has the values of the paper', () => {
    expect(difficultyReward(0.5, 0.2)).toBeCloseTo(0.6, 12)
    expect(difficultyReward(0, 0.2)).toBe(0)
    expect(difficultyReward(1, 0.2)).toBeCloseTo(0.1, 12)
  })

  it('is 0 at tau_low itself and up to it', () => {
    expect(difficultyReward(0.2, 0.2)).toBe(0)
    expect(difficultyReward(1 / 6, 0.2)).toBe(0)
    expect(difficultyReward(Number.NaN, 0.2)).toBe(0)
  })

  it('falls with the pass rate above tau_low', () => {
    fc.assert(
      fc.property(share, share, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)]
        if (low > 0.2) expect(difficultyReward(low, 0.2)).toBeGreaterThanOrEqual(difficultyReward(high, 0.2))
      }),
    )
  })
})

describe('diversityReward', () => {
  it('is the share of the history that is not repeated', () => {
    expect(diversityReward(0, 0)).toBe(1)
    expect(diversityReward(0, 100)).toBe(1)
    expect(diversityReward(100, 100)).toBe(0)
    expect(diversityReward(70, 100)).toBe(0.3)
  })
})

describe('proposerReward', () => {
  it('is at most what the method page lists for six answers', () => {
    const rewards = sixths.map((p) => proposerReward(p, 1, settings))
    const listed = [0, 0, 0.9667, 0.8, 0.6333, 0.4667, 0.3]
    rewards.forEach((reward, i) => {
      expect(reward).toBeCloseTo(listed[i]!, 4)
    })
  })

  it('gates on diversity, at exactly tau_div as the preset says', () => {
    expect(proposerReward(0.5, 0.29, settings)).toBe(0)
    expect(proposerReward(0.5, 0.3, settings)).toBeCloseTo(0.66, 12)
    expect(proposerReward(0.5, 0.3, { ...settings, diversity_gate: 'above' })).toBe(0)
    expect(proposerReward(0.5, Number.NaN, settings)).toBe(0)
  })

  it('has neither bonus nor gate without diversity', () => {
    expect(proposerReward(0.5, 0, { ...settings, diversity: false })).toBeCloseTo(0.6, 12)
    expect(isDiverse(0, { ...settings, diversity: false })).toBe(true)
  })

  it('is positive exactly for valid questions and never above 1.1 - tau_low + w', () => {
    fc.assert(
      fc.property(share, share, (p, diversity) => {
        const reward = proposerReward(p, diversity, settings)
        expect(reward > 0).toBe(p > 0.2 && diversity >= 0.3)
        expect(reward).toBeLessThan(1.1 - 0.2 + 0.2)
      }),
    )
  })
})

describe('isValidForSolver', () => {
  it('keeps 2/6 to 5/6', () => {
    expect(sixths.map((p) => isValidForSolver(p, bounds))).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
      false,
    ])
    expect(isValidForSolver(0.2, bounds)).toBe(false)
    expect(isValidForSolver(Number.NaN, bounds)).toBe(false)
  })
})

describe('hackingCheck', () => {
  const strict = {
    reject_question_in_answer: true,
    reject_box_in_question: true,
    reject_answer_in_question: true,
    leak_min_length: 1,
  }
  const lenient = { ...strict, leak_min_length: 3 }

  it('names the first flaw', () => {
    expect(hackingCheck('', '5', strict)).toBe('no_question')
    expect(hackingCheck('What is 2+3?', '', strict)).toBe('no_answer')
    expect(hackingCheck('5', '5', strict)).toBe('question_in_answer')
    expect(hackingCheck('Is it \\boxed{5}?', '6', strict)).toBe('box_in_question')
    expect(hackingCheck('Show that 12+3 is 15.', '15', strict)).toBe('answer_in_question')
    expect(hackingCheck('What is 2+3?', '5', strict)).toBeNull()
  })

  it('lets short answers stand in the question unless told otherwise', () => {
    expect(hackingCheck('P2 has degree 2: how many roots?', '2', lenient)).toBeNull()
    expect(hackingCheck('P2 has degree 2: how many roots?', '2', strict)).toBe('answer_in_question')
    expect(hackingCheck('Show that it is 120.', '120', lenient)).toBe('answer_in_question')
  })

  it('has a switch for each rule', () => {
    expect(hackingCheck('5', '5', { ...strict, reject_question_in_answer: false })).toBe('answer_in_question')
    expect(hackingCheck('Is it \\boxed{5}?', '6', { ...strict, reject_box_in_question: false })).toBeNull()
    expect(hackingCheck('It is 15.', '15', { ...strict, reject_answer_in_question: false })).toBeNull()
  })
})
