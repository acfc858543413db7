import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boxGrader, type Script, scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import { activeAlarms } from '../../runs/alarms.js'
import type { RoundReport, World } from '../game.js'
import { config as schema } from './config.js'
import { pasodoble } from './game.js'
import { type OfflineState, startOffline, type Turn, turnAfter } from './offline.js'

const proposal = (name: string | number) =>
  `</think><problem>Question ${name} of the game?</problem><answer>\\boxed{right}</answer>`

/** The i-th question of every text is solved i times of 6, so that 2 .. 5 enter the buffer. */
const proposes: Script = (_, i) => proposal(i)
const solves: Script = (prompt, j) =>
  `\\boxed{${j < Number(/Question (\d)/.exec(prompt)?.[1]) ? 'right' : 'wrong'}}`

interface Play {
  offline?: object
  settings?: object
  proposer?: Script
  solver?: Script
  world?: World
}

/** Plays rounds and keeps what each left behind; states go through JSON, as on disk. */
async function play(rounds: number, given: Play = {}) {
  const { offline = {}, settings = {}, proposer = proposes, solver = solves, world } = given
  const config = schema.parse({ schedule: 'offline', offline, ...settings })
  const policies = { proposer: scriptedPolicy(proposer), solver: scriptedPolicy(solver) }
  const ctx = (round: number) =>
    scriptedContext({ config, policies, round, rounds, grader: boxGrader(), ...(world && { world }) })
  let state = (await pasodoble.setup(ctx(0))) as OfflineState
  const played: { turn: Turn; report: RoundReport; state: OfflineState; versions: number[] }[] = []
  for (let round = 0; round < rounds; round++) {
    const { turn } = state
    const result = await pasodoble.round(ctx(round), state)
    state = JSON.parse(JSON.stringify(result.state))
    const versions = [policies.proposer.version, policies.solver.version]
    played.push({ turn, report: result.report, state, versions })
  }
  return { played, policies, state, phases: played.map(({ turn }) => turn.phase[0]).join('') }
}

const buffered = ({ buffer }: OfflineState) =>
  buffer.questions.map(({ question }) => /\d+/.exec(question)![0]).join('')
const revisited = ({ rollouts }: RoundReport) =>
  rollouts
    .filter(({ index }) => index === 0)
    .map(({ parts }) => /\d+/.exec(String(parts.question))![0])
    .join('')

