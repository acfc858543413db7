import { describe, expect, it } from 'vitest'
import { boxGrader, type Script, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import { activeAlarms } from '../../runs/alarms.js'
import type { World } from '../game.js'
import { presets, config as schema } from './config.js'
import { rZero } from './game.js'

const texts = [
  'How many apples has Tom?',
  'Find the root of x-1.',
  'What is (9-2)*4?',
  'Name the third prime.',
]
const question = (i: number) => `${texts[i % 4]} Part ${i}`
const proposal = (i: number) => `so <problem>${question(i)}</problem> \\boxed{anything}`

/** Of ten answers to question i, five are alike where i is even, and all where it is odd. */
const answers: Script = (prompt, j) => {
  const i = Number(/Part (\d+)/.exec(prompt)?.[1])
  return `\\boxed{${i % 2 === 0 && j >= 5 ? `other ${j}` : 'same'}}`
}

interface Play {
  settings?: object
  challenger?: Script
  solver?: Script
  world?: World
  rounds?: number
}

const lengths = { challenger_rounds: 1, pool_rounds: 2, solver_rounds: 2 }
const small = { ...lengths, groups: 2, questions: 2, votes: 10, questions_per_round: 3, answers: 4, kl: 0 }

async function play({ settings = {}, challenger, solver = answers, world, rounds = 5 }: Play = {}) {
  const config = schema.parse({ ...small, ...settings })
  let written = 0
  const policies = {
    challenger: scriptedPolicy(challenger ?? (() => proposal(written++))),
    solver: scriptedPolicy(solver),
  }
  const context = (round: number) =>
    scriptedContext({ config, policies, round, rounds, grader: boxGrader(), ...(world && { world }) })
  let state = await rZero.setup(context(0))
  const reports = []
  const states = []
  for (let round = 0; round < rounds; round++) {
    const played = await rZero.round(context(round), JSON.parse(JSON.stringify(state)))
    state = played.state
    reports.push(played.report)
    states.push(state)
  }
  return { ...policies, config, reports, states }
}

const of = (report: { rollouts: { role: string }[] }, role: string) =>
  report.rollouts.filter((record) => record.role === role) as never as {
    reward: number
    advantage: number
    trained: boolean
    parts: Record<string, unknown>
  }[]

describe('a round of the challenger', () => {
  it('pays for a split vote and takes off what is alike', async () => {
    const { reports, challenger, solver } = await play({ rounds: 1 })
    const records = of(reports[0]!, 'challenger')
    expect(records.map(({ parts }) => parts.share).sort()).toEqual([0.5, 0.5, 1, 1])
    for (const { reward, parts } of records) {
      const uncertainty = parts.share === 0.5 ? 1 : 0
      expect(reward).toBeCloseTo(Math.max(0, uncertainty - Number(parts.cluster) / 4), 12)
    }
    expect([challenger.version, solver.version]).toEqual([1, 0])
    expect(challenger.trained[0]!.data.length).toBeGreaterThan(0)
    expect(of(reports[0]!, 'solver')).toHaveLength(40)
    expect(reports[0]!.metrics).toMatchObject({
      'questions/valid_frac': 0.5,
      'questions/too_easy_frac': 0.5,
      'vote/share': 0.75,
    })
  })

  it('pays a batch of one repeated question nothing, and learns nothing from it', async () => {
    const { reports, challenger } = await play({ rounds: 1, challenger: () => proposal(0) })
    expect(of(reports[0]!, 'challenger').map(({ reward }) => reward)).toEqual([0, 0, 0, 0])
    expect(reports[0]!.metrics['questions/duplicate_frac']).toBe(1)
    expect(challenger.version).toBe(0)
    expect(reports[0]!.skipped).toBe('no group has a question better than another')
    const line = (step: number) => ({ step, ...reports[0]!.metrics })
    const alarms = activeAlarms(Array.from({ length: 5 }, (_, step) => line(step)))
    expect(alarms.map(({ name }) => name)).toContain('diversity_low')
  })

  it.each<[string, string]>([
    ['nothing', ''],
    ['one token', '7'],
    ['an open tag without end', '<problem>What'],
    ['an empty question', '<problem> </problem>'],
  ])('gives %s -1 and asks the solver nothing', async (_, text) => {
    const { reports, solver } = await play({ rounds: 1, challenger: () => text })
    expect(of(reports[0]!, 'challenger').map(({ reward }) => reward)).toEqual([-1, -1, -1, -1])
    expect(solver.asked).toHaveLength(0)
    expect(reports[0]!.metrics['questions/unparsable_frac']).toBe(1)
  })

  it('counts answers without a result against s, or leaves them out as the code does', async () => {
    const solver: Script = (_, j) => (j < 4 ? '\\boxed{same}' : j < 8 ? `\\boxed{${j}}` : 'no idea')
    const share = async (settings: object) =>
      of((await play({ rounds: 1, solver, settings })).reports[0]!, 'challenger')[0]!.parts.share
    expect(await share({})).toBe(0.4)
    expect(await share({ as: 'code' })).toBe(0.5)
  })
})

describe('an iteration', () => {
  it('gathers the questions in the band with the majority as label, and teaches the solver', async () => {
    const { reports, states, solver, challenger } = await play()
    const kept = states[2]!.pool
    expect(kept).toHaveLength(4)
    for (const { label, share } of kept) expect([label, share]).toEqual(['same', 0.5])
    expect(reports.slice(1, 3).map(({ skipped }) => skipped)).toEqual(
      Array(2).fill('the pool is filled, nobody learns'),
    )
    expect([challenger.version, solver.version]).toEqual([1, 0])

    // The solver now answers 4 times; the script makes all of them agree with the label.
    expect(reports[3]!.metrics['solver/reward/mean']).toBe(1)
    expect(reports[3]!.skipped).toBe('no group has an answer better than another')
    expect(of(reports[3]!, 'solver')).toHaveLength(12)
    expect(reports[3]!.metrics['pool/size']).toBe(4)
  })

  it('takes steps of the solver on its groups', async () => {
    const asked: Record<string, number> = {}
    const solver: Script = (prompt, j) => {
      const nth = asked[prompt] ?? 0
      asked[prompt] = nth + 1
      return nth < 10 ? answers(prompt, j) : `\\boxed{${j < 2 ? 'same' : 'no'}}`
    }
    const { solver: policy, reports } = await play({ solver, settings: { steps: 2 } })
    expect(policy.version).toBe(4)
    expect(of(reports[4]!, 'solver').map(({ reward }) => reward)).toEqual(Array(3).fill([1, 1, 0, 0]).flat())
    expect(of(reports[4]!, 'solver').every(({ trained }) => trained)).toBe(true)
  })

  it('begins a new pool', async () => {
    const { states } = await play({ rounds: 7 })
    expect(states[6]!.pool.length).toBeLessThan(states[4]!.pool.length)
    expect(states[6]!.seed).not.toBe(states[4]!.seed)
  })

  it('goes on where no question comes through the filter', async () => {
    const { reports } = await play({ solver: () => '\\boxed{sure}' })
    expect(reports[3]).toMatchObject({ skipped: 'no question came through the filter', rollouts: [] })
  })
})

describe('labels', () => {
  it('are audited where the world can tell, and touch no reward', async () => {
    const world: World = { name: 'test', solve: (text) => (text.includes('Part 1') ? undefined : 'same') }
    const plain = await play()
    const audited = await play({ world })
    expect(audited.reports[0]!.metrics).toMatchObject({ 'labels/accuracy': 1, 'labels/in_world_frac': 0.75 })
    expect(audited.reports[3]!.metrics['labels/accuracy_valid']).toBe(1)
    const rewards = ({ reports }: typeof plain) =>
      reports.map(({ rollouts }) => rollouts.map(({ reward }) => reward))
    expect(rewards(audited)).toEqual(rewards(plain))
  })
})

describe('settings', () => {
  it("are the paper's, and the code's behind the keys that are given", () => {
    expect(schema.parse({})).toMatchObject({
      challenger_rounds: 5,
      solver_rounds: 15,
      votes: 10,
      questions: 4,
      answers: 5,
      share_low: 0.25,
      share_high: 0.75,
      kl: 0.01,
    })
    expect(schema.parse({ as: 'code', share_low: 0.2 })).toMatchObject({ ...presets.code, share_low: 0.2 })
  })

  it.each([
    [{ share_low: 0.9 }, 'share_low'],
    [{ knowledge: 'texts.jsonl' }, 'user'],
    [{ challenger: { temperature: 0.5 }, old_logprobs: 'sampler' }, 'old_logprobs'],
  ])('refuse %j', (given, key) => {
    expect(schema.safeParse(given).error?.issues[0]?.path.at(-1)).toBe(key)
  })
})
