import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FrozenPolicy, Policy } from '../../../src/engine/engine.js'
import { collect } from '../../../src/engine/engine.js'
import type { Subject } from '../conformance.js'
import { largestDifference, sampling } from '../sampling.js'
import { adam, drawn, examples, prompts } from './inputs.js'

/** Snapshots, saving and loading, and policies side by side. */
export function describeState(subject: Subject): void {
  const data = () => examples(subject.policy().tokenizer)
  const weightDecay = subject.lacks?.includes('weight decay of one policy') ? 0 : 0.1
  const train = async (policy: Policy, steps: number) => {
    for (let i = 0; i < steps; i++) {
      await policy.forwardBackward(data(), { name: 'cross_entropy' })
      await policy.optimStep(adam({ learningRate: 2e-3, weightDecay, clipNorm: 1 }))
    }
  }
  const scores = (policy: FrozenPolicy) => policy.logprobs(data())
  const greedy = async (policy: FrozenPolicy) => {
    const requests = prompts(policy.tokenizer).map((prompt) => ({ prompt, n: 1, seed: 0 }))
    return drawn(await collect(policy.sample(requests, sampling({ temperature: 0 }))))
  }
  const distance = (a: Float32Array[], b: Float32Array[]) =>
    Math.max(...a.map((values, i) => largestDifference(values, b[i]!)))
  const { lora, ...whole } = subject.spec
  const { remote } = subject.capabilities
  /** Bit for bit where the engine promises it. */
  const slack = subject.capabilities.deterministic ? 0 : subject.tolerance

  describe('snapshots', () => {
    it('keep their weights and version while the policy trains on', () =>
      subject.withPolicy(async (policy) => {
        await train(policy, 1)
        const atSnapshot = await scores(policy)
        const said = await greedy(policy)
        const snapshot = await policy.snapshot()
        const { version } = snapshot
        expect(version).toBe(policy.version)
        await train(policy, 3)
        expect(distance(await scores(policy), atSnapshot)).toBeGreaterThan(100 * subject.tolerance)
        expect(distance(await scores(snapshot), atSnapshot)).toBeLessThanOrEqual(slack)
        expect(await greedy(snapshot)).toEqual(said)
        expect(snapshot.version).toBe(version)
        await snapshot.close()
        expect(await greedy(policy)).toHaveLength(said.length)
      }))

    it('outlive the policy', async () => {
      const { snapshot, expected } = await subject.withPolicy(async (policy) => {
        await train(policy, 1)
        return { snapshot: await policy.snapshot(), expected: await scores(policy) }
      })
      expect(distance(await scores(snapshot), expected)).toBeLessThanOrEqual(slack)
      await snapshot.close()
    })
  })

  describe('policies of the same model', () => {
    it('do not share weights, gradients or versions', () =>
      subject.withPolicy((one) =>
        subject.withPolicy(async (other) => {
          const before = await scores(other)
          await train(one, 2)
          expect(one.version).toBe(other.version + 2)
          expect(distance(await scores(other), before)).toBeLessThanOrEqual(slack)
          expect(distance(await scores(one), before)).toBeGreaterThan(100 * subject.tolerance)
        }),
      ))

    it('train and sample at the same time without touching each other', () =>
      subject.withPolicy((one) =>
        subject.withPolicy(async (other) => {
          await Promise.all([train(one, 1), train(other, 1), greedy(subject.policy())])
          const alone = await subject.withPolicy(async (policy) => {
            await train(policy, 1)
            return scores(policy)
          })
          expect(distance(await scores(one), alone)).toBeLessThanOrEqual(slack)
          expect(distance(await scores(other), alone)).toBeLessThanOrEqual(slack)
        }),
      ))
  })

  describe('save and load', () => {
    let folder: string
    let after: { saved: Float32Array[]; continued: Float32Array[]; version: number }
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'sparring-conformance-'))
      after = await subject.withPolicy(async (policy) => {
        await train(policy, 2)
        await policy.save(join(folder, 'whole'), { optimizer: true })
        await policy.save(join(folder, 'weights'), { optimizer: false })
        const [saved, { version }] = [await scores(policy), policy]
        await train(policy, 2)
        return { saved, continued: await scores(policy), version }
      })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it('continues from a loaded folder as if it had never stopped', () =>
      subject.withPolicy(async (policy) => {
        await train(policy, 1)
        await policy.load(join(folder, 'whole'))
        expect(policy.version).toBe(after.version)
        expect(distance(await scores(policy), after.saved)).toBeLessThanOrEqual(slack)
        await train(policy, 2)
        expect(distance(await scores(policy), after.continued)).toBeLessThanOrEqual(slack)
      }))

    it('drops gradients that had accumulated before the load', () =>
      subject.withPolicy(async (policy) => {
        await policy.forwardBackward(data(), { name: 'cross_entropy' })
        await policy.load(join(folder, 'whole'))
        await train(policy, 2)
        expect(distance(await scores(policy), after.continued)).toBeLessThanOrEqual(slack)
      }))

    it('takes weights alone where the optimizer was left out', () =>
      subject.withPolicy(async (policy) => {
        await policy.load(join(folder, 'weights'))
        expect(distance(await scores(policy), after.saved)).toBeLessThanOrEqual(slack)
      }))

    it('opens a saved folder as a model', () =>
      subject.withPolicy(
        async (policy) => {
          expect(distance(await scores(policy), after.saved)).toBeLessThanOrEqual(slack)
        },
        { model: join(folder, 'whole') },
      ))

    it.skipIf(remote)('opens what the folder holds now, not what it held before', async () => {
      const target = join(folder, 'changing')
      const policy = await subject.engine().open(whole)
      const distanceOfOpened = async () => {
        const adapter = { rank: 2, alpha: 4, targets: ['q_proj'] }
        const adapted = await subject.engine().open({ ...whole, model: target, lora: adapter })
        const found = await scores(adapted)
        await adapted.close()
        return distance(found, await scores(policy))
      }
      await policy.save(target)
      expect(await distanceOfOpened()).toBeLessThan(subject.tolerance)
      await train(policy, 2)
      await policy.save(target)
      expect(await distanceOfOpened()).toBeLessThan(subject.tolerance)
      await policy.close()
    })

    it('writes over an earlier save', () =>
      subject.withPolicy(async (policy) => {
        const target = join(folder, 'again')
        await policy.save(target)
        await train(policy, 1)
        await policy.save(target)
        const expected = await scores(policy)
        await policy.load(target)
        expect(distance(await scores(policy), expected)).toBeLessThanOrEqual(slack)
      }))
  })

  describe.skipIf(!lora)('adapters', () => {
    it('are loaded whatever the order in which their description was written', () =>
      subject.withPolicy(async (policy) => {
        const folder = mkdtempSync(join(tmpdir(), 'sparring-adapter-'))
        await train(policy, 1)
        await policy.save(folder)
        const { rank, alpha, targets } = lora!
        const reordered = { targets: [...targets].reverse(), alpha, rank }
        await subject.withPolicy(
          async (other) => {
            await other.load(folder)
            expect(distance(await scores(other), await scores(policy))).toBeLessThanOrEqual(slack)
          },
          { lora: reordered },
        )
        rmSync(folder, { recursive: true })
      }))

    it('start as the model they adapt, and from a start their seed decides', async () => {
      const outcome = (seed: number) =>
        subject.withPolicy(
          async (policy) => {
            const start = await scores(policy)
            await train(policy, 1)
            return { start, end: await scores(policy) }
          },
          { seed },
        )
      const base = await (remote ? undefined : subject.engine().open(whole))
      const [one, other] = [await outcome(1), await outcome(2)]
      const start = base ? await scores(base) : other.start
      expect(distance(one.start, start)).toBeLessThan(subject.tolerance)
      expect(distance(one.end, other.end)).toBeGreaterThan(subject.tolerance)
      expect(distance((await outcome(1)).end, one.end)).toBeLessThanOrEqual(slack)
      await base?.close()
    })
  })
}
