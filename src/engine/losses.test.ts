import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Datum } from '../core/datum.js'
import { InvariantError } from '../core/errors.js'
import type { Loss } from './engine.js'
import { emptySums, positionLoss, trainedPositions } from './losses.js'

/** A datum of one position. */
function datum(
  values: Partial<Record<'weights' | 'advantages' | 'logprobs' | 'referenceLogprobs', number>>,
): Datum {
  const arrays = Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)])
  return { tokens: Int32Array.of(0), targets: Int32Array.of(0), ...Object.fromEntries(arrays) }
}

function lossAt(one: Datum, logprob: number, loss: Loss) {
  const sums = emptySums()
  const slope = positionLoss(one, 0, logprob, loss, sums)
  return { slope, ...sums }
}

const logprob = fc.double({ min: -6, max: -0.01, noNaN: true })
const gap = fc.double({ min: -1, max: 1, noNaN: true })
const weight = fc.double({ min: -2, max: 2, noNaN: true })
const kl = fc.constantFrom(undefined, 0, 0.3)
const point = fc.record({ logprob, gap, reference: gap, advantage: weight, weight, kl })

const policyLoss = (klCoefficient: number | undefined) => ({
  temperature: 1,
  ...(klCoefficient !== undefined && { klCoefficient }),
})
const ppo = (klCoefficient?: number): Loss => ({
  name: 'ppo',
  clipLow: 0.8,
  clipHigh: 1.3,
  ...policyLoss(klCoefficient),
})
const importance = (klCoefficient?: number): Loss => ({
  name: 'importance_sampling',
  ...policyLoss(klCoefficient),
})

describe('positionLoss', () => {
  it.each<[string, (kl?: number) => Loss]>([
    ['cross_entropy', () => ({ name: 'cross_entropy' })],
    ['importance_sampling', importance],
    ['ppo', ppo],
  ])('%s: the derivative is that of the loss', (_, make) => {
    fc.assert(
      fc.property(point, ({ logprob, gap, reference, advantage, weight, kl }) => {
        const loss = make(kl)
        const values = { advantages: advantage, weights: weight }
        const one = datum({ ...values, logprobs: logprob - gap, referenceLogprobs: logprob + reference })
        const ratio = Math.exp(logprob - one.logprobs![0]!)
        fc.pre([0.8, 1.3].every((bound) => Math.abs(ratio - bound) > 1e-3))
        const step = 1e-5
        const above = lossAt(one, logprob + step, loss).loss
        const below = lossAt(one, logprob - step, loss).loss
        expect(lossAt(one, logprob, loss).slope).toBeCloseTo((above - below) / (2 * step), 7)
      }),
      { seed: 1, numRuns: 300 },
    )
  })

  it('cross_entropy is the weighted surprise', () => {
    expect(lossAt(datum({ weights: 2 }), -1.5, { name: 'cross_entropy' })).toMatchObject({
      slope: -2,
      loss: 3,
      tokens: 1,
    })
  })

  it('importance_sampling weights the advantage by the ratio, unbounded', () => {
    const { slope, loss, ratioMax } = lossAt(datum({ advantages: -3, logprobs: -4 }), -1, importance())
    expect(loss).toBeCloseTo(3 * Math.exp(3), 9)
    expect(slope).toBe(loss)
    expect(ratioMax).toBeCloseTo(Math.exp(3), 9)
  })

  it.each([
    { advantage: 2, ratio: 1.5, slope: 0, loss: -2.6, low: 0, high: 1 },
    { advantage: 2, ratio: 1.1, slope: -2.2, loss: -2.2, low: 0, high: 0 },
    { advantage: 2, ratio: 0.5, slope: -1, loss: -1, low: 0, high: 0 },
    { advantage: -2, ratio: 1.5, slope: 3, loss: 3, low: 0, high: 0 },
    { advantage: -2, ratio: 0.9, slope: 1.8, loss: 1.8, low: 0, high: 0 },
    { advantage: -2, ratio: 0.5, slope: 0, loss: 1.6, low: 1, high: 0 },
  ])('ppo with advantage $advantage at ratio $ratio', ({ advantage, ratio, slope, loss, low, high }) => {
    const actual = lossAt(datum({ advantages: advantage, logprobs: -2 }), -2 + Math.log(ratio), ppo())
    expect(actual.slope).toBeCloseTo(slope, 9)
    expect(actual.loss).toBeCloseTo(loss, 9)
    expect([actual.clippedLow, actual.clippedHigh]).toEqual([low, high])
  })

  it('has a KL term that is 0 at the reference and grows on both sides, by the size of the weight', () => {
    const at = (gap: number, weights: number) =>
      lossAt(
        datum({ advantages: 0, logprobs: -1, weights, referenceLogprobs: -1 + gap }),
        -1,
        importance(0.5),
      )
    expect(at(0, 2)).toMatchObject({ loss: 0 })
    expect(at(0, 2).slope).toBeCloseTo(0, 12)
    expect(at(0.5, 2).loss).toBeCloseTo(Math.exp(0.5) - 1.5, 9)
    expect(at(-0.5, -2).loss).toBeCloseTo(Math.exp(-0.5) - 0.5, 9)
    expect(at(-0.5, -2).slope).toBeGreaterThan(0)
    expect(at(0.5, -2).slope).toBeLessThan(0)
  })

  it.each([
    ['importance_sampling', importance()],
    ['ppo', ppo()],
  ])(
    '%s without log-probabilities of the sampler is on-policy: ratio 1, slope minus the advantage',
    (_, loss) => {
      fc.assert(
        fc.property(logprob, weight, (logprob, advantage) => {
          const one = datum({ advantages: advantage })
          const actual = lossAt(one, logprob, loss)
          expect(actual.slope).toBe(-one.advantages![0]!)
          expect(actual.loss).toBe(0 - one.advantages![0]!)
          expect([actual.ratioMax, actual.klSampler, actual.clippedLow, actual.clippedHigh]).toEqual([
            1, 0, 0, 0,
          ])
        }),
        { seed: 1, numRuns: 20 },
      )
    },
  )

  it('adds up over positions', () => {
    const batch: Datum = {
      tokens: new Int32Array(3),
      targets: new Int32Array(3),
      advantages: Float32Array.of(1, -1, 2),
      logprobs: Float32Array.of(-1, -2, -3),
    }
    const sums = emptySums()
    for (const [t, ratio] of [1.5, 0.5, 1].entries())
      positionLoss(batch, t, batch.logprobs![t]! + Math.log(ratio), ppo(), sums)
    expect(sums).toMatchObject({ tokens: 3, clippedLow: 1, clippedHigh: 1 })
    expect(sums.loss).toBeCloseTo(-1.3 + 0.8 - 2, 9)
    expect(sums.ratioSum).toBeCloseTo(3, 9)
    expect(sums.ratioMax).toBeCloseTo(1.5, 9)
    expect(sums.klSampler).toBeCloseTo(-Math.log(0.75), 9)
  })
})

