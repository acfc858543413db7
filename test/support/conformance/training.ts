import { describe, expect, it } from 'vitest'
import type { Datum } from '../../../src/core/datum.js'
import type { Loss, LossReport, Policy } from '../../../src/engine/engine.js'
import type { Subject } from '../conformance.js'
import { largestDifference } from '../sampling.js'
import { adam, examples, policyData, proportional, trained } from './inputs.js'

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
  const { tolerance, lacks = [] } = subject
  const weightDecay = lacks.includes('weight decay of one policy') ? 0 : 0.1
  const { remote } = subject.capabilities
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

    it.for<[string, Loss]>([
      ['importance sampling', importance],
      ['ppo', ppo],
      ['importance sampling with a KL term', { ...importance, klCoefficient: 0.2 }],
      ['ppo with uneven bounds and a KL term', { ...ppo, clipLow: 0.9, clipHigh: 1.3, klCoefficient: 0.5 }],
    ])('reports %s', ([, loss], { skip }) => {
      skip(lacks.includes('uneven clip bounds') && 'clipLow' in loss && loss.clipLow === 0.9)
      return checkReport(loss)
    })

    const checkReport = (loss: Loss) =>
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
      })

    it('moves the weights by the slope of a KL term', async () => {
      const outcome = (data: (data: Datum[]) => Datum[], loss: Loss) =>
        subject.withPolicy(async (policy) => {
          await step(policy, data(await policyData(policy, 0)), loss, proportional)
          return policy.logprobs(shared())
        })
      const advantages = ({ weights }: Datum) => new Float32Array(weights!.length)
      const pulled = await outcome((data) => data.map((d) => ({ ...d, advantages: advantages(d) })), {
        ...importance,
        klCoefficient: 0.5,
      })
      // On-policy, the slope of the term is that of a loss with these advantages.
      const expected = await outcome(
        (data) =>
          data.map((d) => ({
            ...d,
            advantages: d.weights!.map(
              (w, t) => 0.5 * Math.abs(w) * (Math.exp(d.referenceLogprobs![t]! - d.logprobs![t]!) - 1),
            ),
          })),
        importance,
      )
      const start = await subject.policy().logprobs(shared())
      for (const [i, values] of pulled.entries())
        expect(largestDifference(values, expected[i]!)).toBeLessThan(10 * tolerance)
      expect(Math.max(...pulled.map((values, i) => largestDifference(values, start[i]!)))).toBeGreaterThan(
        100 * tolerance,
      )
    })

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
          await policy.optimStep(proportional)
          return { ...report, after: await policy.logprobs(shared()) }
        })
      const [absent, given] = [await outcome(false), await outcome(true)]
      expect(absent.ratio).toMatchObject({ mean: 1, max: 1, klSampler: 0 })
      expect(absent.loss).toBeCloseTo(given.loss, 2)
      const start = await subject.policy().logprobs(shared())
      const moved = absent.after.map((values, i) => largestDifference(values, start[i]!))
      expect(Math.max(...moved)).toBeGreaterThan(100 * tolerance)
      for (const [i, values] of absent.after.entries())
        expect(largestDifference(values, given.after[i]!)).toBeLessThan(10 * tolerance)
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
    it.skipIf(remote)('reports norms', () =>
      subject.withPolicy(async (policy) => {
        const { gradNorm, updateNorm } = await step(policy, shared())
        expect(gradNorm).toBeGreaterThan(0)
        expect(updateNorm).toBeGreaterThan(0)
      }),
    )

    it('counts versions, and stamps rollouts with the version', () =>
      subject.withPolicy(async (policy) => {
        const first = policy.version
        const free = await step(policy, shared())
        expect(free.version).toBe(first + 1)
        const params = { maxTokens: 3, temperature: 1, topP: 1, topK: 0, stop: [] }
        const prompt = policy.tokenizer.encode('a')
        for await (const rollout of policy.sample([{ prompt, n: 1, seed: 0 }], params)) {
          expect(rollout.version).toBe(first + 1)
        }
      }))

    it('changes nothing at a learning rate of 0', () =>
      subject.withPolicy(async (policy) => {
        const before = await policy.logprobs(shared())
        const report = await step(policy, shared(), crossEntropy, { learningRate: 0, weightDecay })
        if (!remote) expect(report.updateNorm).toBe(0)
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
          await policy.optimStep(adam())
          return policy.logprobs(shared())
        })
      const whole = await outcome((data) => [data])
      const parts = await outcome((data) => [data.slice(3), data.slice(0, 3)])
      for (const [i, values] of parts.entries()) {
        expect(largestDifference(values, whole[i]!)).toBeLessThan(10 * tolerance)
      }
    })

    it('takes calls in order that do not wait for each other', async () => {
      const inTurn = await subject.withPolicy(async (policy) => {
        await step(policy, shared(), crossEntropy, proportional)
        await step(policy, shared(), crossEntropy, proportional)
        return policy.logprobs(shared())
      })
      const atOnce = await subject.withPolicy(async (policy) => {
        const parts = [shared().slice(3), shared().slice(0, 3)]
        const calls: Promise<unknown>[] = []
        for (let i = 0; i < 2; i++) {
          calls.push(...parts.map((part) => policy.forwardBackward(part, crossEntropy)))
          calls.push(policy.optimStep(proportional))
        }
        const after = policy.logprobs(shared())
        await Promise.all(calls)
        expect(policy.version).toBe(2)
        return after
      })
      for (const [i, values] of atOnce.entries())
        expect(largestDifference(values, inTurn[i]!)).toBeLessThan(10 * tolerance)
    })

    it('starts the next gradient from zero', async () => {
      const outcome = (before: number) =>
        subject.withPolicy(async (policy) => {
          for (let i = 0; i < before; i++) await step(policy, shared(), crossEntropy, { learningRate: 0 })
          await step(policy, shared(), crossEntropy, proportional)
          return policy.logprobs(shared())
        })
      const [first, second] = [await outcome(0), await outcome(1)]
      for (const [i, values] of second.entries())
        expect(largestDifference(values, first[i]!)).toBeLessThan(10 * tolerance)
    })

    it.skipIf(remote)('clips by the global norm, and reports the norm before it', async () => {
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
