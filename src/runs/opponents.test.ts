/** Frozen opponents and levels in a run, and the arena over its snapshots, with the fake engine's real files. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fakeGame } from '../../test/support/fake-game.js'
import { fakeParts, fakeRecipe } from '../../test/support/fake-parts.js'
import { filesOfRun, temporaryFolder } from '../../test/support/folders.js'
import { playRun } from '../../test/support/play-run.js'
import { arena } from '../cli/arena.js'
import { collect } from '../engine/engine.js'
import type { AnyGame, Duel, GameContext } from '../games/game.js'
import type { ArenaReport } from './arena.js'
import { loadRecipe } from './recipe.js'

async function ask({ roles, seed }: GameContext<unknown>, role: string, n: number): Promise<string[]> {
  const { policy } = roles[role]!
  const prompt = policy.tokenizer.encode('1+1=?')
  const requests = Array.from({ length: n }, (_, i) => ({ prompt, n: 1, seed: seed(role, i) }))
  const params = { maxTokens: 8, temperature: 1, topP: 1, topK: 0, stop: [] }
  return (await collect(policy.sample(requests, params))).map(({ text }) => text)
}

/** A point for every text of the solver that comes before the proposer's: what both say is in it. */
const duel: Duel<unknown, string> = {
  setter: 'proposer',
  taker: 'solver',
  point: 'the earlier text',
  set: (ctx, n) => ask(ctx, 'proposer', n),
  take: async (ctx, tasks) => {
    const texts = await ask(ctx, 'solver', tasks.length)
    return texts.map((text, i) => ({ points: Number(text < tasks[i]!) }))
  },
}

const game: AnyGame = { ...fakeGame, duel: () => duel }
const parts = { ...fakeParts(), loadGame: async () => game }

async function play(folder: string, set: string[], resume = false) {
  const file = join(folder, 'fake.yaml')
  writeFileSync(file, fakeRecipe)
  const loaded = await loadRecipe(file, { set, rounds: 8, loadGame: parts.loadGame })
  return playRun(loaded, join(folder, 'run'), parts, { resume })
}

const restless = ['proposer', 'solver'].map((role) => `roles.${role}.optim.learning_rate=1`)
const opponents = [
  ...restless,
  'anchors.every=2',
  'anchors.opponents={questions: 20, snapshots: 2}',
  'checkpoint.snapshots=2',
]

describe('frozen opponents', () => {
  it('are the start, with intervals, and the newest snapshots', async () => {
    const { history } = await play(temporaryFolder(), opponents)
    const told = history.filter((line) => 'versus/solver_start' in line)
    expect(told.map(({ step }) => step)).toEqual([0, 2, 4, 6, 8])
    for (const line of told) {
      for (const role of ['proposer', 'solver']) {
        const [score, low, high] = ['', '_low', '_high'].map((end) => line[`versus/${role}_start${end}`]!)
        expect(low).toBeLessThan(score!)
        expect(high).toBeGreaterThan(score!)
      }
    }
    // At the start both play against themselves.
    const [start] = told
    expect(start!['versus/solver_start']! + start!['versus/proposer_start']!).toBeCloseTo(1, 12)
    expect(start).not.toHaveProperty('versus/solver_snapshots')
    expect(new Set(told.map((line) => line['versus/solver_start'])).size).toBeGreaterThan(1)
    expect(told.at(-1)).toHaveProperty('versus/proposer_snapshots')
  })

  it('change nothing of the game, and are the same again', async () => {
    const [first, second] = [temporaryFolder(), temporaryFolder()]
    await play(first, opponents)
    await play(second, opponents)
    expect(filesOfRun(join(first, 'run'))).toEqual(filesOfRun(join(second, 'run')))
    const third = temporaryFolder()
    await play(third, [...restless, 'anchors.every=2', 'checkpoint.snapshots=2'])
    const weights = 'checkpoints/000008/solver/weights.json'
    expect(filesOfRun(join(third, 'run'))[weights]).toBe(filesOfRun(join(first, 'run'))[weights])
  })

  it('need a game whose roles face each other', async () => {
    const file = join(temporaryFolder(), 'fake.yaml')
    writeFileSync(file, fakeRecipe)
    const loaded = loadRecipe(file, { set: opponents, loadGame: async () => fakeGame })
    await expect(loaded).rejects.toThrow(/anchors.opponents needs two roles that face each other/)
  })
})

