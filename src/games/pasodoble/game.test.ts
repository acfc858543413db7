import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { boxGrader, type Script, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import type { RoundReport, World } from '../game.js'
import { groupAdvantages } from '../grpo/advantages.js'
import { config as schema } from './config.js'
import { pasodoble } from './game.js'

const question = (name: string) => `Question ${name} of the game?`
const proposal = (name: string, answer = 'right') =>
  `so </think><problem>${question(name)}</problem><answer>\\boxed{${answer}}</answer>`

/** The i-th question of every text is solved i times of 6. */
const proposes: Script = (_, i) => proposal(String(i))
const solves: Script = (prompt, j) => {
  const solved = Number(/Question (\d)/.exec(prompt)?.[1])
  return `thus \\boxed{${j < solved ? 'right' : 'wrong'}}`
}

interface Play {
  settings?: object
  proposer?: Script
  solver?: Script
  world?: World
  state?: unknown
}

async function play({ settings = {}, proposer = proposes, solver = solves, world, state }: Play = {}) {
  const grader = boxGrader()
  const policies = { proposer: scriptedPolicy(proposer), solver: scriptedPolicy(solver) }
  const config = schema.parse(settings)
  const ctx = scriptedContext({ config, policies, grader, ...(world && { world }) })
  const start = (state ?? (await pasodoble.setup(ctx))) as never
  const { state: next, report } = await pasodoble.round(ctx, start)
  return { ...policies, config, grader, report, state: JSON.parse(JSON.stringify(next)) }
}

const records = (report: RoundReport, role: string) =>
  report.rollouts.filter((record) => record.role === role)

describe('a round', () => {
  it('rewards the proposer by pass rate and trains both roles on what is valid', async () => {
    const { report, proposer, solver, grader } = await play()

    const rewards = records(report, 'proposer').map((record) => record.reward)
    const expected = [0, 0, 1.1 - 2 / 6 + 0.2, 0.8, 1.1 - 4 / 6 + 0.2, 1.1 - 5 / 6 + 0.2]
    rewards.forEach((reward, i) => {
      expect(reward).toBeCloseTo(expected[i]!, 12)
    })
    const advantages = groupAdvantages(rewards, { scaleRewards: true })
    expect(records(report, 'proposer').map((record) => record.advantage)).toEqual(advantages)

    expect(proposer.trained).toHaveLength(1)
    expect(proposer.trained[0]!.data).toHaveLength(6)
    expect(solver.trained.map(({ data }) => data.length)).toEqual([6, 6, 6, 6])
    expect(proposer.version).toBe(1)
    expect(solver.version).toBe(4)
    expect(grader.calls).toBe(1)
    expect(report.skipped).toBeUndefined()
  })

  it('forms the loss as the released code does: tempered, on-policy, divided by B x L_max', async () => {
    const { proposer, report, config } = await play()
    const { data, loss } = proposer.trained[0]!
    expect(loss).toEqual({ name: 'ppo', clipLow: 0.8, clipHigh: 1.2, temperature: 0.6 })
    expect(data[0]!.logprobs).toBeUndefined()
    const record = records(report, 'proposer')[0]!
    expect(data[0]!.advantages!.at(-1)).toBeCloseTo(record.advantage / (6 * config.proposer.max_tokens), 12)
  })

  it("takes the sampler's log-probabilities at temperature 1 when asked, and compares the trainer's", async () => {
    const settings = { old_logprobs: 'sampler', proposer: { temperature: 1 }, solver: { temperature: 1 } }
    const { solver, report } = await play({ settings })
    const { data, loss } = solver.trained[0]!
    expect(loss).toMatchObject({ temperature: 1 })
    expect(data[0]!.logprobs!.at(-1)).toBe(-0.5)
    expect(report.metrics['solver/policy/kl_sampler_trainer_v1']).toBe(0)
  })

  it('records every rollout with its question, verdict and use', async () => {
    const { report } = await play()
    expect(records(report, 'proposer')).toHaveLength(6)
    expect(records(report, 'solver')).toHaveLength(36)
    const [first, , third] = records(report, 'proposer')
    expect(first).toMatchObject({
      group: 0,
      index: 0,
      parts: { question: question('0'), fate: 'too_hard', solved: 0 },
    })
    expect(third).toMatchObject({
      trained: true,
      parts: { pass_rate: 2 / 6, valid_for_solver: true, answer: 'right' },
    })
    const answers = records(report, 'solver').filter((record) => record.parts.question_id === 2)
    expect(answers.map((record) => record.reward)).toEqual([1, 1, 0, 0, 0, 0])
    expect(answers[0]).toMatchObject({
      group: 2,
      trained: true,
      parts: { extracted: 'right', verdict: 'equal' },
    })
    expect(records(report, 'solver')[0]).toMatchObject({
      group: 0,
      trained: false,
      prompt: expect.stringContaining('Question 0'),
    })
  })

  it('counts pass rates and fates', async () => {
    const { report } = await play({ proposer: (_, i) => (i === 0 ? 'no idea' : proposal(String(i + 1))) })
    const { metrics } = report
    const histogram = [0, 1, 2, 3, 4, 5, 6].map((k) => metrics[`pass_rate/p${k}`])
    expect(histogram).toEqual([1, 0, 1, 1, 1, 1, 1])
    expect(metrics['questions/valid_frac']).toBeCloseTo(4 / 6, 12)
    expect(metrics['questions/too_easy_frac']).toBeCloseTo(1 / 6, 12)
    expect(metrics['questions/unparsable_frac']).toBeCloseTo(1 / 6, 12)
    expect(metrics['solver/group/zero_std_frac']).toBeCloseTo(1 / 5, 12)
    expect(metrics['solver/policy/entropy']).toBeCloseTo(0.25, 12)
    expect(metrics['proposer/len/truncated_frac']).toBe(0)
    expect(metrics['solver/optim/steps']).toBe(4)
    for (const [name, value] of Object.entries(metrics)) expect(Number.isFinite(value), name).toBe(true)
  })
})

describe('prompts', () => {
  it('opens thinking for both roles and shows the solver nothing but the question', async () => {
    const { proposer, solver } = await play()
    expect(proposer.asked[0]!.prompt).toMatch(/system\n.*assistant\n<think>\n$/s)
    expect(solver.asked.at(-1)!.prompt).toContain(`user\n${question('0')}`)
    expect(solver.asked[0]!.params).toEqual({ maxTokens: 6144, temperature: 0.6, topP: 1, topK: 0, stop: [] })
  })

  it('can be as short as a tiny model needs', async () => {
    const { solver } = await play({ settings: { solver: { system: '', user: '{question}', think: false } } })
    expect(solver.asked.at(-1)!.prompt).toBe(`\ue000user\n${question('0')}\ue001\n\ue000assistant\n`)
    const config = schema.parse({ solver: { system: '', think: false } })
    expect(pasodoble.anchorPrompt!(config, '1+1?')).toEqual({ messages: [{ role: 'user', content: '1+1?' }] })
  })
})

describe('knowledge', () => {
  it('is shown to the proposer, never to the solver, and read once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sparring-'))
    const path = join(folder, 'texts.jsonl')
    const texts = ['on apples', 'on pears', `on everything${'.'.repeat(100)}`]
    writeFileSync(path, texts.map((text) => JSON.stringify({ text })).join('\n'))
    const config = schema.parse({ texts_per_round: 20, questions: 1, knowledge: { path, max_tokens: 50 } })
    const policies = { proposer: scriptedPolicy(() => proposal('3')), solver: scriptedPolicy(solves) }
    const state = await pasodoble.setup(scriptedContext({ config, policies }))
    rmSync(folder, { recursive: true })
    await pasodoble.round(scriptedContext({ config, policies }), state)

    const shown = policies.proposer.asked.map(({ prompt }) => texts.filter((text) => prompt.includes(text)))
    expect(shown.every((seen) => seen.length === 1)).toBe(true)
    expect(new Set(shown.flat())).toEqual(new Set(['on apples', 'on pears']))
    expect(policies.solver.asked.some(({ prompt }) => /apples|pears/.test(prompt))).toBe(false)
  })

  it('is not asked for without it', async () => {
    const { proposer, config } = await play({ settings: { knowledge: false } })
    expect(proposer.asked[0]!.prompt).toContain(`user\n${config.proposer.user_without_knowledge}`)
  })
})

