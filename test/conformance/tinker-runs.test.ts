/** Whole runs of the command line on servers: one for each role, and one that outlives the runs that are killed beside it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import { type CommandOptions, sparring } from '../support/command.js'
import { filesOfRun, temporaryFolder } from '../support/folders.js'
import { type Dialect, startTinkerServer } from '../tinker-server/index.js'

vi.setConfig({ testTimeout: 300_000 })

const tiny = join(projectRoot(), 'models', 'tiny')
const key = 'tml-test'
const small = {
  'settings.texts_per_round': 1,
  'roles.proposer.lora.rank': 4,
  'roles.solver.lora.rank': 4,
  'checkpoint.every': 2,
  'anchors.every': 2,
  'anchors.heldout.n': 8,
  'anchors.heldout.greedy': false,
  'engine.kind': 'tinker',
}

/** A place where PasoDoble is played on the starter model, a few texts at a time. */
function workplace(url: string, settings: Record<string, string | number>) {
  const cwd = temporaryFolder()
  const env = { TINKER_BASE_URL: url, TINKER_API_KEY: key }
  const set = Object.entries({ ...small, ...settings }).flatMap(([name, value]) => [
    '--set',
    `${name}=${value}`,
  ])
  const command = async (args: string[], options: CommandOptions = {}) => {
    const { status, stdout, stderr } = await sparring([...args, '--json'], { cwd, env, ...options })
    const events = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    return { status, stderr, events }
  }
  return {
    at: (...names: string[]) => join(cwd, ...names),
    command,
    begin: (run: string, rounds: number, options?: CommandOptions) =>
      command(
        ['train', 'pasodoble-tiny', '--no-report', '--run', run, '--rounds', String(rounds), ...set],
        options,
      ),
    resume: (run: string, rounds: number) =>
      command(['train', '--no-report', '--run', run, '--resume', '--rounds', String(rounds)]),
  }
}

describe('roles with a server each', () => {
  it('play, go on and are asked again, each where it is', async () => {
    const open = async (dialect: Dialect) => {
      const server = await startTinkerServer({ dialect, models: { tiny }, threads: 1 })
      onTestFinished(() => server.close())
      return server
    }
    const [one, two] = [await open('skyrl'), await open('tuft')]
    const { at, begin, resume, command } = workplace('http://127.0.0.1:9', {
      'roles.proposer.url': one.url,
      'roles.solver.url': two.url,
    })
    const begun = await begin('run', 2)
    expect(begun, begun.stderr).toMatchObject({ status: 0 })
    expect(readdirSync(at('run', 'tinker'))).toHaveLength(2)
    const went = await resume('run', 3)
    expect(went, went.stderr).toMatchObject({ status: 0 })

    const metrics = readFileSync(at('run', 'metrics.jsonl'), 'utf8').trim().split('\n')
    const rounds = metrics.map((line) => JSON.parse(line)).slice(1)
    const steps = (role: string) => rounds.reduce((sum, line) => sum + (line[`${role}/optim/steps`] ?? 0), 0)
    const saved = (role: string) =>
      JSON.parse(readFileSync(at('run', 'checkpoints', '000003', role, 'tinker.json'), 'utf8'))
    expect(saved('proposer')).toMatchObject({ url: one.url, dialect: 'skyrl', version: one.steps() })
    expect(saved('solver')).toMatchObject({ url: two.url, dialect: 'tuft', version: two.steps() })
    expect(one.steps()).toBeGreaterThan(0)
    expect([one.steps(), two.steps()]).toEqual([steps('proposer'), steps('solver')])
    expect(one.held.models + two.held.models).toBe(0)

    const [before, other] = [one.log.count('asample'), two.log.count('asample')]
    const asked = await command([
      'sample',
      '--model',
      'run',
      '--role',
      'proposer',
      '--prompt',
      'sums: two terms',
    ])
    expect(asked, asked.stderr).toMatchObject({ status: 0, stderr: '' })
    expect([one.log.count('asample'), two.log.count('asample')]).toEqual([before + 1, other])
  })
})

/** The server as a process of its own, and the optimizer steps that it was asked for. */
async function serverProcess() {
  const log = join(temporaryFolder(), 'requests.jsonl')
  const script = fileURLToPath(new URL('../tinker-server/main.js', import.meta.url))
  const flags = ['--dialect', 'hosted', '--model', `tiny=${tiny}`, '--threads', '1', '--log', log]
  const child = spawn(process.execPath, [script, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    child.kill()
    await once(child, 'exit')
  })
  const [data] = await once(child.stdout!, 'data')
  const steps = () =>
    readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ path }) => path.endsWith('/optim_step'))
      .map(({ base64 }) => JSON.parse(Buffer.from(base64, 'base64').toString()))
      .map(({ model_id, seq_id }) => `${model_id} ${seq_id}`)
  return { url: String(data).trim(), steps }
}

/** Metrics without times, and rollouts; policies by the steps that they have taken. */
function outcome(run: string): Record<string, unknown> {
  const files = filesOfRun(run)
  const rollouts = Object.entries(files).filter(([name]) => name.startsWith('rollouts'))
  const last = readdirSync(join(run, 'checkpoints')).sort().at(-1)!
  const versions = ['proposer', 'solver'].map((role) => {
    const { version } = JSON.parse(readFileSync(join(run, 'checkpoints', last, role, 'tinker.json'), 'utf8'))
    return [`${last} ${role}`, version]
  })
  return {
    metrics: files['metrics.jsonl'],
    ...Object.fromEntries([...rollouts, ...versions]),
  }
}

describe('a run that is killed', () => {
  it('goes on as if it had not been, and no step is asked for twice', async () => {
    const server = await serverProcess()
    const { at, begin, resume } = workplace(server.url, { 'engine.dialect': 'hosted' })
    const rounds = 4
    const whole = await begin('whole', rounds)
    expect(whole, whole.stderr).toMatchObject({ status: 0 })
    const expected = outcome(at('whole'))
    expect(Object.keys(expected).length).toBeGreaterThan(2 * rounds)

    const points = Number(process.env.KILL_POINTS ?? 2)
    for (let point = 0; point < points; point++) {
      // Spread over the rounds, and within a round over what comes after it began.
      const after = Math.floor(((point + 0.5) * rounds) / points)
      const cue = after === 0 ? '"event":"checkpoint"' : `"event":"round","round":${after}`
      let killed = false
      const watch: CommandOptions['watch'] = (output, kill) => {
        if (killed || !output.includes(cue)) return
        killed = true
        setTimeout(kill, 40 * (point % 7), 'SIGKILL')
      }
      const run = `killed-${point}`
      await begin(run, rounds, { watch })
      expect(killed).toBe(true)
      expect(existsSync(at(run, 'config.json'))).toBe(true)
      const resumed = await resume(run, rounds)
      expect(resumed, resumed.stderr).toMatchObject({ status: 0 })
      expect(outcome(at(run))).toEqual(expected)
    }
    const steps = server.steps()
    expect(steps.length).toBeGreaterThan(points + 1)
    expect(new Set(steps).size).toBe(steps.length)
  })
})
