import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { scriptedRun } from '../../../test/support/scripted-run.js'
import type { Match } from '../api/match.js'
import type { RolloutRow } from '../api/rollouts.js'
import { Library } from './library.js'
import type { RunReader } from './run.js'

async function played(runFile: string): Promise<RunReader> {
  const folder = temporaryFolder()
  await scriptedRun(join(folder, 'run'), runFile)
  return (await (await Library.at(join(folder, 'run'))).open('run'))!
}

async function rowsOf(run: RunReader, role: string, round: number): Promise<RolloutRow[]> {
  return (await run.rollouts({ role, from: round, to: round, order: 'old', limit: 200 })).rows
}

async function matchOf(run: RunReader, row: RolloutRow): Promise<Match> {
  const match = (await run.match(row))!
  expect(match).toMatchObject({ run: 'run', round: row.round, at: { role: row.role, line: row.line } })
  return match
}

const role = (name: string) => `${name}: {model: ${name}, optim: {learning_rate: 1}}`
const pasodoble = `game: pasodoble, roles: {${role('proposer')}, ${role('solver')}}, anchors: {world: arithmetic, heldout: {role: solver, problems: arithmetic}}`

describe('matchOf', () => {
  it('follows a question of PasoDoble from the knowledge to the updates, from wherever it is entered', async () => {
    const run = await played(`{${pasodoble}, rounds: 1, settings: {knowledge: {path: knowledge.jsonl}}}`)
    const proposals = await rowsOf(run, 'proposer', 1)
    const proposal = proposals.find(({ question }) => question === 'Question 3 of the game?')!
    const match = await matchOf(run, proposal)
    expect(match).toMatchObject({
      game: 'pasodoble',
      question: 'Question 3 of the game?',
      label: { text: 'right', from: 'author' },
      truth: 'right',
      rate: 0.5,
      band: { low: 0.2, high: 1, closed: false },
      elsewhere: [],
    })
    const { birth, answers, checks, updates } = match
    expect(birth!.proposal.text).toContain('<problem>Question 3 of the game?</problem>')
    expect(birth!.knowledge).toBe('Sums of two numbers.\n\nAnd more.')
    expect(birth!.rivals).toHaveLength(proposals.filter(({ group }) => group === proposal.group).length - 1)
    expect(answers.map(({ reward, index }) => [index, reward])).toEqual(
      [0, 1, 2, 3, 4, 5].map((j) => [j, Number(j < 3)]),
    )
    expect(answers.reduce((sum, { advantage }) => sum + advantage!, 0)).toBeCloseTo(0)
    expect(answers[0]!.heat!.lengths.reduce((sum, length) => sum + length, 0)).toBe(answers[0]!.text.length)
    expect(checks.map(({ name, passed }) => [name, passed])).toEqual([
      ['well_formed', true],
      ['no_leak', true],
      ['not_too_long', true],
      ['in_band', true],
      ['new', true],
      ['label_true', true],
    ])
    const solver = updates.find((update) => update.role === 'solver')!
    expect([solver.used, solver.before]).toEqual([true, 0])
    expect(solver.after).toBe(solver.metrics['optim/steps'])
    expect(solver.metrics).toHaveProperty('loss')

    const answer = (await rowsOf(run, 'solver', 1)).find(
      ({ group, index }) => group === answers[0]!.group && index === 4,
    )!
    expect(await matchOf(run, answer)).toEqual({ ...match, at: answer })
  })

  it('shows what was wrong with a question that nobody was asked', async () => {
    const run = await played(
      `{${pasodoble}, rounds: 1, settings: {leak_min_length: 1, solver: {max_prompt_tokens: 5}}}`,
    )
    const [row] = await rowsOf(run, 'proposer', 1)
    const { answers, checks, updates } = await matchOf(run, row!)
    expect(answers).toEqual([])
    expect(checks.find(({ passed }) => passed === false)!.name).toBe('not_too_long')
    expect(updates).toMatchObject([{ role: 'proposer', used: false, skipped: expect.any(String) }])
  })

  it('takes a held-out answer alone', async () => {
    const run = await played(`{${pasodoble}, rounds: 1}`)
    const [row] = await rowsOf(run, 'heldout', 1)
    expect(await matchOf(run, row!)).toMatchObject({
      question: 'One of its own?',
      label: { text: 'right', from: 'known' },
      answers: [{ role: 'heldout', parts: { problem: 'One of its own?', sampling: 'sampled' } }],
      birth: null,
    })
  })

  it('ties a draw from the buffer to the proposal, and the proposal to the draw', async () => {
    const run = await played(
      `{${pasodoble}, rounds: 3, settings: {schedule: offline, offline: {proposer_updates: 1}}}`,
    )
    const [draw] = await rowsOf(run, 'solver', 2)
    const match = await matchOf(run, draw!)
    expect(match.birth).toMatchObject({ round: 1, proposal: { role: 'proposer', question: match.question } })
    expect(match.updates.map(({ role }) => role)).toEqual(['solver'])
    const { round, line } = match.birth!.proposal
    const born = await matchOf(run, { ...match.birth!.proposal, round, line })
    expect(born.elsewhere).toContainEqual({ round: 2, role: 'solver', line: draw!.line })
    expect(born.answers.every(({ trained }) => trained === false)).toBe(true)
  })

  it('ties votes to the question of R-Zero, and the pool to both', async () => {
    const run = await played(`{game: r-zero, rounds: 3, roles: {${role('challenger')}, ${role('solver')}},
      anchors: {world: arithmetic},
      settings: {challenger_rounds: 1, pool_rounds: 1, solver_rounds: 1, groups: 1, questions: 6, answers: 6}}`)
    const row = (await rowsOf(run, 'challenger', 1)).find(
      ({ question }) => question === 'Question 3 of the game?',
    )!
    const match = await matchOf(run, row)
    expect(match.label).toEqual({ text: expect.stringMatching(/right|wrong/), from: 'majority' })
    expect(match.band).toMatchObject({ low: 0.25, high: 0.75, closed: true })
    expect(new Set(match.answers.map(({ question }) => question))).toEqual(new Set([match.question]))
    expect(match.answers).toHaveLength(10)
    expect(match.birth!.proposal.line).toBe(row.line)
    const [lesson] = await rowsOf(run, 'solver', 3)
    const later = await matchOf(run, lesson!)
    expect(later.answers).toHaveLength(6)
    expect(later.birth).toMatchObject({ round: 2, proposal: { question: later.question } })
  })

  it('shows the chain of GAR in slices where they stand, with verdicts, beside the references', async () => {
    const run = await played(`{game: gar, rounds: 1, roles: {${role('reasoner')}, ${role('discriminator')}},
      anchors: {world: arithmetic},
      settings: {data: {path: problems.jsonl}, slicer: {min_tokens: 1, markers: []}}}`)
    const [row] = await rowsOf(run, 'reasoner', 1)
    const match = await matchOf(run, row!)
    expect(match).toMatchObject({
      label: { text: 'right', from: 'known' },
      solution: expect.stringContaining('1+'),
    })
    expect(match.chains.length).toBe(match.answers.length)
    for (const { answer, slices } of match.chains) {
      expect(slices.length).toBeGreaterThan(0)
      for (const { start, end, verdicts } of slices) {
        const text = match.answers[answer]!.text.slice(start!, end!)
        for (const { verdict, rollout } of verdicts) {
          expect(String(rollout.parts.slice).endsWith(text)).toBe(true)
          expect(rollout.text).toBe(`**${verdict}**`)
        }
      }
    }
    expect(match.references.flatMap(({ verdicts }) => verdicts).length).toBeGreaterThan(0)
    const [judgment] = await rowsOf(run, 'discriminator', 1)
    expect((await matchOf(run, judgment!)).chains).toEqual((await matchOf(run, row!)).chains)
    const { verdicts } = (await run.judging({}))!
    const sum = verdicts.reduce((total, { yes, no, unread }) => total + yes + no + unread, 0)
    expect(sum).toBe((await run.rollouts({ role: 'discriminator' })).total)
  })

  it.each(['gold', 'majority'])(
    'shows critiques beside solutions, second answers apart (labels: %s)',
    async (labels) => {
      const run =
        await played(`{game: solver-critic, rounds: 2, roles: {${role('solver')}, ${role('critic')}},
      settings: {problems: problems.jsonl, labels: ${labels}, majority_share: 0.5, warmup: 1, revise: true}}`)
      const critiques = [...(await rowsOf(run, 'critic', 1)), ...(await rowsOf(run, 'critic', 2))]
      const match = await matchOf(run, critiques.find(({ outcome }) => outcome === 'planted')!)
      expect(match.label?.from).toBe(labels === 'gold' ? 'known' : 'majority')
      expect(match.critiques.map(({ of }) => of)).toContain('planted')
      for (const { of, plantedStep, saidCorrect, answer } of match.critiques) {
        expect(plantedStep !== null).toBe(of === 'planted')
        expect(saidCorrect).not.toBeNull()
        expect(match.answers[answer!]!.index).toBe(answer)
      }
      const solver = match.answers[0]!
      const seen = await matchOf(run, solver)
      expect(seen.critiques).toEqual(match.critiques)
      expect(seen.revisions.length).toBeGreaterThan(0)
      const { planted } = (await run.judging({}))!
      const recall = (await run.detail()).metrics.find(({ name }) => name === 'critic/planted_recall')!
      const last = run.metrics.value('critic/planted_recall', run.metrics.rowOf(planted!.recall.at(-1)!.from))
      expect(recall.count).toBeGreaterThan(0)
      expect(planted!.recall.at(-1)!.located / planted!.recall.at(-1)!.errors).toBeCloseTo(last)
    },
  )

  it('shows the answers to a known problem', async () => {
    const run = await played(
      `{game: grpo, rounds: 1, roles: {${role('solver')}}, settings: {problems: problems.jsonl, answers: 6}}`,
    )
    const rows = await rowsOf(run, 'solver', 1)
    const match = await matchOf(run, rows.at(-1)!)
    expect(match.answers).toHaveLength(6)
    expect(match.rate).toBeCloseTo(match.answers.filter(({ reward }) => reward === 1).length / 6)
    expect(match).toMatchObject({
      label: { from: 'known' },
      birth: null,
      checks: [],
      critiques: [],
      chains: [],
    })
  })
})
