/** What alarms do to a run: go back, pause, stop; and that a killed run does the same. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dyingAt, quickDisk } from '../../test/support/disks.js'
import { fakeGame } from '../../test/support/fake-game.js'
import { fakeRecipe } from '../../test/support/fake-parts.js'
import { type FakeRunOptions, fakeRun } from '../../test/support/fake-run.js'
import { filesOfRun, temporaryFolder } from '../../test/support/folders.js'
import { NotFiniteError } from '../core/errors.js'
import type { MetricsLine } from './directory.js'
import type { RunEvent } from './events.js'
import { loadRecipe } from './recipe.js'

/** A solver that learns far too fast: its held-out accuracy rises and falls. */
const restless = ['anchors.heldout.samples=4', 'roles.solver.optim.learning_rate=2']

/** Measured every second round; any fall of the held-out accuracy below its best is an alarm. */
const falling = (action: string, ...more: string[]) => ({
  disk: quickDisk,
  rounds: 10,
  set: [
    ...restless,
    'anchors.every=2',
    `alarms.heldout_below_best={do: ${action}, threshold: 0}`,
    'alarms.rollback.most=9',
    ...more,
  ],
})

async function play(options: FakeRunOptions) {
  const folder = join(temporaryFolder(), 'run')
  const events: RunEvent[] = []
  const outcome = await fakeRun(folder, { ...options, emit: (event) => events.push(event) })
  return { folder, events, ...outcome }
}

const lineOf = (history: MetricsLine[], step: number) => history.find((line) => line.step === step)!
const accuracy = (history: MetricsLine[], step: number) => lineOf(history, step)['heldout/accuracy'] as number
const checkpoints = (folder: string) => readdirSync(join(folder, 'checkpoints')).map(Number)
const part = (folder: string, round: number, file: string) =>
  readFileSync(join(folder, 'checkpoints', String(round).padStart(6, '0'), file), 'utf8')

async function firstRollback() {
  const { history } = await play(falling('rollback'))
  return history.find((line) => 'rollback/to' in line)!
}

