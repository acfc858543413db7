import { describe, expect, it } from 'vitest'
import type { Datum } from '../../../src/core/datum.js'
import type { Loss, LossReport, Policy } from '../../../src/engine/engine.js'
import type { Subject } from '../conformance.js'
import { largestDifference } from '../sampling.js'
import { adam, examples, policyData, trained } from './inputs.js'

const crossEntropy: Loss = { name: 'cross_entropy' }
const importance = { name: 'importance_sampling', temperature: 1 } as const
const ppo = { name: 'ppo', temperature: 1, clipLow: 0.8, clipHigh: 1.2 } as const

/** The losses as the contract states them, from the log-probabilities of the targets. */
function lossOf(loss: Loss, data: Datum[], logprobs: Float32Array[]): number {
  let sum = 0
  for (const [i, datum] of data.entries()) {
    for (const [t, logp] of logprobs[i]!.entries()) {
      const [weight, advantage] = [datum.weights?.[t] ?? 0, datum.advantages?.[t] ?? 0]
      if (loss.name === 'cross_entropy') {
        sum -= weight === 0 ? 0 : weight * logp
        continue
      }
      if (advantage !== 0) {
        const ratio = Math.exp(logp - datum.logprobs![t]!)
        const clip = loss.name === 'ppo' ? Math.min(Math.max(ratio, loss.clipLow), loss.clipHigh) : ratio
        sum -= Math.min(ratio * advantage, clip * advantage)
      }
      if (loss.klCoefficient && weight !== 0) {
        const gap = datum.referenceLogprobs![t]! - logp
        sum += loss.klCoefficient * Math.abs(weight) * (Math.exp(gap) - gap - 1)
      }
    }
  }
  return sum
}