describe('garbage', () => {
  const nul = '\u0000\u001b[2J\ufffd'
  it.each<[string, string | { text: string; stop: 'length' }]>([
    ['nothing', ''],
    ['an endless completion', { text: 'again and '.repeat(2000), stop: 'length' }],
    ['a problem without an answer', '</think><problem>What now?</problem>'],
    ['an answer without a problem', '</think>\\boxed{right}'],
    ['control characters', `</think><problem>${nul}</problem>\\boxed{${nul}}`],
    ['unclosed tags without end', '</think><problem>'.repeat(500)],
    ['an answer that is its own question', '</think><problem>right</problem>\\boxed{right}'],
  ])('%s earns nothing and trains nobody', async (_, text) => {
    const { report, proposer, solver } = await play({ proposer: () => text, solver: () => text })
    expect(records(report, 'proposer').every((record) => record.reward === 0)).toBe(true)
    expect(report.skipped).toBe('no question was solved some of the time')
    expect(proposer.version + solver.version).toBe(0)
    expect(report.metrics['proposer/optim/steps']).toBe(0)
  })

  it('does not ask malformed questions, unless as the released code', async () => {
    const proposer: Script = () => '</think>\\boxed{right}'
    expect((await play({ proposer })).solver.asked).toHaveLength(0)
    const { solver, report } = await play({
      proposer,
      settings: { as: 'code' },
      solver: (_, j) => `\\boxed{${j < 3 ? 'right' : ''}}`,
    })
    expect(solver.asked).toHaveLength(6)
    expect(report.skipped).toBe('no question was solved some of the time')
  })

  it('leaves out prompts over the limit, or cuts their beginning for training', async () => {
    const limited = { solver: { max_prompt_tokens: 20 } }
    const skipped = await play({ settings: limited })
    expect(skipped.solver.asked).toHaveLength(0)
    expect(skipped.report.metrics['questions/too_long_frac']).toBe(1)
    const cut = await play({ settings: { ...limited, over_limit: 'cut' } })
    const { tokens, targets } = cut.solver.trained[0]!.data[0]!
    const answer = 'thus \\boxed{right}\ue001'
    expect(tokens).toHaveLength(20 + answer.length - 1)
    expect(String.fromCharCode(...targets).endsWith(answer)).toBe(true)

    const mute = await play({ settings: { proposer: { max_prompt_tokens: 5 } } })
    expect(mute.report.skipped).toBe('no prompt of the proposer is within its limit')
  })
})