describe('a rollback', () => {
  it('restores weights, optimizers and the state of the game of the best anchor, and counts the rounds on', async () => {
    const { step, 'rollback/to': to } = await firstRollback()
    const { folder, history, done, events } = await play({ ...falling('rollback'), rounds: step })
    expect(accuracy(history, step)).toBeLessThan(accuracy(history, to!))
    for (const role of ['proposer', 'solver']) {
      expect(part(folder, step, `${role}/weights.json`)).toBe(part(folder, to!, `${role}/weights.json`))
      expect(part(folder, step, `${role}/optimizer.json`)).toBe(part(folder, to!, `${role}/optimizer.json`))
    }
    expect(JSON.parse(part(folder, step, 'state.json')).state).toEqual(
      JSON.parse(part(folder, to!, 'state.json')).state,
    )
    expect(lineOf(history, step)['rollback/lr_scale']).toBe(0.5)
    expect(done.rounds).toBe(step)
    expect(done.heldout?.after).toBe(accuracy(history, to!))
    expect(events).toContainEqual({
      event: 'rollback',
      round: step,
      to,
      scale: 0.5,
      alarm: 'heldout_below_best',
    })
    expect(readFileSync(join(folder, 'journal.jsonl'), 'utf8')).toContain(
      `{"kind":"rollback","round":${step},"to":${to},"scale":0.5,"alarm":"heldout_below_best"`,
    )
  })

  it('cuts the learning rates of the rounds that follow', async () => {
    const { step } = await firstRollback()
    const weightsAfter = async (scale: number) => {
      const { folder } = await play({
        ...falling('rollback', `alarms.rollback.lr_scale=${scale}`),
        rounds: step + 1,
      })
      const [before, after] = [step, step + 1].map((round) => {
        return JSON.parse(part(folder, round, 'proposer/weights.json')) as number[]
      })
      return after!.map((weight, i) => weight - before![i]!)
    }
    const whole = await weightsAfter(1)
    const half = await weightsAfter(0.5)
    for (const [i, change] of whole.entries()) expect(half[i]).toBeCloseTo(change / 2, 12)
    expect(Math.max(...whole.map(Math.abs))).toBeGreaterThan(1e-4)
  })

  it('pauses in the place of one too many', async () => {
    const { history, done } = await play(falling('rollback', 'alarms.rollback.most=1'))
    expect(history.filter((line) => 'rollback/to' in line)).toHaveLength(1)
    expect(done).toMatchObject({ stopped: true, paused: { name: 'heldout_below_best', action: 'rollback' } })
  })

  it('is the same in a run that is killed anywhere and resumed', async () => {
    const fast = ['anchors.every=1', 'settings.questions=2', 'roles.solver.optim.learning_rate=4']
    const small = ['anchors.heldout.greedy=false', 'checkpoint.every=3']
    const options = { ...falling('rollback', ...fast, ...small), rounds: 6 }
    const { folder: undisturbed, history } = await play(options)
    const ways = history.flatMap((line) => line['rollback/to'] ?? [])
    expect(new Set(ways).size).toBeGreaterThan(1)
    const expected = filesOfRun(undisturbed)
    const counter = dyingAt(Number.POSITIVE_INFINITY)
    await play({ ...options, ...counter })
    const steps = Array.from({ length: counter.count() }, (_, i) => i + 1)
    for (let from = 0; from < steps.length; from += 8) {
      await Promise.all(
        steps.slice(from, from + 8).map(async (step) => {
          const folder = join(temporaryFolder(), 'run')
          await expect(fakeRun(folder, { ...options, ...dyingAt(step) })).rejects.toThrow('killed')
          await fakeRun(folder, { ...options, resume: existsSync(join(folder, 'config.json')) })
          expect(filesOfRun(folder), `step ${step}`).toEqual(expected)
        }),
      )
    }
  }, 240_000)
})

describe('a pause', () => {
  it('ends the run with a checkpoint; going on gives what an undisturbed run gives', async () => {
    const { folder, done, history } = await play(falling('pause'))
    expect(done).toMatchObject({ stopped: true, paused: { name: 'heldout_below_best' } })
    expect(checkpoints(folder)).toContain(history.at(-1)!.step)
    const whole = await play(falling('warn'))
    let rounds = done.rounds
    while (rounds < 10) {
      const resumed = await fakeRun(folder, { ...falling('pause'), resume: true })
      expect(resumed.done.rounds).toBeGreaterThan(rounds)
      rounds = resumed.done.rounds
    }
    expect(filesOfRun(folder)['metrics.jsonl']).toBe(filesOfRun(whole.folder)['metrics.jsonl'])
  })
})

describe('a stop', () => {
  it('fails with what the alarm says, and leaves a checkpoint to go on from', async () => {
    const folder = join(temporaryFolder(), 'run')
    const error = await fakeRun(folder, falling('stop')).catch((error) => error)
    expect(error).toMatchObject({
      code: 'alarm',
      exitStatus: 1,
      message: expect.stringMatching(
        /^The alarm heldout_below_best stopped \S+run after round \d+: best - now/,
      ),
      hint: expect.stringContaining('--resume'),
    })
    const resumed = await fakeRun(folder, { ...falling('warn'), resume: true })
    expect(resumed.done.rounds).toBe(10)
  })
})

