import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { plainGrader } from '../../../test/support/plain-grader.js'
import { type Script, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import { judge } from '../../grader/grade.js'
import { activeAlarms } from '../../runs/alarms.js'
import type { RolloutRecord, RoundReport } from '../game.js'
import { config as schema } from './config.js'
import { printCritique } from './critique.js'
import { solverCritic } from './game.js'
import { equationsOf } from './plant.js'
import { criticTexts } from './prompts.js'

/** Solution j of problem i is right where j < i + 1; wrong ones slip in the second step and box what they got. */
const solves: Script = (prompt, j) => {
  const i = Number(/Problem (\d)/.exec(prompt)![1])
  return j < i + 1
    ? `20+${i}+4=${20 + i}+4=${24 + i} \\boxed{${24 + i}}`
    : `20+${i}+4=${20 + i}+4=30 \\boxed{30}`
}

interface Opinion {
  sound: boolean[]
  score: number
  correct: boolean
  firstError: number | null
}

const say = ({ sound, score, correct, firstError }: Opinion) =>
  printCritique(
    { sound, logic: score, steps: score, answer: score, correct, firstError, feedback: 'Add again.' },
    sound.map(() => 'redone'),
  )

const stepsIn = (prompt: string) => [...prompt.matchAll(/^Step \d+: (.*)$/gm)].map((match) => match[1]!)

/** Redoes every equation it is shown. */
const honest: Script = (prompt) => {
  const steps = stepsIn(prompt)
  const wrong = new Set(
    equationsOf(steps)
      .filter(({ left, right }) => judge({ gold: left, prediction: right, kind: 'answer' }).equal === false)
      .map(({ step }) => step),
  )
  const sound = steps.map((_, k) => !wrong.has(k + 1))
  const first = sound.indexOf(false)
  return say({
    sound,
    score: first < 0 ? 10 : 2,
    correct: first < 0,
    firstError: first < 0 ? null : first + 1,
  })
}
const always =
  (correct: boolean): Script =>
  (prompt) =>
    say({ sound: stepsIn(prompt).map(() => correct), score: 7, correct, firstError: correct ? null : 1 })

interface Play {
  settings?: object
  solver?: Script
  critic?: Script
  answers?: (i: number) => string | undefined
  round?: number
  state?: unknown
}

const known = (i: number) => `${24 + i}`

async function play({
  settings = {},
  solver = solves,
  critic = honest,
  answers = known,
  round = 0,
  state,
}: Play = {}) {
  const path = join(temporaryFolder(), 'problems.jsonl')
  const lines = [0, 1, 2, 3].map((i) => JSON.stringify({ problem: `Problem ${i}`, answer: answers(i) }))
  writeFileSync(path, lines.join('\n'))
  const config = schema.parse({
    ...{ problems: path, problems_per_round: 4, answers: 4, split: 'links', kl: 0, drift_every: 0 },
    ...settings,
  })
  const policies = { solver: scriptedPolicy(solver), critic: scriptedPolicy(critic) }
  const seats = config.self_play ? { solver: policies.solver, critic: policies.solver } : policies
  const ctx = scriptedContext({ config, policies: seats, grader: plainGrader, round })
  const start = (state ?? (await solverCritic.setup(ctx))) as never
  const played = await solverCritic.round(ctx, start)
  return { ...policies, config, report: played.report, state: JSON.parse(JSON.stringify(played.state)) }
}

const of = (report: RoundReport, role: string): RolloutRecord[] =>
  report.rollouts.filter((each) => each.role === role)
const exhibits = (report: RoundReport, kind: string) =>
  of(report, 'critic').filter(({ parts }) => parts.kind === kind)

describe('a round of the critic', () => {
  it('pays an honest critic all there is, and trains it alone', async () => {
    const { report, solver, critic } = await play()
    for (const { reward, parts } of exhibits(report, 'planted').concat(exhibits(report, 'twin'))) {
      expect(parts).toMatchObject({ evidence: 1, coherence: 1, agreement: 1, outcome: null, ranking: null })
      expect(reward).toBeCloseTo(2.25, 12)
    }
    for (const { parts } of exhibits(report, 'solution')) {
      expect(parts).toMatchObject({
        coherence: 1,
        agreement: 1,
        said_correct: parts.right,
        fooled: false,
        evidence: null,
      })
      expect(parts.ranking).toBe(
        of(report, 'solver').some((each) => each.group === 3) && parts.ranking === null ? null : 1,
      )
    }
    expect(report.metrics).toMatchObject({
      'critic/balanced_accuracy': 1,
      'critic/auc': 1,
      'critic/planted_recall': 1,
      'critic/false_alarm': 0,
      'critic/process_f1': 1,
      'critic/evidence_yes_frac': 0.5,
      'critic/parsed_frac': 1,
      'solver/optim/steps': 0,
    })
    expect(solver.version).toBe(0)
    expect(critic.version).toBe(1)
  })

  it('shows as many planted errors and twins as it is told to, of right solutions only', async () => {
    const { report } = await play({ settings: { evidence_share: 0.5, critiques: 1 } })
    const [planted, twins] = [exhibits(report, 'planted'), exhibits(report, 'twin')]
    expect(exhibits(report, 'solution')).toHaveLength(16)
    expect(planted.length).toBe(twins.length)
    expect(planted.length).toBeGreaterThanOrEqual(7)
    for (const [i, { parts, prompt, group }] of planted.entries()) {
      const twin = twins.filter((each) => each.group === group && each.parts.solution === parts.solution)
      const steps = stepsIn(prompt)
      expect(steps).not.toEqual(stepsIn(twin[0]!.prompt))
      expect(honest(prompt, i)).toContain(`FIRST_ERROR: ${parts.planted}`)
      expect(twin[0]!.parts).toMatchObject({ right: true, planted: null })
    }
    expect(report.metrics['critic/evidence_pairs']).toBe(planted.length)
    expect(exhibits((await play({ settings: { evidence_share: 0 } })).report, 'planted')).toEqual([])
  })

  it('makes all critiques of a problem one group', async () => {
    const { report } = await play({ critic: (prompt, m) => (m === 0 ? honest : always(true))(prompt, m) })
    for (const problem of [0, 1, 2, 3]) {
      const group = of(report, 'critic').filter((each) => each.group === problem)
      expect(group.map(({ index }) => index)).toEqual(group.map((_, i) => i))
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 9)
    }
    expect(of(report, 'critic').every(({ trained }) => trained)).toBe(true)
  })

  it('remembers how many solutions are right, and weights outcome alignment by it', async () => {
    const first = await play()
    const share = (1 + 2 + 3 + 4) / 16
    expect(first.state.right).toBeCloseTo(share, 12)
    const second = await play({ state: { right: 0.9 }, solver: () => 'nothing' })
    expect(second.state.right).toBeCloseTo(0.81, 12)
    expect(second.report.metrics['critic/weight_wrong']).toBeGreaterThan(
      second.report.metrics['critic/weight_right']!,
    )
  })
})

