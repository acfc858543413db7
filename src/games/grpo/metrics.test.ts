import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RawLogprobs, Rollout, StopReason } from '../../core/rollout.js'
import {
  entropyMetrics,
  quantile,
  repetitionRate,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
} from './metrics.js'

function rollout(length: number, stop: StopReason, entropy?: number): Rollout {
  return {
    request: 0,
    index: 0,
    tokens: Int32Array.from({ length }, (_, i) => i),
    logprobs: new Float32Array(length).fill(-2) as RawLogprobs,
    ...(entropy !== undefined && { entropies: new Float32Array(length).fill(entropy) }),
    stop,
    text: '',
    version: 0,
  }
}

describe('rewardMetrics', () => {
  it('sorts groups into good, bad and mixed', () => {
    const metrics = rewardMetrics([[1, 1], [0, 0], [1, 0], [0.3, 0.9], []])
    expect(metrics['group/all_good']).toBe(0.5)
    expect(metrics['group/all_bad']).toBe(0.25)
    expect(metrics['group/mixed']).toBe(0.25)
    expect(metrics['group/zero_std_frac']).toBe(0.5)
    expect(metrics['reward/mean']).toBeCloseTo(4.2 / 8, 12)
  })

  it('says nothing of nothing', () => {
    expect(rewardMetrics([[], []])).toEqual({})
    expect(rolloutMetrics([])).toEqual({})
    expect(stepMetrics([])).toEqual({ 'optim/steps': 0 })
  })
})

describe('quantile', () => {
  it('lies between the smallest and the largest value and meets both', () => {
    const values = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
        expect(quantile(values, q)).toBeGreaterThanOrEqual(Math.min(...values) - 1e-12)
        expect(quantile(values, q)).toBeLessThanOrEqual(Math.max(...values) + 1e-12)
        expect(quantile(values, 0)).toBeCloseTo(Math.min(...values), 12)
        expect(quantile(values, 1)).toBeCloseTo(Math.max(...values), 12)
      }),
    )
  })

  it('is linear between neighbours', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5)
  })
})

describe('rolloutMetrics', () => {
  it('keeps truncated completions out of the finished mean', () => {
    const metrics = rolloutMetrics([rollout(10, 'length'), rollout(4, 'eos'), rollout(6, 'stop')])
    expect(metrics['len/truncated_frac']).toBeCloseTo(1 / 3, 12)
    expect(metrics['len/terminated_mean']).toBe(5)
    expect(metrics['policy/entropy_estimate']).toBe(2)
    expect(metrics).not.toHaveProperty('policy/entropy')
  })

  it('tells decided tokens from open ones', () => {
    const metrics = entropyMetrics([rollout(3, 'eos', 0), rollout(1, 'eos', 0.5)])
    expect(metrics).toEqual({
      'policy/entropy': 0.125,
      'policy/zero_entropy_frac': 0.75,
      'policy/entropy_nonzero': 0.5,
    })
  })
})

describe('repetitionRate', () => {
  it('is 0 without repeats and in completions shorter than n', () => {
    expect(repetitionRate([1, 2, 3, 4], 2)).toBe(0)
    expect(repetitionRate([1, 1, 1], 8)).toBe(0)
    expect(repetitionRate([])).toBe(0)
  })

  it('nears 1 in an endless loop', () => {
    expect(repetitionRate(Array(1000).fill(7))).toBeCloseTo(1 - 1 / 993, 12)
  })
})
