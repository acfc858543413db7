import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvariantError } from '../../core/errors.js'
import { groupAdvantages, mean, std } from './advantages.js'

const scaled = { scaleRewards: true }
const rewardGroup = fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 1, maxLength: 16 })

describe('groupAdvantages', () => {
  it('divides by the unbiased deviation plus 1e-4', () => {
    const deviation = Math.sqrt(3 / 10)
    const advantages = groupAdvantages([1, 1, 1, 0, 0, 0], scaled)
    expect(advantages[0]).toBeCloseTo(0.5 / (deviation + 1e-4), 12)
    expect(advantages[5]).toBeCloseTo(-0.5 / (deviation + 1e-4), 12)
  })

  it('divides by the biased deviation when asked', () => {
    expect(groupAdvantages([1, 0], { ...scaled, unbiased: false })[0]).toBeCloseTo(0.5 / (0.5 + 1e-4), 12)
  })

  it('only subtracts the mean without scaling', () => {
    expect(groupAdvantages([1, 0, 0, 0], { scaleRewards: false })).toEqual([0.75, -0.25, -0.25, -0.25])
  })

  it('gives exact zeros to equal rewards, whatever their sum rounds to', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -3, max: 3, noNaN: true }),
        fc.integer({ min: 1, max: 16 }),
        (reward, n) => {
          const advantages = groupAdvantages(Array(n).fill(reward), scaled)
          expect(advantages).toEqual(Array(n).fill(0))
        },
      ),
    )
  })

  it('is centred and keeps the order of the rewards', () => {
    fc.assert(
      fc.property(rewardGroup, fc.boolean(), (rewards, scaleRewards) => {
        const advantages = groupAdvantages(rewards, { scaleRewards })
        expect(Math.abs(mean(advantages))).toBeLessThan(1e-9)
        for (const [i, a] of rewards.entries()) {
          for (const [j, b] of rewards.entries())
            if (a > b) expect(advantages[i]).toBeGreaterThanOrEqual(advantages[j]!)
        }
      }),
    )
  })

  it('refuses a reward that is no number', () => {
    expect(() => groupAdvantages([1, Number.NaN], scaled)).toThrow(InvariantError)
    expect(groupAdvantages([], scaled)).toEqual([])
  })
})

describe('std', () => {
  it('is that of torch.std, and 0 of one value', () => {
    expect(std([1, 2, 3, 4])).toBeCloseTo(1.2909944487358056, 12)
    expect(std([5])).toBe(0)
  })
})
