import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { datum, dialects } from '../../test/support/tinker-client.js'
import { profiles as rules } from '../../test/tinker-server/dialects.js'
import { checkData, checkLoss, datumLoss } from '../../test/tinker-server/losses.js'
import type { Datum } from '../core/datum.js'
import type { Loss } from './client.js'
import { UserError } from './errors.js'
import { counts, prepareLoss } from './loss.js'
import { profiles } from './profile.js'

const arbValue = fc.float({ min: -4, max: 4, noNaN: true })
const arbLogprob = fc.float({ min: -6, max: Math.fround(-0.01), noNaN: true })
const arbSparse = fc.oneof(fc.constant(0), arbValue)

const arbSequence = fc.integer({ min: 1, max: 7 }).chain((length) => {
  const array = (values: fc.Arbitrary<number>) =>
    fc.array(values, { minLength: length, maxLength: length }).map((items) => Float32Array.from(items))
  const ids = fc
    .array(fc.nat(99), { minLength: length, maxLength: length })
    .map((items) => Int32Array.from(items))
  return fc.record({
    tokens: ids,
    targets: ids,
    weights: array(arbSparse),
    advantages: array(arbSparse),
    logprobs: array(arbLogprob),
    current: array(arbLogprob),
  })
})
/** A step's sequences, in one call or in several. */
const arbCalls = fc.array(fc.array(arbSequence, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 3,
})

const arbClip = fc.record({
  clipLow: fc.constantFrom(0.75, 0.5, 1),
  clipHigh: fc.constantFrom(1.25, 1.5, 1),
})
const arbLoss: fc.Arbitrary<Loss> = fc.oneof(
  fc.constant<Loss>({ name: 'cross_entropy' }),
  fc.constant<Loss>({ name: 'importance_sampling' }),
  arbClip.map((clip): Loss => ({ name: 'ppo', ...clip })),
  arbClip.map((clip): Loss => ({ name: 'cispo', ...clip })),
)

/** d/dp of the loss summed over tokens, by its formula. */
function slopeOf(loss: Loss, p: number, q: number, advantage: number, weight: number): number {
  if (loss.name === 'cross_entropy') return -weight
  const ratio = Math.exp(p - q)
  if (loss.name === 'importance_sampling') return -ratio * advantage
  const clipped = Math.min(Math.max(ratio, loss.clipLow), loss.clipHigh)
  if (loss.name === 'cispo') return -clipped * advantage
  return clipped !== ratio && clipped * advantage < ratio * advantage ? 0 : -ratio * advantage
}

const isOffered = (loss: Loss, dialect: (typeof dialects)[number]) =>
  profiles[dialect].losses.includes(loss.name) &&
  (dialect !== 'openrl' || !('clipLow' in loss) || 2 - loss.clipHigh === loss.clipLow)

describe('prepareLoss', () => {
  it.each(dialects)('has the same gradient on %s: that of the sum over tokens and sequences', (dialect) => {
    const rule = rules[dialect].losses
    fc.assert(
      fc.property(arbCalls, arbLoss, fc.boolean(), (calls, loss, fresh) => {
        fc.pre(isOffered(loss, dialect))
        // Without sampling log-probabilities they are the policy's own: every ratio is 1.
        const onPolicy = fresh && loss.name !== 'cross_entropy'
        const total = calls.flat().length
        for (const call of calls) {
          const data = call.map(
            ({ current: _, logprobs, ...rest }): Datum => (onPolicy ? rest : { ...rest, logprobs }),
          )
          const { lossFn, config, data: sent } = prepareLoss(data, loss, profiles[dialect], total)
          const batch = { data: sent, lossFn, config }
          checkLoss(rule, batch)
          checkData(rule, batch)
          call.forEach(({ current, logprobs, advantages, weights }, i) => {
            const { slopes } = datumLoss(rule, batch, sent[i]!, current)
            slopes.forEach((slope, t) => {
              const q = onPolicy ? current[t]! : logprobs[t]!
              const expected = slopeOf(loss, current[t]!, q, advantages[t]!, weights[t]!)
              const got = rule.reduction === 'sequence' ? slope / total : slope
              expect(Math.abs(got - expected)).toBeLessThanOrEqual(1e-4 * (1 + Math.abs(expected)))
            })
          })
        }
      }),
    )
  })

  it('always sends clip bounds', () => {
    for (const dialect of dialects) {
      const { config } = prepareLoss(
        [datum()],
        { name: 'ppo', clipLow: 0.8, clipHigh: 1.2 },
        profiles[dialect],
      )
      expect(Object.values(config).every(Number.isFinite)).toBe(true)
      expect(Object.keys(config)).toEqual(
        dialect === 'openrl' ? ['clip_range'] : ['clip_low_threshold', 'clip_high_threshold'],
      )
    }
  })

  it('passes over what stands at positions that do not count', () => {
    const logprobs = Float32Array.of(Number.NaN, Number.NEGATIVE_INFINITY, -0.4, -0.2)
    const { data } = prepareLoss([{ ...datum(), logprobs }], { name: 'importance_sampling' }, profiles.hosted)
    expect(data[0]!.inputs.logprobs!.data).toEqual(Float32Array.of(0, 0, -0.4, -0.2))
  })

  const refused = (data: Datum[], loss: Loss, dialect: (typeof dialects)[number] = 'hosted') => {
    try {
      prepareLoss(data, loss, profiles[dialect])
    } catch (error) {
      expect(error).toBeInstanceOf(UserError)
      return (error as Error).message
    }
    throw new Error('nothing was refused')
  }

  it('names what does not fit', () => {
    const { logprobs: _, ...onPolicy } = datum()
    const { advantages: __, ...noAdvantages } = datum()
    const sampling: Loss = { name: 'importance_sampling' }
    expect(refused([], sampling)).toBe('importance_sampling was given no data.')
    expect(refused([datum(), onPolicy], sampling)).toContain('some sequences have sampling log-probabilities')
    expect(refused([noAdvantages], sampling)).toContain('sequence 0 has no advantages')
    expect(refused([{ ...datum(), weights: Float32Array.of(1) }], { name: 'cross_entropy' })).toContain(
      '4 tokens and 1 weights',
    )
    expect(refused([{ ...datum(), advantages: Float32Array.of(0, 0, Number.NaN, 1) }], sampling)).toContain(
      'NaN among its advantages',
    )
    expect(refused([{ ...datum(), logprobs: Float32Array.of(0, 0, Number.NaN, 1) }], sampling)).toContain(
      'NaN among its logprobs',
    )
    expect(refused([datum()], { name: 'ppo', clipLow: 1.1, clipHigh: 1.2 })).toContain('do not enclose 1')
    expect(refused([datum()], { name: 'ppo', clipLow: 0.8, clipHigh: 1.3 }, 'openrl')).toContain(
      'equally far from 1',
    )
    expect(refused([datum()], { name: 'cispo', clipLow: 0.8, clipHigh: 1.2 }, 'openrl')).toContain(
      'not offered by openrl',
    )
  })

  it('counts the positions that a loss trains', () => {
    expect([0, 1, 2, 3].map((t) => counts(datum(), { name: 'cross_entropy' }, t))).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})
