import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { type Script, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import { groupAdvantages } from './advantages.js'
import { config as schema } from './config.js'
import { grpo } from './game.js'

/** Problem i has the answer i, and is solved i times of 4. */
const solves: Script = (prompt, j) => {
  const i = Number(/What is (\d)/.exec(prompt)?.[1])
  return `\\boxed{${j < i ? i : 'wrong'}}`
}

async function play(settings: object = {}, solver: Script = solves) {
  const path = join(temporaryFolder(), 'problems.jsonl')
  const lines = [0, 1, 2, 3, 4].map((i) => JSON.stringify({ problem: `What is ${i}?`, answer: i }))
  writeFileSync(path, lines.join('\n'))
  const given = { problems: path, problems_per_round: 5, answers: 4, kl: 0, ...settings }
  const config = schema.parse(given)
  const policy = scriptedPolicy(solver)
  const ctx = scriptedContext({ config, policies: { solver: policy } })
  const { report, state } = await grpo.round(ctx, await grpo.setup(ctx))
  return { policy, config, report, state }
}

describe('a round', () => {
  it('pays true answers and compares them within the problem', async () => {
    const { report, policy } = await play()
    for (const i of [0, 1, 2, 3, 4]) {
      const group = report.rollouts.filter(({ parts }) => parts.problem === `What is ${i}?`)
      const rewards = [0, 1, 2, 3].map((j) => Number(j < i))
      expect(group.map(({ reward }) => reward)).toEqual(rewards)
      expect(group.map(({ advantage }) => advantage)).toEqual(
        groupAdvantages(rewards, { scaleRewards: true }),
      )
    }
    expect(policy.trained).toHaveLength(1)
    expect(policy.trained[0]!.data).toHaveLength(12)
    expect(report.metrics['pass_rate/p2']).toBe(1)
    expect(report.metrics['pass_rate/mean']).toBe(0.5)
    expect(report.metrics['solver/reward/mean']).toBe(0.5)
  })

  it('takes several steps where it is told to, fewer where there are too few problems', async () => {
    expect((await play({ steps: 2 })).policy.trained.map(({ data }) => data.length)).toHaveLength(2)
    expect((await play({ steps: 99 })).policy.version).toBe(3)
  })

  it('pays for the form only where it is told to', async () => {
    const script: Script = (_, j) =>
      j === 0 ? 'no box' : j === 1 ? { text: '\\boxed{9}', stop: 'length' } : '\\boxed{9}'
    const { report } = await play({ format_reward: 0.1, problems_per_round: 1 }, script)
    expect(report.rollouts.map(({ reward }) => reward)).toEqual([0, 0, 0.1, 0.1])
  })

  it('keeps near the start weights with a KL term', async () => {
    const { policy } = await play({ kl: 0.04 })
    const { data, loss } = policy.trained[0]!
    expect(loss).toMatchObject({ klCoefficient: 0.04 })
    expect(data[0]!.referenceLogprobs).toBeDefined()
    expect(data).toHaveLength(20)
  })

  it.each<[string, Script, string]>([
    ['one right token', (prompt) => solves(prompt, 0), 'no group has an answer better than another'],
    ['nothing', () => '', 'no group has an answer better than another'],
  ])('teaches nothing where every answer says %s', async (_, script, reason) => {
    const { report, policy } = await play({}, script)
    expect(report.skipped).toBe(reason)
    expect(policy.version).toBe(0)
    expect(report.rollouts.every(({ trained }) => !trained)).toBe(true)
  })

  it('leaves out problems over the limit', async () => {
    const { report, policy } = await play({ solver: { max_prompt_tokens: 5 } })
    expect(policy.asked).toHaveLength(0)
    expect(report).toMatchObject({ rollouts: [], skipped: 'no problem is within max_prompt_tokens' })
  })
})

describe('settings', () => {
  it("are the paper's by default", () => {
    expect(schema.parse({})).toMatchObject({
      problems_per_round: 16,
      answers: 64,
      kl: 0.04,
      clip_low: 0.2,
      normaliser: 'sequence_mean',
      scale_rewards: true,
      solver: { max_tokens: 1024, temperature: 1 },
    })
  })

  it('refuse a ratio of raw and tempered log-probabilities', () => {
    expect(schema.safeParse({ solver: { temperature: 0.6 } }).success).toBe(false)
    expect(schema.safeParse({ solver: { temperature: 0.6 }, old_logprobs: 'current' }).success).toBe(true)
  })

  it('say how large a step is', () => {
    const config = schema.parse({
      problems_per_round: 4,
      answers: 8,
      steps: 2,
      solver: { max_tokens: 9, max_prompt_tokens: 1 },
    })
    expect(grpo.workload!(config)).toEqual({ trainTokens: 160, longestSequence: 10, sampleRows: 32 })
  })
})
