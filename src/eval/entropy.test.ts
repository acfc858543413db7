import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boxGrader, scriptedPolicy } from '../../test/support/scripted.js'
import type { FrozenPolicy, SampleParams } from '../engine/engine.js'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import { answerEntropy, type EntropyRecord, entropySpread, entropySpreads, spreadOf } from './entropy.js'
import { probeEntropy } from './entropy-probe.js'
import { answerJudge } from './judge.js'
import { protocolOf } from './protocols.js'

describe('answerEntropy', () => {
  it('is the mean over tokens, over open tokens, and the share of decided ones', () => {
    expect(answerEntropy([0, 0.5, 0, 1.5])).toEqual({ mean: 0.5, nonzero: 1, zeroShare: 0.5 })
    expect(answerEntropy([1e-3, 2e-3, 0.998], 1e-3)).toEqual({
      mean: expect.closeTo(1.001 / 3, 12),
      nonzero: 0.5,
      zeroShare: expect.closeTo(1 / 3, 12),
    })
  })

  it('has no mean over open tokens where none is open', () => {
    expect(answerEntropy([0, 0])).toEqual({ mean: 0, nonzero: null, zeroShare: 1 })
  })

  it('keeps mean = (1 - zero share) x mean over open tokens, as the figures of the paper do', () => {
    const entropies = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 5, noNaN: true })), {
      minLength: 1,
    })
    fc.assert(
      fc.property(entropies, (values) => {
        const { mean, nonzero, zeroShare } = answerEntropy(values)
        expect((1 - zeroShare) * (nonzero ?? 0)).toBeCloseTo(mean, 9)
      }),
    )
  })
})

describe('spreadOf', () => {
  it('gives quantiles that are linear between neighbours', () => {
    const values = Array.from({ length: 21 }, (_, i) => i)
    expect(spreadOf(values)).toEqual({ n: 21, mean: 10, median: 10, q1: 5, q3: 15, p5: 1, p95: 19 })
    expect(spreadOf([3, 1])).toMatchObject({ n: 2, mean: 2, median: 2, q1: 1.5, q3: 2.5 })
    expect(spreadOf([])).toBeNull()
  })
})

/** Says its script with the entropies 0, 0.5, 1 ..., of the raw distribution 1 more each. */
function openPolicy(asked: SampleParams[] = []): FrozenPolicy {
  const policy = scriptedPolicy((prompt) => (prompt.includes('two') ? '\\boxed{2}' : '\\boxed{7}'))
  const { sample } = policy
  policy.sample = async function* (requests, params) {
    asked.push(params)
    for await (const rollout of sample(requests, params)) {
      const samplingEntropies = Float32Array.from(rollout.tokens, (_, t) => t / 2)
      yield { ...rollout, samplingEntropies, entropies: samplingEntropies.map((value) => value + 1) }
    }
  }
  return policy
}

const problems: BenchmarkProblem[] = ['two', 'three'].map((problem, i) => ({
  id: `p${i}`,
  kind: 'maths',
  problem,
  answer: `${i + 2}`,
}))
const prompt = (problem: string) => ({ messages: [{ role: 'user' as const, content: problem }] })
const protocol = protocolOf('game', prompt, { samples: 2, temperature: 0.6, topP: 0.95 })
const judge = answerJudge(boxGrader())

describe('probeEntropy', () => {
  it('takes the entropies of every answer and judges it, in order', async () => {
    const asked: SampleParams[] = []
    const records = await probeEntropy(openPolicy(asked), problems, { protocol, judge })
    expect(asked).toMatchObject([{ temperature: 0.6, topP: 0.95, samplingEntropy: true }])
    expect(records.map(({ problem, sample, right }) => [problem, sample, right])).toEqual([
      ['p0', 0, true],
      ['p0', 1, true],
      ['p1', 0, false],
      ['p1', 1, false],
    ])
    // "\boxed{2}" and its end are ten tokens.
    expect(records[0]).toMatchObject({
      tokens: 10,
      truncated: false,
      sampling: { mean: 2.25, nonzero: 2.5, zeroShare: 0.1 },
      raw: { mean: 3.25, nonzero: 3.25, zeroShare: 0 },
    })
  })

  it('says where an engine knows no entropies', async () => {
    const plain = scriptedPolicy(() => '\\boxed{2}')
    await expect(probeEntropy(plain, problems, { protocol, judge })).rejects.toMatchObject({ code: 'engine' })
  })
})

describe('entropySpread', () => {
  const record = (right: boolean, mean: number, nonzero: number | null): EntropyRecord => {
    const entropy = { mean, nonzero, zeroShare: 0.5 }
    return { problem: '', sample: 0, right, tokens: 1, truncated: false, sampling: entropy, raw: entropy }
  }
  const records = [record(true, 1, 2), record(true, 3, null), record(false, 8, 9)]

  it('splits by right and wrong, and leaves out answers without an open token', () => {
    const of = (split: 'all' | 'right' | 'wrong', measure: 'mean' | 'nonzero') =>
      entropySpread(records, 'sampling', split, measure)
    expect([of('all', 'mean')?.n, of('right', 'mean')?.mean, of('wrong', 'mean')?.mean]).toEqual([3, 2, 8])
    expect(of('right', 'nonzero')).toMatchObject({ n: 1, mean: 2 })
    expect(entropySpread(records.slice(0, 2), 'raw', 'wrong', 'mean')).toBeNull()
  })

  it('is told of both distributions, every split and every measure', () => {
    const all = entropySpreads(records.slice(0, 2))
    expect(all).toHaveLength(18)
    expect(all).toContainEqual({ distribution: 'raw', split: 'wrong', measure: 'mean', n: 0 })
  })
})