describe('history', () => {
  it('keeps well-formed questions of every batch, survives JSON and lowers diversity in the next round', async () => {
    const first = await play()
    expect(first.report.metrics['diversity/mean']).toBe(1)
    const second = await play({ state: first.state })
    expect(second.report.metrics['questions/duplicate_frac']).toBe(1)
    const [record] = records(second.report, 'proposer').slice(2)
    expect(record!.parts).toMatchObject({ duplicates: 6, diversity: 0 })
    expect(record!.reward).toBe(0)
  })

  it('trains the solver alone where repetition makes all proposer rewards 0, and nobody as the released code', async () => {
    const { state } = await play()
    const ours = await play({ state })
    expect([ours.proposer.version, ours.solver.version]).toEqual([0, 4])
    expect(ours.report.skipped).toBeUndefined()
    const code = await play({ state, settings: { as: 'code' } })
    expect([code.proposer.version, code.solver.version]).toEqual([0, 0])
    expect(code.report.skipped).toBe('all rewards of the proposer are equal')
    const gated = await play({ state, settings: { gate_solver_on_diversity: true } })
    expect(gated.solver.version).toBe(0)
    const free = await play({ state, settings: { diversity: false } })
    expect(free.proposer.version).toBe(1)
  })

  it('takes whole batches, if any of its questions was solved, as the released code', async () => {
    const solver: Script = () => '\\boxed{wrong}'
    const settings = { as: 'code' }
    const hopeless = await play({ settings, solver })
    const mixed = await play({ settings, proposer: (_, i) => (i === 0 ? '' : proposal(String(i))) })
    const duplicates = async (state: unknown) =>
      records((await play({ settings, state })).report, 'proposer')[1]!.parts.duplicates
    expect(await duplicates(hopeless.state)).toBe(0)
    expect(await duplicates(mixed.state)).toBe(5)
    const { report } = await play({ settings, state: mixed.state, proposer: () => '' })
    expect(records(report, 'proposer')[0]!.parts.duplicates).toBe(1)
  })
})