describe('the phases', () => {
  it('are ten updates of the proposer and five of the solver', async () => {
    const { phases, played } = await play(31, { settings: { diversity: false } })
    expect(phases).toBe(`${'p'.repeat(10)}${'s'.repeat(5)}`.repeat(2).concat('p'))
    expect(played.map(({ turn }) => turn.iteration)).toEqual([...Array(15).fill(0), ...Array(15).fill(1), 2])
    // Six buffered questions, all of them still valid, are six steps of the solver.
    expect([9, 14, 24, 29].map((i) => played[i]!.versions)).toEqual([
      [10, 0],
      [10, 30],
      [20, 30],
      [20, 60],
    ])
    expect(played[3]!.report.metrics).toMatchObject({
      'turn/iteration': 0,
      'turn/solver': 0,
      'turn/failed_draws': 0,
      'buffer/size': 16,
      'proposer/optim/steps': 1,
      'solver/optim/steps': 0,
    })
    expect(played[10]!.report.metrics).toMatchObject({
      'turn/solver': 1,
      'buffer/size': 40,
      'proposer/optim/steps': 0,
      'solver/optim/steps': 6,
    })
  })

  it('train nobody but the role they belong to, and say so', async () => {
    const offline = { proposer_updates: 1, solver_updates: 1 }
    const { played, policies } = await play(2, { offline })
    const trained = (i: number, role: string) =>
      played[i]!.report.rollouts.filter((record) => record.role === role && record.trained).length
    expect([trained(0, 'proposer'), trained(0, 'solver')]).toEqual([6, 0])
    expect([trained(1, 'proposer'), trained(1, 'solver')]).toEqual([0, 36])
    expect([policies.proposer.version, policies.solver.version]).toEqual([1, 6])
    expect(policies.proposer.asked).toHaveLength(1)
  })

  it('count no draw that nobody can learn from, and end after so many in a row', async () => {
    let text = -1
    const proposer: Script = (_, i) => {
      if (i === 5) text++
      return [0, 3].includes(text) ? proposal(i) : ''
    }
    const offline = { proposer_updates: 3, max_failed_draws: 3, solver_updates: 1 }
    const { phases, played, state } = await play(8, { offline, proposer, settings: { diversity: false } })
    expect(phases).toBe('pppppppsp'.slice(0, 8))
    expect(played.map(({ report }) => report.metrics['turn/failed_draws'])).toEqual([0, 1, 2, 0, 1, 2, 3, 0])
    expect(played[1]!.report.skipped).toBe('no question was solved some of the time')
    expect(state.turn).toEqual({ phase: 'proposer', iteration: 1, updates: 0, failedDraws: 0 })
  })

  it("end the solver's as well, where the released code would spin: no question is valid any more", async () => {
    const offline = { proposer_updates: 1, max_failed_draws: 2 }
    let asked = 0
    const solver: Script = (prompt, j) => (asked++ < 36 ? solves(prompt, j) : '\\boxed{right}')
    const { phases, played } = await play(4, { offline, solver })
    expect(phases).toBe('pssp')
    expect(played[1]!.report.skipped).toBe('no question of the buffer was solved some of the time')
    expect(played[1]!.report.metrics).toMatchObject({ 'buffer/valid_frac': 0, 'buffer/pass_rate_mean': 1 })
  })

  it("have no solver's phase while the buffer is empty", async () => {
    const offline = { proposer_updates: 1, max_failed_draws: 2 }
    const { phases, state } = await play(5, { offline, proposer: () => 'nothing' })
    expect(phases).toBe('ppppp')
    expect(state.turn.iteration).toBe(2)
  })

  it('follow each other whatever happens, and never outlast their bounds', () => {
    const settings = schema.parse({
      offline: { proposer_updates: 3, solver_updates: 2, max_failed_draws: 2 },
    })
    const draws = fc.array(fc.record({ updated: fc.boolean(), questions: fc.integer({ min: 0, max: 2 }) }))
    fc.assert(
      fc.property(draws, (all) => {
        let { turn } = startOffline({ history: { capacity: 1, questions: [] } })
        let length = 0
        for (const { updated, questions } of all) {
          const next = turnAfter(turn, updated, questions, settings.offline)
          length++
          const over = next.phase !== turn.phase || next.iteration !== turn.iteration
          expect(length).toBeLessThanOrEqual(6)
          if (next.phase === 'solver') expect(questions).toBeGreaterThan(0)
          if (!over) expect(next.updates - turn.updates).toBe(Number(updated))
          else {
            expect([next.updates, next.failedDraws]).toEqual([0, 0])
            expect(next.iteration - turn.iteration).toBe(Number(next.phase === 'proposer'))
            length = 0
          }
          turn = next
        }
      }),
    )
  })
})

describe('the buffer', () => {
  it('takes the valid questions of every draw, and grows', async () => {
    const { played } = await play(3, { settings: { diversity: false } })
    expect(played.map(({ state }) => buffered(state))).toEqual(['2345', '23452345', '234523452345'])
    expect(played[1]!.state.buffer.questions[4]).toEqual({
      question: 'Question 2 of the game?',
      answer: 'right',
      best: 2 / 6,
      stale: 0,
      born: 1,
    })
  })

  it('is read in a circle that goes on where it stopped, with fresh answers', async () => {
    const offline = { proposer_updates: 1, solver_updates: 2, questions_per_update: 3 }
    const { played, policies } = await play(6, { offline, settings: { diversity: false } })
    // 2345 in the buffer: 234, 523; then 2345 more: the pointer stands before the 4 of the first.
    expect([1, 2].map((i) => revisited(played[i]!.report))).toEqual(['234', '523'])
    expect([4, 5].map((i) => revisited(played[i]!.report))).toEqual(['452', '345'])
    expect(policies.solver.asked.slice(-3).map(({ n }) => n)).toEqual([6, 6, 6])
    const record = played[4]!.report.rollouts[0]!
    expect(record).toMatchObject({
      role: 'solver',
      group: 0,
      reward: 1,
      parts: { question: 'Question 4 of the game?', gold: 'right', pass_rate: 4 / 6, proposed_in: 1 },
    })
    expect(played[4]!.report.metrics['buffer/age_mean']).toBeCloseTo((4 + 4 + 1) / 3, 12)
  })

  it('counts pass rates anew: what has become easy or hopeless is not trained on', async () => {
    const offline = { proposer_updates: 1 }
    let asked = 0
    const solver: Script = (prompt, j) => {
      if (asked++ < 36) return solves(prompt, j)
      return `\\boxed{${prompt.includes('Question 2') || j === 0 ? 'right' : 'wrong'}}`
    }
    const { played, policies } = await play(2, { offline, solver })
    // 2 is solved always, the others once of six: none is valid.
    expect(played[1]!.report.metrics['buffer/pass_rate_mean']).toBeCloseTo((2 * 1 + 4 * (1 / 6)) / 6, 12)
    expect(policies.solver.version).toBe(0)
  })

  it("drops by its cap and by the authors' rule where the settings say so", async () => {
    const capped = await play(2, { offline: { buffer_cap: 3 }, settings: { diversity: false } })
    expect(capped.played.map(({ state }) => buffered(state))).toEqual(['345', '345'])

    const offline = { proposer_updates: 1, solver_updates: 9, questions_per_update: 4, eviction: 'authors' }
    const stuck = await play(5, { offline })
    expect(stuck.phases).toBe('psssp')
    expect(stuck.played.map(({ state }) => buffered(state))).toEqual(['2345', '2345', '2345', '', '2345'])
    const kept = await play(5, { offline: { ...offline, eviction: 'none' } })
    expect(kept.phases).toBe('pssss')
  })

  it("holds no question that cheats or repeats, as the solver's data online", async () => {
    const leak: Script = (_, i) =>
      i === 3 ? `</think><problem>Question 3 is right?</problem>\\boxed{right}` : proposal(i)
    const ours = await play(1, { proposer: leak })
    expect(buffered(ours.state)).toBe('245')
    const code = await play(1, { proposer: leak, settings: { as: 'code' } })
    expect(buffered(code.state)).toBe('2345')
    expect(code.state.buffer.questions[1]!.best).toBe(0.5)
    const gated = await play(2, { settings: { gate_solver_on_diversity: true } })
    expect(buffered(gated.state)).toBe('2345')
  })
})