export function describeTraining(subject: Subject): void {
  const { tolerance } = subject
  const shared = () => examples(subject.policy().tokenizer)
  const step = (policy: Policy, data: Datum[], loss: Loss = crossEntropy, changes = {}) =>
    policy.forwardBackward(data, loss).then(() => policy.optimStep(adam(changes)))

  const likelihood = async (policy: Policy) =>
    -lossOf(crossEntropy, shared(), await policy.logprobs(shared()))

  const expectReport = (report: LossReport, loss: Loss, data: Datum[], logprobs: Float32Array[]) => {
    const weight = data.flatMap((d) => [...(d.weights ?? []), ...(d.advantages ?? [])].map(Math.abs))
    const slack = 3 * tolerance * weight.reduce((a, b) => a + b, 0)
    expect(Math.abs(report.loss - lossOf(loss, data, logprobs))).toBeLessThan(slack)
    expect(report.tokens).toBe(data.flatMap(trained).filter(Boolean).length)
    for (const [i, datum] of data.entries()) {
      const mask = trained(datum)
      const kept = (values: Float32Array) => values.filter((_, t) => mask[t])
      expect(largestDifference(kept(report.logprobs[i]!), kept(logprobs[i]!))).toBeLessThan(tolerance)
      expect(Array.from(report.logprobs[i]!, Number.isNaN)).toEqual(mask.map((isTrained) => !isTrained))
    }
  }

  describe('losses', () => {
    it('reports cross entropy and the log-probabilities it was formed from', () =>
      subject.withPolicy(async (policy) => {
        const data = shared()
        const logprobs = await policy.logprobs(data)
        const report = await policy.forwardBackward(data, crossEntropy)
        expectReport(report, crossEntropy, data, logprobs)
        expect(report.ratio).toBeUndefined()
      }))

    it.each<[string, Loss]>([
      ['importance sampling', importance],
      ['ppo', ppo],
      ['importance sampling with a KL term', { ...importance, klCoefficient: 0.2 }],
      ['ppo with uneven bounds and a KL term', { ...ppo, clipLow: 0.9, clipHigh: 1.3, klCoefficient: 0.5 }],
    ])('reports %s', (_, loss) =>
      subject.withPolicy(async (policy) => {
        const data = await policyData(policy, 0.5)
        const logprobs = await policy.logprobs(data)
        const report = await policy.forwardBackward(data, loss)
        expectReport(report, loss, data, logprobs)
        const ratios = data.flatMap((datum, i) => {
          const mask = datum.advantages!.map((advantage) => (advantage === 0 ? 0 : 1))
          return Array.from(logprobs[i]!, (logp, t) => Math.exp(logp - datum.logprobs![t]!)).filter(
            (_, t) => mask[t],
          )
        })
        const mean = ratios.reduce((a, b) => a + b) / ratios.length
        expect(Math.abs(report.ratio!.mean - mean)).toBeLessThan(3 * tolerance)
        expect(Math.abs(report.ratio!.max - Math.max(...ratios))).toBeLessThan(3 * tolerance)
      }),
    )

    it('finds ratios of 1 for what the policy itself has scored', () =>
      subject.withPolicy(async (policy) => {
        const data = await policyData(policy, 0)
        const report = await policy.forwardBackward(data, ppo)
        expect(report.ratio!.mean).toBeCloseTo(1, 3)
        expect(report.ratio!.max).toBeCloseTo(1, 3)
        expect(report.ratio!.clippedLow).toBe(0)
        expect(report.ratio!.clippedHigh).toBe(0)
        expect(Math.abs(report.ratio!.klSampler)).toBeLessThan(tolerance)
      }))

    it('takes its own log-probabilities for old ones that are absent', async () => {
      const outcome = (present: boolean) =>
        subject.withPolicy(async (policy) => {
          const data = await policyData(policy, 0)
          const own = data.map(({ logprobs, ...rest }) => (present ? { ...rest, logprobs: logprobs! } : rest))
          const report = await policy.forwardBackward(own, importance)
          return { ...report, ...(await policy.optimStep(adam())) }
        })
      const [absent, given] = [await outcome(false), await outcome(true)]
      expect(absent.ratio).toMatchObject({ mean: 1, max: 1, klSampler: 0 })
      expect(absent.loss).toBeCloseTo(given.loss, 2)
      expect(absent.gradNorm).toBeGreaterThan(0)
      expect(absent.gradNorm / given.gradNorm).toBeCloseTo(1, 2)
    })

    it('takes a batch far larger than one micro-batch', () =>
      subject.withPolicy(async (policy) => {
        const few = shared()
        const many = Array.from({ length: 300 }, (_, i) => few[i % few.length]!)
        const one = await policy.forwardBackward(few, crossEntropy)
        const all = await policy.forwardBackward(many, crossEntropy)
        expect(all.loss / one.loss / (300 / few.length)).toBeCloseTo(1, 4)
        expect(all.logprobs.length).toBe(300)
        expect(
          largestDifference(all.logprobs[299]!.slice(-1), one.logprobs[299 % few.length]!.slice(-1)),
        ).toBeLessThan(tolerance)
      }))
  })

  describe('steps', () => {
    it('counts versions, reports norms, and stamps rollouts with the version', () =>
      subject.withPolicy(async (policy) => {
        const first = policy.version
        const free = await step(policy, shared())
        expect(free.version).toBe(first + 1)
        expect(free.gradNorm).toBeGreaterThan(0)
        expect(free.updateNorm).toBeGreaterThan(0)
        const params = { maxTokens: 3, temperature: 1, topP: 1, topK: 0, stop: [] }
        const prompt = policy.tokenizer.encode('a')
        for await (const rollout of policy.sample([{ prompt, n: 1, seed: 0 }], params)) {
          expect(rollout.version).toBe(first + 1)
        }
      }))

    it('changes nothing at a learning rate of 0', () =>
      subject.withPolicy(async (policy) => {
        const before = await policy.logprobs(shared())
        const report = await step(policy, shared(), crossEntropy, { learningRate: 0, weightDecay: 0.1 })
        expect(report.updateNorm).toBe(0)
        const after = await policy.logprobs(shared())
        for (const [i, values] of after.entries()) expect(values).toEqual(before[i])
      }))

    it('raises what it is trained on', () =>
      subject.withPolicy(async (policy) => {
        const start = await likelihood(policy)
        for (let i = 0; i < 3; i++) await step(policy, shared())
        expect(await likelihood(policy)).toBeGreaterThan(start + 100 * tolerance)
      }))

    it('lowers what has a negative advantage', () =>
      subject.withPolicy(async (policy) => {
        const start = await likelihood(policy)
        for (let i = 0; i < 3; i++) {
          const data = shared().map(({ tokens, targets, weights }) => ({
            tokens,
            targets,
            advantages: weights!.map((w) => -w),
          }))
          await step(policy, data, importance)
        }
        expect(await likelihood(policy)).toBeLessThan(start - 100 * tolerance)
      }))

    it('gives two calls before a step the effect of one', async () => {
      const outcome = (calls: (data: Datum[]) => Datum[][]) =>
        subject.withPolicy(async (policy) => {
          for (const part of calls(shared())) await policy.forwardBackward(part, crossEntropy)
          const { gradNorm } = await policy.optimStep(adam())
          return { gradNorm, logprobs: await policy.logprobs(shared()) }
        })
      const whole = await outcome((data) => [data])
      const parts = await outcome((data) => [data.slice(3), data.slice(0, 3)])
      expect(parts.gradNorm / whole.gradNorm).toBeCloseTo(1, 3)
      for (const [i, values] of parts.logprobs.entries()) {
        expect(largestDifference(values, whole.logprobs[i]!)).toBeLessThan(10 * tolerance)
      }
    })

    it('starts the next gradient from zero', () =>
      subject.withPolicy(async (policy) => {
        const still = { learningRate: 0 }
        const first = await step(policy, shared(), crossEntropy, still)
        const second = await step(policy, shared(), crossEntropy, still)
        expect(second.gradNorm / first.gradNorm).toBeCloseTo(1, 4)
      }))

    it('clips by the global norm, and reports the norm before it', async () => {
      const norms = (clipNorm: number) =>
        subject.withPolicy(async (policy) => {
          // A large epsilon makes Adam's step follow the gradient's size, which otherwise cancels.
          const changes = { clipNorm, epsilon: 1e3, beta1: 0, beta2: 0 }
          return step(policy, shared(), crossEntropy, changes)
        })
      const free = await norms(0)
      const half = await norms(free.gradNorm / 2)
      expect(half.gradNorm / free.gradNorm).toBeCloseTo(1, 4)
      expect(half.updateNorm / free.updateNorm).toBeCloseTo(0.5, 2)
    })

    it.skipIf(!subject.capabilities.deterministic)(
      'gives the same numbers to the bit when run again',
      async () => {
        const run = () =>
          subject.withPolicy(async (policy) => {
            for (let i = 0; i < 2; i++) await step(policy, shared())
            return policy.logprobs(shared())
          })
        const first = await run()
        expect(await run()).toEqual(first)
      },
    )
  })
}
