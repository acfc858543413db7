import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Datum } from '../../../src/core/datum.js'
import { SparringError } from '../../../src/core/errors.js'
import { collect, type Loss, type Policy } from '../../../src/engine/engine.js'
import type { Subject } from '../conformance.js'
import { largestDifference, sampling } from '../sampling.js'
import { examples, proportional } from './inputs.js'

/** What is asked wrongly is refused with an error that names it, and leaves the policy usable. */
export function describeErrors(subject: Subject): void {
  const refusal = async (asked: Promise<unknown>, mentions: RegExp) => {
    const error = await asked.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toSatisfy(SparringError.isInstance)
    expect((error as SparringError).message).toMatch(mentions)
  }

  describe('capabilities', () => {
    it('are what this suite was told', () => {
      expect(subject.engine().capabilities).toEqual(subject.capabilities)
    })
  })

  describe.skipIf(subject.capabilities.remote)('memory', () => {
    it('is planned by purpose, largest first, and refused where the machine has less', async () => {
      const plan = await subject.engine().planMemory({ trainTokens: 256, longestSequence: 64, sampleRows: 8 })
      const bytes = plan.parts.map((part) => part.bytes)
      expect(bytes.length).toBeGreaterThan(0)
      expect(bytes).toEqual([...bytes].sort((a, b) => b - a))
      expect(plan.totalBytes).toBe(bytes.reduce((a, b) => a + b))
      expect(plan.totalBytes).toBeLessThanOrEqual(plan.availableBytes)
      const absurd = { trainTokens: 1e12, longestSequence: 1e9, sampleRows: 1e6 }
      await refusal(subject.engine().planMemory(absurd), /memory|GB|GiB/i)
    })
  })

  describe('refusals', () => {
    const first = (): Datum => examples(subject.policy().tokenizer)[1]!
    const ppo: Loss = { name: 'ppo', temperature: 1, clipLow: 0.8, clipHigh: 1.2 }
    const wrong: [string, () => Datum, Loss, RegExp][] = [
      ['cross entropy without weights', () => ({ ...bare(first()) }), { name: 'cross_entropy' }, /weights/],
      ['ppo without advantages', () => ({ ...bare(first()), logprobs: first().weights! }), ppo, /advantages/],
      [
        'a KL term without reference log-probabilities',
        () => ({ ...first(), advantages: first().weights!, logprobs: first().weights! }),
        { ...ppo, klCoefficient: 0.1 },
        /referenceLogprobs/,
      ],
      [
        'targets that do not fit the tokens',
        () => ({ ...first(), targets: first().targets.slice(1) }),
        { name: 'cross_entropy' },
        /targets/,
      ],
      [
        'weights that do not fit the tokens',
        () => ({ ...first(), weights: first().weights!.slice(1) }),
        { name: 'cross_entropy' },
        /weights/,
      ],
      [
        'a token outside the vocabulary',
        () => ({ ...first(), tokens: first().tokens.with(0, subject.policy().tokenizer.vocabSize) }),
        { name: 'cross_entropy' },
        /vocabulary/i,
      ],
    ]
    const bare = ({ tokens, targets }: Datum): Datum => ({ tokens, targets })

    it.each(wrong)('%s', async (_, datum, loss, mentions) => {
      const good = examples(subject.policy().tokenizer).map((d) => ({
        ...d,
        advantages: d.weights!,
        referenceLogprobs: d.weights!,
      }))
      const outcome = (before: (policy: Policy) => Promise<unknown>) =>
        subject.withPolicy(async (policy) => {
          await before(policy)
          await policy.forwardBackward(good, { name: 'cross_entropy' })
          await policy.optimStep(proportional)
          return policy.logprobs(good)
        })
      const refused = await outcome((policy) =>
        refusal(policy.forwardBackward([good[0]!, datum()], loss), mentions),
      )
      // A refused batch leaves no gradient behind.
      const clean = await outcome(async () => {})
      for (const [i, values] of refused.entries())
        expect(largestDifference(values, clean[i]!)).toBeLessThan(10 * subject.tolerance)
    })

    it('a prompt or a sequence with a token outside the vocabulary', async () => {
      const policy = subject.policy()
      const { tokens, targets } = first()
      for (const token of [policy.tokenizer.vocabSize, -1]) {
        const wrongTokens = tokens.with(1, token)
        const asked = { prompt: wrongTokens, n: 1, seed: 0 }
        await refusal(collect(policy.sample([asked], sampling())), /vocabulary/i)
        await refusal(policy.logprobs([{ tokens: wrongTokens, targets }]), /vocabulary/i)
        await refusal(policy.logprobs([{ tokens, targets: wrongTokens }]), /vocabulary/i)
      }
    })

    it('an empty prompt', () =>
      refusal(
        collect(subject.policy().sample([{ prompt: new Int32Array(), n: 1, seed: 0 }], sampling())),
        /prompt/,
      ))

    it('a model folder that does not exist', () =>
      refusal(
        subject.engine().open({ ...subject.spec, model: join(subject.spec.model, 'nowhere') }),
        /nowhere/,
      ))

    it('an adapter on a layer the model does not have', () =>
      refusal(
        subject.engine().open({ ...subject.spec, lora: { rank: 2, alpha: 4, targets: ['q_porj'] } }),
        /q_porj/,
      ))
  })
}