describe('a round of the solver', () => {
  it('pays what is right, and what convinces through the gate', async () => {
    const { report, solver, critic } = await play({ round: 40, critic: always(true) })
    for (const { reward, parts } of of(report, 'solver')) {
      expect(parts.critique).toBeCloseTo(0.7, 12)
      expect(reward).toBeCloseTo(parts.right ? 1 + 0.5 * 0.7 + 0.1 : 0.5 * 0.5 * 0.7 + 0.1, 12)
    }
    expect([solver.version, critic.version]).toEqual([1, 0])
    expect(exhibits(report, 'planted')).toEqual([])
    expect(report.metrics['solver/reward/outcome']).toBe(10 / 16)
  })

  it('never sees a word of the critic where it is measured, nor does the critic see the answer', async () => {
    const { critic, solver, config } = await play({ answers: (i) => `${24 + i}.0`, critic: () => 'SECRET' })
    for (const { prompt } of critic.asked) expect(prompt).not.toMatch(/2\d\.0/)
    for (const { prompt } of solver.asked) expect(prompt).not.toContain('SECRET')
    expect(solverCritic.anchorPrompt!(config, '1+1?')).toEqual({
      messages: [
        { role: 'system', content: config.solver.system },
        { role: 'user', content: '1+1?' },
      ],
    })
  })
})

