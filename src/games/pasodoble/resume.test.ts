import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { quickDisk } from '../../../test/support/disks.js'
import { fakeEngine, type Hook } from '../../../test/support/fake-engine.js'
import { fakeParts } from '../../../test/support/fake-parts.js'
import { filesOfRun, temporaryFolder } from '../../../test/support/folders.js'
import { playRun } from '../../../test/support/play-run.js'
import { boxGrader } from '../../../test/support/scripted.js'
import type { Engine, Policy } from '../../engine/engine.js'
import { openMatch } from '../../runs/match.js'
import { loadRecipe } from '../../runs/recipe.js'
import { loadGame } from '../index.js'

/** The fake engine's policies, whose tokens are drawn by their weights, made to say questions and answers of few kinds. */
function speakingEngine(hook?: Hook): Engine & { opened: Policy[] } {
  const engine = fakeEngine(hook)
  const opened: Policy[] = []
  return {
    ...engine,
    opened,
    async open(spec) {
      const policy = await engine.open(spec)
      const sample = policy.sample.bind(policy)
      policy.sample = async function* (requests, params) {
        for await (const rollout of sample(requests, params)) {
          const [a, b, c] = rollout.tokens as unknown as [number, number, number]
          const text = `<problem>What is ${a}, if not ${b}?</problem> \\boxed{right ${c % 2}}`
          yield { ...rollout, text }
        }
      }
      opened.push(policy)
      return policy
    },
  }
}

interface Options {
  settings: string
  hook?: Hook
  resume?: boolean
  rounds?: number
}

const runFile = (settings: string) => `
game: pasodoble
rounds: 9
roles:
  proposer: {model: anywhere, optim: {learning_rate: 0.5}}
  solver: {model: anywhere, optim: {learning_rate: 0.1, schedule: {shape: linear}}}
settings: {proposer: {think: false}, tau_div: 0, answers: 4, questions: 3, ${settings}}
checkpoint: {every: 2, keep: 2}
anchors: {every: 4, world: arithmetic}
`

async function play(folder: string, { settings, hook, resume = false }: Options) {
  const file = join(folder, '..', 'run.yaml')
  writeFileSync(file, runFile(settings))
  const loaded = await loadRecipe(file, { loadGame })
  const engine = speakingEngine(hook)
  const openEngine = async () => engine
  const parts = { ...fakeParts(), loadGame, openEngine, createGrader: async () => boxGrader() }
  const { history } = await playRun(loaded, folder, parts, { resume, disk: quickDisk })
  return { history, engine }
}

const phases =
  'offline: {proposer_updates: 2, solver_updates: 2, max_failed_draws: 2, questions_per_update: 4'

describe.each([
  ['online', 'schedule: online'],
  ['offline', `schedule: offline, ${phases}}`],
  [
    'offline with a capped buffer that evicts',
    `schedule: offline, ${phases}, buffer_cap: 5, eviction: authors}`,
  ],
  ['self-play', 'self_play: true'],
  ['offline self-play', `schedule: offline, self_play: true, ${phases}}`],
])('%s', (name, settings) => {
  it('is the same run wherever it was killed, at the ends of phases and within them', async () => {
    const undisturbed = join(temporaryFolder(), 'run')
    let calls = 0
    const { history } = await play(undisturbed, { settings, hook: () => calls++ })
    const expected = filesOfRun(undisturbed)
    const trained = (role: string) => history.filter((line) => Number(line[`${role}/optim/steps`]) > 0).length
    expect(trained('proposer')).toBeGreaterThan(1)
    expect(trained('solver')).toBeGreaterThan(1)
    if (name.startsWith('offline')) {
      const turns = history.slice(1).map((line) => line['turn/solver'])
      expect(turns.filter((turn, i) => i > 0 && turn !== turns[i - 1]).length).toBeGreaterThan(2)
    }

    expect(calls).toBeGreaterThan(40)
    for (let last = 2; last <= calls; last += 6) {
      let count = 0
      const hook = () => {
        if (++count === last) throw new Error('killed')
      }
      const folder = join(temporaryFolder(), 'run')
      await expect(play(folder, { settings, hook }), `call ${last}`).rejects.toThrow('killed')
      await play(folder, { settings, resume: existsSync(join(folder, 'config.json')) })
      expect(filesOfRun(folder), `call ${last}`).toEqual(expected)
    }
  }, 120_000)
})

describe('self-play', () => {
  it('opens, trains and saves one policy, by the steps of both roles', async () => {
    const folder = join(temporaryFolder(), 'run')
    const { history, engine } = await play(folder, { settings: 'self_play: true' })
    expect(engine.opened).toHaveLength(1)
    const steps = (role: string) =>
      history.reduce((sum, line) => sum + Number(line[`${role}/optim/steps`] ?? 0), 0)
    expect(steps('proposer')).toBeGreaterThan(0)
    expect(steps('solver')).toBeGreaterThan(0)
    expect(engine.opened[0]!.version).toBe(steps('proposer') + steps('solver'))
    const saved = Object.keys(filesOfRun(folder)).filter((name) => name.startsWith('checkpoints/000009'))
    expect(saved).toContain('checkpoints/000009/solver/weights.json')
    expect(saved.filter((name) => name.includes('/proposer/'))).toEqual([])
  })

  it('keeps a learning rate for each role', async () => {
    const { history } = await play(join(temporaryFolder(), 'run'), { settings: 'self_play: true' })
    const rates = (role: string) =>
      history.map((line) => line[`${role}/optim/lr`]).filter((rate) => rate != null)
    expect(new Set(rates('proposer'))).toEqual(new Set([0.5]))
    expect(Math.max(...rates('solver').map(Number))).toBeLessThanOrEqual(0.1)
  })

  it('refuses two models, and a proposer that is frozen', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'run.yaml')
    writeFileSync(file, runFile('self_play: true'))
    const parts = { ...fakeParts(), loadGame, openEngine: async () => fakeEngine() }
    const two = await loadRecipe(file, { loadGame, set: ['roles.proposer.model=elsewhere'] })
    await expect(openMatch(two, parts)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('roles.proposer and roles.solver name different models'),
    })
    const frozen = loadRecipe(file, { loadGame, set: ['settings.frozen=proposer'] })
    await expect(frozen).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('self_play'),
    })
  })
})