describe('settings', () => {
  it('scores each text by itself and makes one proposer step of the texts that are kept', async () => {
    let text = -1
    const proposer: Script = (_, i) => {
      if (i === 5) text++
      return text % 2 === 0 ? proposal(String(i)) : ''
    }
    const { report, proposer: policy, solver } = await play({ settings: { texts_per_round: 2 }, proposer })
    expect(records(report, 'proposer')).toHaveLength(12)
    expect(policy.trained.map(({ data }) => data.length)).toEqual([6])
    expect(solver.version).toBe(4)
    expect(report.metrics['texts/kept_frac']).toBe(0.5)
    const trained = records(report, 'proposer').filter((record) => record.trained)
    expect(new Set(trained.map((record) => record.group)).size).toBe(1)
  })

  it('makes one solver step of all valid questions', async () => {
    const { solver } = await play({ settings: { solver_steps: 'per_batch' } })
    expect(solver.trained.map(({ data }) => data.length)).toEqual([24])
  })

  it('freezes the proposer', async () => {
    const { proposer, solver, report } = await play({ settings: { frozen: 'proposer' } })
    expect([proposer.version, solver.version]).toEqual([0, 4])
    expect(records(report, 'proposer').some((record) => record.trained)).toBe(false)
  })

  it('tosses coins for the random controls, and grades nothing', async () => {
    const blind: Script = (_, j) => (j < 3 ? 'no box' : '\\boxed{anything}')
    const random = await play({ settings: { answer_reward: 'random' }, solver: blind })
    const partial = await play({ settings: { answer_reward: 'partially_random' }, solver: blind })
    const paid = (report: RoundReport, boxed: boolean) =>
      records(report, 'solver').filter(
        (record) => record.reward === 1 && record.text.includes('boxed') === boxed,
      )
    expect(paid(random.report, false).length).toBeGreaterThan(0)
    expect(paid(partial.report, false)).toHaveLength(0)
    expect(paid(partial.report, true).length).toBeGreaterThan(0)
    expect(paid(partial.report, true).length).toBeLessThan(18)
    expect(random.grader.calls + partial.grader.calls).toBe(0)
  })

  it("keeps a flawed question's answers from the solver, unless as the released code", async () => {
    const proposer: Script = (_, i) => proposal(String(i), i === 3 ? 'the game' : 'right')
    const solver: Script = (prompt, j) =>
      prompt.includes('Question 3') ? `\\boxed{${j < 3 ? 'the game' : ''}}` : solves(prompt, j)
    const ours = await play({ proposer, solver })
    expect(records(ours.report, 'proposer')[3]).toMatchObject({
      reward: 0,
      parts: { flaw: 'answer_in_question' },
    })
    expect(ours.solver.version).toBe(3)
    const code = await play({ proposer, solver, settings: { as: 'code' } })
    expect(records(code.report, 'proposer')[3]!.reward).toBe(0)
    expect(code.solver.version).toBe(4)
  })
})

describe('label audit', () => {
  it('tells how true labels and answers are, and touches no reward', async () => {
    const world: World = {
      name: 'test',
      solve: (text) =>
        text.includes('Question 5') ? undefined : text.includes('Question 2') ? 'wrong' : 'right',
    }
    const plain = await play()
    const { report, grader } = await play({ world })
    expect(report.metrics).toMatchObject({ 'labels/in_world_frac': 5 / 6, 'labels/accuracy': 4 / 5 })
    expect(report.metrics['labels/accuracy_valid']).toBeCloseTo(2 / 3, 12)
    expect(report.metrics['labels/solver_accuracy']).toBeCloseTo((0 + 1 + 4 + 3 + 4) / 30, 12)
    expect(grader.calls).toBe(1)
    expect(report.rollouts.map((record) => record.reward)).toEqual(
      plain.report.rollouts.map((record) => record.reward),
    )
    expect(records(report, 'proposer')[2]!.parts).toMatchObject({ truth: 'wrong', label_right: false })
    expect(plain.report.metrics).not.toHaveProperty('labels/accuracy')
  })
})

describe('workload', () => {
  it('is the largest step', () => {
    const config = schema.parse({
      texts_per_round: 2,
      proposer: { max_tokens: 50, max_prompt_tokens: 10 },
      solver: { max_tokens: 30, max_prompt_tokens: 20 },
    })
    expect(pasodoble.workload!(config)).toEqual({ trainTokens: 12 * 60, longestSequence: 60, sampleRows: 72 })
    expect(pasodoble.workload!({ ...config, solver_steps: 'per_batch' }).trainTokens).toBe(72 * 50)
  })
})