describe('degenerate play', () => {
  const copies: Script = (prompt) => prompt
  const cases: [string, Script, number][] = [
    ['copies its prompt', copies, 0],
    ['recites its instructions', () => criticTexts.system, 0],
    ['says nothing', () => '', 0],
    ['says one token', () => 'CORRECT', 0],
    ['is cut off', (prompt, m) => ({ text: String(honest(prompt, m)).slice(0, 30), stop: 'length' }), 0],
  ]

  it.each(cases)('a critic that %s earns -0.5 throughout and learns nothing', async (_, critic) => {
    const { report, critic: policy } = await play({ critic })
    expect(of(report, 'critic').map(({ reward }) => reward)).toEqual(of(report, 'critic').map(() => -0.5))
    expect(report.metrics['critic/parsed_frac']).toBe(0)
    expect(policy.version).toBe(0)
    expect(report.skipped).toBe('no group has a rollout of the critic better than another')
    const solver = await play({ critic, round: 40 })
    expect(
      of(solver.report, 'solver').every(({ reward, parts }) => reward === (parts.right ? 1.1 : 0.1)),
    ).toBe(true)
  })

  it.each([true, false])(
    'a critic that calls all solutions correct (%s) ranks nothing and finds nothing',
    async (correct) => {
      const { report } = await play({ critic: always(correct) })
      const { metrics } = report
      expect(metrics['critic/balanced_accuracy']).toBe(0.5)
      expect(metrics['critic/auc']).toBe(0.5)
      expect(metrics['critic/evidence_yes_frac']).toBe(Number(correct))
      expect(metrics['critic/fooled_frac']).toBe(Number(correct))
      for (const { parts, reward } of exhibits(report, 'solution')) {
        expect(parts.ranking ?? 0).toBe(0)
        if (parts.right !== correct) expect(reward).toBe(correct ? -1 : 0)
      }
      const wrong = exhibits(report, correct ? 'planted' : 'twin')
      expect(wrong.map(({ parts }) => parts.evidence)).toEqual(wrong.map(() => 0))
      const mean = (report: RoundReport) => report.metrics['critic/reward/mean']!
      expect(mean(report)).toBeLessThan(mean((await play()).report) - 0.5)

      const line = (step: number) => ({ step, ...metrics })
      const alarms = activeAlarms(Array.from({ length: 6 }, (_, step) => line(step)))
      expect(alarms.map(({ name }) => name)).toContain('critic_one_sided')
    },
  )

  it('raises an alarm where critiques cannot be read', async () => {
    const { metrics } = (await play({ critic: () => '' })).report
    const alarms = activeAlarms(Array.from({ length: 6 }, (_, step) => ({ step, ...metrics })))
    expect(alarms.map(({ name }) => name)).toContain('critic_unparsable')
  })

  it.each([
    ['nothing', ''],
    ['one token', '7'],
    ['an open box', '\\boxed{'],
    ['control characters', '\u0000\u001b[2J'],
    ['equations without end', 'x='.repeat(3000)],
  ])('a solver that says %s is judged like any other', async (_, text) => {
    for (const round of [0, 40]) {
      const { report } = await play({ solver: () => text, round })
      expect(of(report, 'solver').every(({ parts }) => parts.right === false)).toBe(true)
      expect(exhibits(report, 'planted')).toEqual([])
      for (const value of Object.values(report.metrics)) expect(Number.isFinite(value)).toBe(true)
    }
  })
})

describe('without an answer key', () => {
  const majority = { labels: 'majority' }

  it('learns the very same whatever the known answers say, or whether there are any', async () => {
    for (const round of [0, 40]) {
      const played = await Promise.all(
        [known, () => 'poison', () => undefined].map((answers) =>
          play({ settings: majority, answers, round }),
        ),
      )
      const [clean, poisoned, none] = played.map(({ report, solver, critic, state }) => ({
        state,
        rewards: report.rollouts.map(({ role, reward, advantage, trained }) => ({
          role,
          reward,
          advantage,
          trained,
        })),
        trained: [...solver.trained, ...critic.trained],
      }))
      expect(clean!.trained.length).toBe(1)
      expect(poisoned).toEqual(clean)
      expect(none).toEqual(clean)
      expect(played[0]!.report.metrics['labels/accuracy']).toBe(3 / 4)
      expect(played[1]!.report.metrics['labels/accuracy']).toBe(0)
      expect(played[2]!.report.metrics).not.toHaveProperty('labels/accuracy')
    }
  })

  it('differs where labels are known', async () => {
    const rewards = async (answers: (i: number) => string) =>
      of((await play({ answers, round: 40 })).report, 'solver').map(({ reward }) => reward)
    expect(await rewards(() => 'poison')).not.toEqual(await rewards(known))
  })

  it('takes the majority for right where it is large enough, and skips the rest', async () => {
    const { report } = await play({ settings: { ...majority, majority_share: 0.75 } })
    // 3 of 4, 2 of 4, 3 of 4 and 4 of 4 agree; in the first it is on the wrong answer.
    expect(report.metrics['problems/skipped_frac']).toBe(0.25)
    expect(new Set(of(report, 'solver').map(({ group }) => group)).size).toBe(3)
    const wrong = of(report, 'solver').filter(({ text }) => text.includes('boxed{30}'))
    expect(wrong.filter(({ parts }) => parts.right === true)).toHaveLength(3)
    expect(of(report, 'solver')[0]!.parts.labels).toBe('majority')
  })

  it('plants no error in a solution that the checker finds false, whatever the majority says', async () => {
    const { report } = await play({ settings: { ...majority, evidence_share: 0.6 } })
    for (const { prompt } of exhibits(report, 'twin')) expect(prompt).not.toContain('=30')
    expect(exhibits(report, 'twin').length).toBeGreaterThan(0)
  })

  it('goes on where no problem has a majority', async () => {
    const { report } = await play({ settings: majority, solver: (_, j) => `\\boxed{${j}}` })
    expect(report).toMatchObject({ skipped: 'no problem has solutions that can be labelled', rollouts: [] })
  })

  it('asks for answers where labels are to be known', async () => {
    await expect(play({ answers: () => undefined })).rejects.toMatchObject({ code: 'data' })
  })
})

