import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { characterTokenizer, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import { collect } from '../../engine/engine.js'
import { sampleGroups } from './sampling.js'
import { lossSettings, samplingSettings } from './settings.js'
import { policyStep, policySteps } from './step.js'

const loss = z.object(lossSettings)
const sampling = z.object(samplingSettings)

function setUp(script = (_: string, i: number) => `answer ${i}`) {
  const policy = scriptedPolicy(script)
  const ctx = scriptedContext({ config: {}, policies: { student: policy } })
  const prompt = characterTokenizer.encode('why?')
  return { policy, ctx, prompt, role: ctx.roles.student! }
}

async function samplesOf(advantages: number[]) {
  const parts = setUp()
  const requests = [{ prompt: parts.prompt, n: advantages.length, seed: 0 }]
  const params = { maxTokens: 10, temperature: 1, topP: 1, topK: 0, stop: [] }
  const rollouts = await collect(parts.policy.sample(requests, params))
  return {
    ...parts,
    samples: rollouts.map((rollout, i) => ({ prompt: parts.prompt, rollout, advantage: advantages[i]! })),
  }
}

describe('policyStep', () => {
  it('takes one step on what has an advantage', async () => {
    const { policy, role, samples } = await samplesOf([1, 0, -1])
    const step = await policyStep(role, samples, {
      loss: loss.parse({}),
      sampling: sampling.parse({ max_tokens: 10 }),
    })
    expect(policy.trained[0]!.data).toHaveLength(2)
    expect(policy.trained[0]!.data[0]!.advantages!.at(-1)).toBeCloseTo(1 / 30, 7)
    expect(step).toMatchObject({ learningRate: role.adam.learningRate, optim: { version: 1 } })
    expect(step!.samplerKl).toBeUndefined()
  })

  it('takes no step where nothing has one', async () => {
    const { policy, role, samples } = await samplesOf([0, 0])
    expect(
      await policyStep(role, samples, { loss: loss.parse({}), sampling: sampling.parse({}) }),
    ).toBeUndefined()
    expect(policy.version).toBe(0)
    const settings = { loss: loss.parse({}), sampling: sampling.parse({}) }
    expect(await policySteps(role, [samples, [], samples], settings)).toEqual([])
  })

  it('compares sampler and trainer at temperature 1', async () => {
    const { role, samples } = await samplesOf([1, -1])
    for (const { rollout } of samples) rollout.logprobs.fill(-0.25)
    const settings = { loss: loss.parse({}), sampling: sampling.parse({ temperature: 1 }) }
    const step = await policyStep(role, samples, settings)
    expect(step!.samplerKl![0]).toBeCloseTo(0.25, 12)
    expect(step!.samplerKl![1]).toBeCloseTo(0.25 ** 2 / 2, 12)
  })

  it('sends reference and weights of every sample for a KL term', async () => {
    const { policy, role, samples } = await samplesOf([1, 0])
    const kl = { coefficient: 0.04, reference: scriptedPolicy(() => '') }
    await policyStep(role, samples, {
      loss: loss.parse({}),
      sampling: sampling.parse({ max_tokens: 10 }),
      kl,
    })
    const { data, loss: form } = policy.trained[0]!
    expect(form).toMatchObject({ klCoefficient: 0.04 })
    expect(data).toHaveLength(2)
    expect(data[1]!.weights!.at(-1)).toBeCloseTo(1 / 20, 7)
    expect(data[1]!.referenceLogprobs!.at(-1)).toBe(-0.5)
  })
})

describe('sampleGroups', () => {
  it('keeps groups with their prompts and in order, and skips null', async () => {
    const { ctx, policy } = setUp((prompt, i) => `${prompt}${i}`)
    const prompts = ['a', null, 'b'].map(
      (text) => text && characterTokenizer.encode(text),
    ) as (Int32Array | null)[]
    const groups = await sampleGroups(ctx, 'student', prompts, 2, sampling.parse({}))
    expect(groups.map((group) => group.map((rollout) => rollout.text))).toEqual([
      ['a0', 'a1'],
      [],
      ['b0', 'b1'],
    ])
    expect(policy.asked).toHaveLength(2)
  })
})