describe('problems by level', () => {
  it('are measured each with its interval, and recorded', async () => {
    const folder = temporaryFolder()
    const { history } = await play(folder, ['anchors.levels={role: solver, n: 6}'])
    const [start] = history
    for (const level of ['1', '2']) {
      expect(start![`level/${level}_low`]).toBeLessThanOrEqual(start![`level/${level}`]!)
      expect(start![`level/${level}_high`]).toBeGreaterThan(start![`level/${level}`]!)
    }
    const records = filesOfRun(join(folder, 'run'))['rollouts/round-000000/levels.jsonl']!.trim().split('\n')
    expect(records.map((line) => JSON.parse(line).level)).toEqual([
      ...Array(6).fill('1'),
      ...Array(6).fill('2'),
    ])
  })
})

describe('the arena', () => {
  async function fight(folder: string, flags: object): Promise<string> {
    const said: string[] = []
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0)
    try {
      await arena(join(folder, 'run'), { questions: 20, ...flags }, parts)
    } finally {
      write.mockRestore()
    }
    return said.join('')
  }

  it('plays all kept snapshots against each other and leaves its report in the run', async () => {
    const folder = temporaryFolder()
    const { history } = await play(folder, opponents)
    const table = await fight(folder, {})
    const report: ArenaReport = JSON.parse(readFileSync(join(folder, 'run/arena.json'), 'utf8'))
    expect(report).toMatchObject({
      setter: 'proposer',
      taker: 'solver',
      rounds: [0, 2, 4, 6, 8],
      questions: 20,
    })
    expect(report.cells.flat()).toHaveLength(25)
    expect(report.elo.taker[0]).toEqual({ elo: 1000, low: 1000, high: 1000 })
    // The same duels as those of the run's frozen opponents, on the same seeds.
    const last = history.at(-1)!
    expect(report.cells[4]![0]!.score).toBeCloseTo(last['versus/solver_start']!, 12)
    expect(1 - report.cells[0]![4]!.score!).toBeCloseTo(last['versus/proposer_start']!, 12)
    expect(table).toContain('Elo of solver')
    expect(table.match(/^round \d/gm)).toHaveLength(5)
  })

  it('takes the rounds that are asked for, and gives the same again', async () => {
    const folder = temporaryFolder()
    await play(folder, opponents)
    const flags = { rounds: [8, 0, 4], json: true }
    const [first, second] = [await fight(folder, flags), await fight(folder, flags)]
    expect(first).toBe(second)
    expect(JSON.parse(first)).toMatchObject({ event: 'arena', rounds: [0, 4, 8] })
    expect(JSON.parse(await fight(folder, { ...flags, seed: 5 })).cells).not.toEqual(JSON.parse(first).cells)
    await expect(fight(folder, { rounds: [0, 3] })).rejects.toThrow(/has no checkpoint of round 3/)
    await expect(fight(folder, { rounds: [4] })).rejects.toThrow(/needs two rounds or more/)
  })

  it('leaves the checkpoints as they are', async () => {
    const folder = temporaryFolder()
    await play(folder, [...restless, 'anchors.every=2'])
    const before = filesOfRun(join(folder, 'run'))
    await fight(folder, {})
    const { 'arena.json': _, ...after } = filesOfRun(join(folder, 'run'))
    expect(after).toEqual(before)
    expect(readdirSync(join(folder, 'run/checkpoints'))).toEqual(['000004', '000008'])
  })
})