describe('the revise round', () => {
  const solver: Script = (prompt, j) => (prompt.includes('Add again.') ? '\\boxed{24}' : solves(prompt, j))

  it('hands every critique back to the solver, pays the critic for the change, and trains the solver on both', async () => {
    const plain = await play({ settings: { evidence_share: 0 } })
    const { report, solver: policy } = await play({ settings: { revise: true, evidence_share: 0 }, solver })
    const again = policy.asked.filter(({ prompt }) => prompt.includes('Add again.'))
    expect(again).toHaveLength(32)
    expect(again[0]!.prompt).toMatch(/user\nProblem \d.*assistant\n20\+.*user\nAdd again\./s)
    of(report, 'critic').forEach(({ reward, parts, group }, i) => {
      const right = Number(plain.report.rollouts.some((each) => each.group === group) && parts.revised_right)
      expect(reward - of(plain.report, 'critic')[i]!.reward).toBeCloseTo(
        0.5 * (right - Number(parts.right)),
        12,
      )
    })
    expect(report.metrics['revision/right_frac']).toBe(0.25)
    expect(report.metrics['revision/change']).toBeCloseTo(0.25 - 10 / 16, 12)

    const learning = await play({
      settings: { revise: true },
      solver: (p, j) => (p.includes('again') && j === 0 && p.includes('boxed{30}') ? 'no' : solver(p, j)),
      round: 40,
    })
    const records = of(learning.report, 'solver')
    expect(records.filter(({ parts }) => parts.revises !== undefined)).toHaveLength(32)
    expect(new Set(records.map(({ group }) => group)).size).toBe(8)
    expect(records.every(({ trained }) => trained)).toBe(true)
  })
})

describe('settings', () => {
  it('lets one policy play both roles', async () => {
    const { solver, critic, report } = await play({
      settings: { self_play: true },
      solver: (prompt, i) =>
        prompt.includes('VERDICT') ? (i === 0 ? honest : always(true))(prompt, i) : solves(prompt, i),
    })
    expect(critic.asked).toHaveLength(0)
    expect(solver.version).toBe(1)
    expect(of(report, 'critic').length).toBeGreaterThan(0)
    expect(solverCritic.playedBy!(schema.parse({ self_play: true }), 'critic')).toBe('solver')
  })

  it('freezes the critic', async () => {
    const { solver, critic } = await play({ settings: { frozen: 'critic' } })
    expect([solver.version, critic.version]).toEqual([1, 0])
  })

  it('compares the critic with its copy from the start, on the same exhibits', async () => {
    const { critic, report } = await play({ settings: { drift_every: 1 } })
    expect(report.metrics['critic/start_balanced_accuracy']).toBe(1)
    expect(report.metrics['critic/start_agreement']).toBe(1)
    const shown = (n: number) => critic.asked.filter((each) => each.n === n).map(({ prompt }) => prompt)
    expect(shown(1)).toEqual(shown(2))
  })

  it('leaves out solutions over the limit of the critic', async () => {
    const { report, critic } = await play({ settings: { critic: { max_prompt_tokens: 20 } } })
    expect(critic.asked).toHaveLength(0)
    expect(report.skipped).toBe('no solution fits the prompt of the critic')
    expect((await play({ settings: { critic: { max_prompt_tokens: 20 } }, round: 40 })).solver.version).toBe(
      1,
    )
  })

  it('keeps near the start weights', async () => {
    const { critic } = await play({
      settings: { kl: 0.01 },
      critic: (p, m) => (m === 0 ? honest : always(true))(p, m),
    })
    expect(critic.trained[0]!.loss).toMatchObject({ klCoefficient: 0.01 })
  })

  it("are the method's by default", () => {
    expect(schema.parse({})).toMatchObject({
      answers: 8,
      critiques: 2,
      warmup: 40,
      solver_turns: 3,
      critic_turns: 1,
      critique_weight: 0.5,
      gate_wrong: 0.5,
      weights: { outcome: 1, coherence: 0.5, evidence: 0.5, ranking: 0.5, agreement: 0.25 },
      unparsable_reward: -0.5,
      fooled_penalty: 1,
      evidence_share: 0.25,
      majority_share: 0.5,
      helpfulness: 0.5,
      kl: 0.01,
      clip_low: 0.2,
      solver: { temperature: 1 },
    })
    expect(schema.safeParse({ self_play: true, frozen: 'critic' }).success).toBe(false)
  })
})