describe('a step that is not finite', () => {
  /** Refuses the n-th optimizer step. */
  const refusing = (n: number) => {
    let steps = 0
    return (what: string) => {
      if (what === 'optimStep' && ++steps === n) throw new NotFiniteError('The gradient is not finite.')
    }
  }

  it('ends the run unless the alarm for it acts', async () => {
    const run = play({ disk: quickDisk, rounds: 6, hook: refusing(8) })
    await expect(run).rejects.toMatchObject({ code: 'not_finite' })
  })

  it('takes the run back', async () => {
    const set = ['anchors.every=2', 'alarms.loss_not_finite=rollback']
    const { history, done } = await play({ disk: quickDisk, rounds: 6, set, hook: refusing(8) })
    expect(lineOf(history, 4)).toMatchObject({ 'rollback/lr_scale': 0.5 })
    expect(Object.keys(lineOf(history, 4))).not.toContain('solver/reward/mean')
    expect(done.rounds).toBe(6)
  })

  it('pauses the run before its round', async () => {
    const set = ['alarms.loss_not_finite=pause', 'checkpoint.every=2']
    const { folder, done } = await play({ disk: quickDisk, rounds: 6, set, hook: refusing(8) })
    expect(done).toMatchObject({ rounds: 3, stopped: true, paused: { name: 'loss_not_finite' } })
    expect(Math.max(...checkpoints(folder))).toBe(2)
    const resumed = await fakeRun(folder, { disk: quickDisk, rounds: 6, set, resume: true })
    const { folder: whole } = await play({ disk: quickDisk, rounds: 6, set })
    expect(resumed.done.rounds).toBe(6)
    expect(filesOfRun(folder)['metrics.jsonl']).toBe(filesOfRun(whole)['metrics.jsonl'])
  })
})

describe('checkpoints', () => {
  it('are kept for good as snapshots, and as the best anchor where a rollback may need it', async () => {
    const { folder } = await play({
      disk: quickDisk,
      rounds: 20,
      set: [...restless, 'checkpoint.snapshots=5'],
    })
    expect(checkpoints(folder)).toEqual([0, 5, 10, 15, 16, 20])
    const { folder: guarded, history } = await play({
      disk: quickDisk,
      rounds: 20,
      set: [...restless, 'alarms.labels_wrong=rollback', 'checkpoint.keep=1'],
    })
    const best = Math.max(...[0, 5, 10, 15, 20].map((round) => accuracy(history, round)))
    const latest = [20, 15, 10, 5, 0].find((round) => accuracy(history, round) === best)!
    expect(checkpoints(guarded)).toEqual([...new Set([latest, 20])])
  })
})

describe('the settings of an alarm', () => {
  async function failure(set: string[], text = fakeRecipe) {
    const file = join(temporaryFolder(), 'mine.yaml')
    writeFileSync(file, text)
    return loadRecipe(file, { set, loadGame: async () => fakeGame }).catch((error) => error)
  }

  it.each<[set: string, message: RegExp, hint?: RegExp]>([
    ['alarms.labels_wrong=rolback', /alarms\.labels_wrong must be one of .*"rollback".*, not "rolback"/],
    ['alarms.labels_wrong={do: undo}', /alarms\.labels_wrong\.do must be one of .*"rollback".*, not "undo"/],
    ['alarms.lables_wrong=stop', /alarms\.lables_wrong is not a known key/, /alarms\.labels_wrong/],
    ['alarms.labels_wrong={treshold: 1}', /alarms\.labels_wrong\.treshold is not/, /labels_wrong\.threshold/],
    ['alarms.heldout_below_best={window: 3}', /alarms\.heldout_below_best\.window is not a known key/],
    ['alarms.rollback.lr_scale=2', /alarms\.rollback\.lr_scale must be a number <= 1, not 2/],
  ])('%s is refused in words', async (set, message, hint = /^/) => {
    const error = await failure([set])
    expect(error.message).toMatch(message)
    expect(error.hint ?? '').toMatch(hint)
  })

  it('rolls back to an anchor, and needs one', async () => {
    const bare = fakeRecipe.replace(/^anchors:.*$/m, '')
    const error = await failure(['alarms.labels_wrong=rollback'], bare)
    expect(error.message).toMatch(/alarms\.labels_wrong rolls back to the best anchor, and there is none\.$/)
    expect((await failure(['alarms.labels_wrong=stop'], bare)).recipe.alarms.labels_wrong.do).toBe('stop')
  })
})
