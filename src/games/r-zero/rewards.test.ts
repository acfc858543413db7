import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { challengerReward, isInBand, majorityShare, repetitionPenalty, uncertaintyReward } from './rewards.js'

const share = fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000)
const paper = { uncertainty: 'tent', reward_floor: true, malformed_reward: -1 } as const
const code = { uncertainty: 'minority', reward_floor: false, malformed_reward: -1 } as const

describe('uncertaintyReward', () => {
  it('is the tent of the paper and the minority share of the code', () => {
    const tenths = Array.from({ length: 11 }, (_, i) => i / 10)
    const tent = [0, 0.2, 0.4, 0.6, 0.8, 1, 0.8, 0.6, 0.4, 0.2, 0]
    tenths.forEach((s, i) => {
      expect(uncertaintyReward(s, 'tent')).toBeCloseTo(tent[i]!, 12)
      expect(uncertaintyReward(s, 'minority')).toBeCloseTo(tent[i]! / 2, 12)
    })
  })

  it('is the same form up to scale, symmetric about a half and falling away from it', () => {
    fc.assert(
      fc.property(share, share, (s, t) => {
        expect(uncertaintyReward(s, 'tent')).toBeCloseTo(1 - 2 * Math.abs(s - 0.5), 12)
        expect(uncertaintyReward(s, 'tent')).toBeCloseTo(2 * uncertaintyReward(s, 'minority'), 12)
        expect(uncertaintyReward(s, 'tent')).toBeCloseTo(uncertaintyReward(1 - s, 'tent'), 12)
        const [near, far] = Math.abs(s - 0.5) < Math.abs(t - 0.5) ? [s, t] : [t, s]
        const gain = uncertaintyReward(near, 'tent') - uncertaintyReward(far, 'tent')
        expect(gain).toBeGreaterThanOrEqual(-1e-12)
      }),
    )
  })
})

describe('challengerReward', () => {
  it('takes off the share of the batch that is alike', () => {
    expect(repetitionPenalty(8, 32)).toBe(0.25)
    expect(challengerReward({ share: 0.5, cluster: 8 }, 32, paper)).toBe(0.75)
    expect(challengerReward({ share: 0.5, cluster: 8 }, 32, code)).toBe(0.25)
    expect(challengerReward({ share: 0.6, cluster: 1 }, 32, code)).toBeCloseTo(0.4 - 1 / 32, 12)
  })

  it('is at least 0 for a question in the paper, and below it in the code', () => {
    expect(challengerReward({ share: 1, cluster: 32 }, 32, paper)).toBe(0)
    expect(challengerReward({ share: 1, cluster: 32 }, 32, code)).toBe(-1)
  })

  it('is -1 and no more for what is malformed', () => {
    expect(challengerReward(null, 32, paper)).toBe(-1)
    expect(challengerReward(null, 32, code)).toBe(-1)
  })

  it('lies in its range and falls with repetition', () => {
    fc.assert(
      fc.property(share, fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 32 }), (s, a, b) => {
        for (const settings of [paper, code]) {
          const [few, many] = [Math.min(a, b), Math.max(a, b)].map((cluster) =>
            challengerReward({ share: s, cluster }, 32, settings),
          )
          expect(few).toBeGreaterThanOrEqual(many!)
          expect(many).toBeGreaterThanOrEqual(-1)
          expect(few).toBeLessThanOrEqual(1 - 1 / 32)
        }
      }),
    )
  })

  it('pays a batch of one repeated question nothing, however uncertain', () => {
    expect(challengerReward({ share: 0.5, cluster: 32 }, 32, paper)).toBe(0)
  })
})

describe('majorityShare', () => {
  it('counts those that do not answer, or leaves them out', () => {
    expect(majorityShare({ count: 4, votes: 8 }, 10, 'samples')).toBe(0.4)
    expect(majorityShare({ count: 4, votes: 8 }, 10, 'votes')).toBe(0.5)
    expect(majorityShare({ count: 0, votes: 0 }, 10, 'votes')).toBe(0)
    expect(majorityShare({ count: 0, votes: 0 }, 0, 'samples')).toBe(0)
  })
})

describe('isInBand', () => {
  it('includes both ends', () => {
    const tenths = Array.from({ length: 11 }, (_, i) => i / 10)
    const kept = (low: number, high: number) =>
      tenths.filter((s) => isInBand(s, { share_low: low, share_high: high }))
    expect(kept(0.3, 0.8)).toEqual([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    expect(kept(0.25, 0.75)).toEqual([0.3, 0.4, 0.5, 0.6, 0.7])
    expect(isInBand(Number.NaN, { share_low: 0, share_high: 1 })).toBe(false)
  })
})
