import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RawLogprobs, Rollout } from '../../core/rollout.js'
import { policyData, tokenWeights } from './data.js'

function rollout(length: number): Rollout {
  return {
    request: 0,
    index: 0,
    tokens: Int32Array.from({ length }, (_, i) => 10 + i),
    logprobs: Float32Array.from({ length }, (_, i) => -1 - i) as RawLogprobs,
    stop: 'eos',
    text: '',
    version: 0,
  }
}

const prompt = Int32Array.of(1, 2, 3)
const options = { normaliser: 'constant_length', length: 100, oldLogprobs: 'sampler' } as const

describe('tokenWeights', () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 })
  const total = (weights: number[], lengths: number[]) =>
    weights.reduce((sum, weight, i) => sum + weight * lengths[i]!, 0)

  it('makes means of token_mean and sequence_mean', () => {
    fc.assert(
      fc.property(lengths, (lengths) => {
        expect(total(tokenWeights(lengths, 'token_mean', 100), lengths)).toBeCloseTo(1, 9)
        const weights = tokenWeights(lengths, 'sequence_mean', 100)
        weights.forEach((weight, i) => {
          expect(weight * lengths[i]!).toBeCloseTo(1 / lengths.length, 9)
        })
      }),
    )
  })

  it('is 1 / (B L_max) for every token of constant_length', () => {
    expect(tokenWeights([1, 7, 3], 'constant_length', 100)).toEqual([1 / 300, 1 / 300, 1 / 300])
  })
})

describe('policyData', () => {
  it('puts advantage x weight and log-probabilities on the completion only', () => {
    const [row] = policyData([{ prompt, rollout: rollout(2), advantage: -2 }], options)
    const { datum } = row!
    expect([...datum.tokens]).toEqual([1, 2, 3, 10])
    expect([...datum.targets]).toEqual([2, 3, 10, 11])
    expect([...datum.advantages!]).toEqual([0, 0, Math.fround(-0.02), Math.fround(-0.02)])
    expect([...datum.logprobs!]).toEqual([0, 0, -1, -2])
    expect(datum.weights).toBeUndefined()
  })

  it('leaves out what has no advantage, but counts it in B', () => {
    const samples = [1, 0, -1].map((advantage) => ({ prompt, rollout: rollout(1), advantage }))
    const rows = policyData(samples, options)
    expect(rows.map((row) => row.advantage)).toEqual([1, -1])
    expect(rows[0]!.datum.advantages![2]).toBe(Math.fround(1 / 300))
  })

  it('keeps every sample, and its weights, for a KL term', () => {
    const samples = [1, 0].map((advantage) => ({ prompt, rollout: rollout(1), advantage }))
    const rows = policyData(samples, { ...options, kl: true })
    expect(rows.map((row) => row.datum.weights![2])).toEqual([Math.fround(1 / 200), Math.fround(1 / 200)])
  })

  it('takes no old log-probabilities from the sampler for the on-policy form', () => {
    const rows = policyData([{ prompt, rollout: rollout(2), advantage: 1 }], {
      ...options,
      oldLogprobs: 'current',
    })
    expect(rows[0]!.datum.logprobs).toBeUndefined()
  })

  it('leaves out empty completions', () => {
    expect(policyData([{ prompt, rollout: rollout(0), advantage: 1 }], options)).toEqual([])
  })
})