describe('trainedPositions', () => {
  const base = { tokens: new Int32Array(4), targets: new Int32Array(4) }
  const weights = Float32Array.of(0, 1, 0, -1)
  const advantages = Float32Array.of(0.5, 0, 0, 0)
  const referenceLogprobs = new Float32Array(4)

  it('are those with a weight or an advantage; for a KL term those with either', () => {
    expect(trainedPositions({ ...base, weights }, { name: 'cross_entropy' })).toEqual([1, 3])
    expect(trainedPositions({ ...base, advantages }, ppo())).toEqual([0])
    expect(trainedPositions({ ...base, advantages, weights }, ppo(0))).toEqual([0])
    const penalised = { ...base, advantages, weights, referenceLogprobs }
    expect(trainedPositions(penalised, importance(0.1))).toEqual([0, 1, 3])
    expect(trainedPositions({ ...base, weights: new Float32Array(4) }, { name: 'cross_entropy' })).toEqual([])
  })

  it.each<[string, Datum, Loss]>([
    ['no weights', base, { name: 'cross_entropy' }],
    ['3 weights', { ...base, weights: new Float32Array(3) }, { name: 'cross_entropy' }],
    ['no advantages', { ...base, weights }, ppo()],
    ['5 logprobs', { ...base, advantages, logprobs: new Float32Array(5) }, ppo()],
    ['no weights', { ...base, advantages, referenceLogprobs }, importance(0.1)],
    ['no referenceLogprobs', { ...base, advantages, weights }, importance(0.1)],
    ['2 targets', { ...base, weights, targets: new Int32Array(2) }, { name: 'cross_entropy' }],
  ])('refuses a datum with %s where the loss needs 4', (what, wrong, loss) => {
    expect(() => trainedPositions(wrong, loss)).toThrow(InvariantError)
    expect(() => trainedPositions(wrong, loss)).toThrow(what)
  })
})