describe('controls, offline', () => {
  it('a frozen proposer fills the buffer and takes no step', async () => {
    const offline = { proposer_updates: 2, solver_updates: 1 }
    const settings = { frozen: 'proposer', diversity: false }
    const { phases, policies, played } = await play(3, { offline, settings })
    expect(phases).toBe('pps')
    expect(played[0]!.report.skipped).toBe('the proposer is frozen')
    expect([policies.proposer.version, policies.solver.version]).toEqual([0, 6])
  })

  it('random rewards make the pass rates of both phases chance', async () => {
    const offline = { proposer_updates: 1, solver_updates: 1, questions_per_update: 20 }
    const { played } = await play(2, {
      offline,
      settings: { answer_reward: 'random', questions: 20 },
      proposer: () => proposal(0),
    })
    const rewards = played[1]!.report.rollouts.map(({ reward }) => reward)
    expect(rewards).toHaveLength(120)
    const mean = rewards.reduce((a, b) => a + b, 0) / 120
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.2)
  })

  it('labels are audited where the lessons come from', async () => {
    const world: World = {
      name: 'test',
      solve: (text) => (text.includes('Question 2') ? 'wrong' : 'right'),
    }
    const offline = { proposer_updates: 1, questions_per_update: 4 }
    const { played } = await play(2, { offline, world })
    expect(played[0]!.report.metrics['labels/accuracy_valid']).toBe(3 / 4)
    expect(played[1]!.report.metrics['labels/accuracy_valid']).toBe(3 / 4)
    expect(played[1]!.report.metrics['labels/solver_accuracy']).toBeCloseTo((4 + 3 + 4 + 5) / 24, 12)
    expect(played[1]!.report.metrics).not.toHaveProperty('labels/accuracy')
  })
})

describe('degenerate play', () => {
  it('one question again and again earns nothing once the history holds it, and the run goes on', async () => {
    const settings = { history_size: 6, tau_div: 0.3 }
    const offline = { proposer_updates: 2, max_failed_draws: 2, solver_updates: 1 }
    const { played, phases } = await play(12, { offline, settings, proposer: () => proposal(3) })
    expect(played[1]!.report.metrics).toMatchObject({
      'questions/duplicate_frac': 1,
      'diversity/mean': 0,
      'proposer/reward/mean': 0,
    })
    expect(phases).toMatch(/^pps/)
    expect(new Set(phases)).toEqual(new Set('ps'))
    const history = played.map(({ report }, i) => ({ step: i + 1, ...report.metrics }))
    expect(activeAlarms(history).map(({ name }) => name)).toContain('diversity_low')
  })
})

describe('workload', () => {
  it('is that of the larger phase', () => {
    const settings = {
      schedule: 'offline',
      offline: { questions_per_update: 50 },
      proposer: { max_tokens: 50, max_prompt_tokens: 10 },
      solver: { max_tokens: 30, max_prompt_tokens: 20 },
    }
    const workload = (more: object) => pasodoble.workload!(schema.parse({ ...settings, ...more }))
    expect(workload({})).toEqual({ trainTokens: 360, longestSequence: 60, sampleRows: 300 })
    expect(workload({ solver_steps: 'per_batch' }).trainTokens).toBe(50 * 6 * 50)
  })
})
