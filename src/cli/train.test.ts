import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type CommandOptions, runScript } from '../../test/support/command.js'
import { fakeRecipe } from '../../test/support/fake-parts.js'
import { filesOfRun, temporaryFolder } from '../../test/support/folders.js'
import type { TrainFlags } from './train.js'

function workplace() {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'fake.yaml'), fakeRecipe)
  const train = async (recipe: string, flags: Partial<TrainFlags>, options: CommandOptions = {}) => {
    const result = await runScript('test/support/fake-cli.js', [recipe, JSON.stringify(flags)], {
      cwd,
      ...options,
    })
    const events = flags.json
      ? result.stdout
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : []
    return { ...result, events }
  }
  return { cwd, train, run: (name: string) => filesOfRun(join(cwd, name)) }
}

describe('sparring train', () => {
  it('says everything as JSON lines and ends with what the held-out problems tell', async () => {
    const { train } = workplace()
    const { status, events, stderr } = await train('fake.yaml', { json: true, rounds: 6 })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const rounds = Array.from({ length: 6 }, (_, i) => i + 1)
    expect(events.map(({ event, round }) => (round === undefined ? event : `${event} ${round}`))).toEqual([
      'config',
      'memory',
      ...['eval 0', 'eval 0', 'checkpoint 0'],
      ...rounds.slice(0, 4).map((k) => `round ${k}`),
      'checkpoint 4',
      ...['round 5', 'eval 5', 'eval 5'],
      ...['round 6', 'eval 6', 'eval 6', 'checkpoint 6'],
      'done',
    ])
    const done = events.at(-1)
    expect(Object.keys(done)).toEqual(['event', 'run', 'rounds', 'seconds', 'heldout'])
    const sampled = events.filter(({ event, sampling }) => event === 'eval' && sampling === 'sampled')
    expect(done).toMatchObject({
      run: 'runs/fake-seed0',
      rounds: 6,
      heldout: { before: sampled[0].accuracy, after: sampled.at(-1).accuracy, n: 10 },
    })
  })

  it('tells people on stderr, and on stdout what it came to', async () => {
    const { train } = workplace()
    const { status, stdout, stderr } = await train('fake.yaml', { rounds: 5 })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^held-out accuracy +0\.\d{3} \[0\.\d{3}, \d\.\d{3}\] -> 0\.\d{3} \[/)
    expect(stdout).toContain('10 problems, 95 % intervals')
    expect(stderr.match(/^round \d\/5 /gm)).toHaveLength(5)
    expect(stderr).toContain('memory plan')
  })

  it('gives every run a folder of its own', async () => {
    const { cwd, train } = workplace()
    await train('fake.yaml', { rounds: 1 })
    await train('fake.yaml', { rounds: 1 })
    expect(readdirSync(join(cwd, 'runs'))).toEqual(['fake-seed0', 'fake-seed0-2'])
    const { status, stderr } = await train('fake.yaml', { run: 'runs/fake-seed0' })
    expect(status).toBe(2)
    expect(stderr).toContain(
      'error: runs/fake-seed0 is not empty.\nhint: Continue the run in it with --resume',
    )
  })

  it('ends after the round at the first Ctrl-C, with status 0, and goes on from there', async () => {
    const { train, run } = workplace()
    let told = false
    const watch: CommandOptions['watch'] = (output, kill) => {
      if (told || !output.includes('"round":3')) return
      told = true
      kill('SIGINT')
    }
    const { status, events, stderr } = await train(
      'fake.yaml',
      { json: true, run: 'a', set: ['settings.pause=50'] },
      { watch },
    )
    expect(status).toBe(0)
    expect(stderr).toContain('Ending after this round')
    const done = events.at(-1)
    expect(done).toMatchObject({ event: 'done', stopped: true })
    expect(done.rounds).toBeLessThan(20)
    expect((await train('', { run: 'a', resume: true })).status).toBe(0)
    await train('fake.yaml', { run: 'b', set: ['settings.pause=50'] })
    expect(run('a')['metrics.jsonl']).toBe(run('b')['metrics.jsonl'])
  })

  it('is ended by an alarm as its setting says: paused with status 0, stopped with status 1', async () => {
    const { train } = workplace()
    const on = (action: string) => [
      'anchors.heldout.samples=4',
      'roles.solver.optim.learning_rate=2',
      `alarms.heldout_below_best={do: ${action}, threshold: 0}`,
    ]
    const paused = await train('fake.yaml', { run: 'a', set: on('pause') })
    expect(paused.status).toBe(0)
    expect(paused.stdout).toMatch(/^The alarm heldout_below_best paused the run after round \d+: best - now/m)
    expect(paused.stdout).toMatch(/^Go on with: sparring train --run a --resume$/m)
    const stopped = await train('fake.yaml', { run: 'b', set: on('stop'), json: true })
    expect(stopped.status).toBe(1)
    expect(stopped.events.at(-1)).toMatchObject({ event: 'error', code: 'alarm' })
    const back = await train('fake.yaml', { run: 'c', set: on('rollback'), rounds: 10 })
    expect(back.status).toBe(0)
    expect(back.stderr).toMatch(/^rolled back after round \d+ to round \d+ \(heldout_below_best\)/m)
  })

  it('ends at once at the second Ctrl-C, with status 130, and can be resumed', async () => {
    const { cwd, train, run } = workplace()
    const cues = ['round 2/', 'Ending after']
    const watch: CommandOptions['watch'] = (output, kill) => {
      if (cues[0] === undefined || !output.includes(cues[0])) return
      cues.shift()
      // By then the next round has begun.
      setTimeout(kill, 150, 'SIGINT')
    }
    const { status, stderr } = await train(
      'fake.yaml',
      { run: 'a', rounds: 4, set: ['settings.pause=1600'] },
      { watch },
    )
    expect(status).toBe(130)
    expect(stderr).toContain('Go on from the last checkpoint: sparring train --run a --resume')
    expect(existsSync(join(cwd, 'a/lock'))).toBe(false)
    expect((await train('', { run: 'a', resume: true })).status).toBe(0)
    expect(run('a')['metrics.jsonl']!.trim().split('\n')).toHaveLength(5)
  })

  it('is kept out of a run that another process plays', async () => {
    const { train } = workplace()
    let second: Promise<{ status: number | null; stderr: string }> | undefined
    const watch: CommandOptions['watch'] = (output) => {
      if (output.includes('round 1/')) second ??= train('', { run: 'a', resume: true })
    }
    await train('fake.yaml', { run: 'a', rounds: 4, set: ['settings.pause=400'] }, { watch })
    const { status, stderr } = await second!
    expect(status).toBe(2)
    expect(stderr).toMatch(/^error: a is in use by process \d+\.$/m)
  })

  it('may go on longer, but not differently', async () => {
    const { train, run } = workplace()
    await train('fake.yaml', { run: 'a', rounds: 5, set: ['roles.solver.optim.schedule.shape=constant'] })
    const other = await train('fake.yaml', { run: 'a', resume: true })
    expect(other.status).toBe(2)
    expect(other.stderr).toContain(
      'error: roles.solver.optim.schedule.shape is "constant" in a, and cannot become "linear"',
    )
    expect((await train('', { run: 'a', resume: true, rounds: 10 })).status).toBe(0)
    await train('fake.yaml', { run: 'b', rounds: 10, set: ['roles.solver.optim.schedule.shape=constant'] })
    expect(run('a')['metrics.jsonl']).toBe(run('b')['metrics.jsonl'])
    expect(run('a')['config.json']).toBe(run('b')['config.json'])
  })

  it('is not resumed to end before the round that it has reached', async () => {
    const { train, run } = workplace()
    await train('fake.yaml', { run: 'a', rounds: 3 })
    const before = run('a')
    const { status, stderr } = await train('', { run: 'a', resume: true, rounds: 2 })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining(
        'error: a has played 3 rounds, and 2 are asked for in all.\nhint: Ask for 3',
      ),
    })
    expect(run('a')).toEqual(before)
  })

  it('leaves nothing behind where it could not begin', async () => {
    const { cwd, train } = workplace()
    const broken = { set: ['settings.broken=true'] }
    for (const flags of [broken, { ...broken, run: 'a' }]) {
      expect((await train('fake.yaml', flags)).status).toBe(2)
    }
    expect(readdirSync(cwd).filter((name) => name !== 'fake.yaml')).toEqual(['runs'])
    expect(readdirSync(join(cwd, 'runs'))).toEqual([])
    expect((await train('fake.yaml', { run: 'a', rounds: 1 })).status).toBe(0)
  })

  it('writes a config.json that is itself a run file and names no path of this machine', async () => {
    const { cwd, train } = workplace()
    await train('fake.yaml', { run: 'runs/a', rounds: 1 })
    const text = readFileSync(join(cwd, 'runs/a/config.json'), 'utf8')
    expect(JSON.parse(text)).toMatchObject({ folder: '../..', game: 'fake', rounds: 1 })
    expect(text).not.toContain(cwd)
    expect((await train('runs/a/config.json', { run: 'again' })).status).toBe(0)
  })

  it('plays nothing in a dry run, and writes nothing', async () => {
    const { cwd, train } = workplace()
    mkdirSync(join(cwd, 'anywhere'))
    const { status, stdout, events } = await train('fake.yaml', { dryRun: true, json: true })
    expect(status).toBe(0)
    expect(events.map(({ event }) => event)).toEqual(['config', 'plan', 'memory'])
    expect(stdout).toContain('"weights"')
    expect(readdirSync(cwd)).toEqual(['anywhere', 'fake.yaml'])
  })
})
