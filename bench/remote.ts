/**
 * What playing on a server costs here, with a server whose weights are made up and only take their time:
 *
 *   node dist/bench/remote.js overhead [--rounds 3] [--latency 200] [--sample 18000] [--forward 600] [--step 200]
 *   node dist/bench/remote.js soak [--rounds 10000] [--every 1000]
 *
 * `overhead` plays PasoDoble as `sparring train` does, each answer of the server 200 ms late, and tells what its rounds
 * took beside what the server was at work. `soak` plays rounds without end and looks whether memory or listeners grow.
 */
import { fork } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { projectRoot } from '../src/core/paths.js'
import { collect } from '../src/engine/engine.js'
import { openTinkerEngine } from '../src/engine/tinker/index.js'
import type { ServerOptions, Standing } from './remote-server.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    latency: { type: 'string', default: '200' },
    sample: { type: 'string', default: '18000' },
    forward: { type: 'string', default: '600' },
    step: { type: 'string', default: '200' },
    every: { type: 'string', default: '1000' },
  },
})
process.env.TINKER_API_KEY = 'tml-test'
const work = mkdtempSync(join(tmpdir(), 'sparring-remote-'))

async function startServer(options: ServerOptions) {
  const child = fork(fileURLToPath(new URL('./remote-server.js', import.meta.url)))
  const ask = async (message: ServerOptions | 'standing'): Promise<Standing> => {
    child.send(message)
    return (await once(child, 'message'))[0]
  }
  const { url } = await ask(options)
  return { url, standing: () => ask('standing'), close: () => child.disconnect() }
}

async function overhead(rounds: number): Promise<void> {
  const server = await startServer({
    latencyMs: Number(values.latency),
    sampleMs: Number(values.sample),
    forwardMs: Number(values.forward),
    stepMs: Number(values.step),
  })
  const settings = {
    'engine.kind': 'tinker',
    'engine.url': server.url,
    'engine.dialect': 'hosted',
    'roles.proposer.lora.rank': 16,
    'roles.solver.lora.rank': 16,
    'anchors.every': 1000,
    'anchors.heldout.n': 1,
    'anchors.heldout.greedy': false,
    'checkpoint.every': 1000,
  }
  const args = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const run = join(work, 'run')
  const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
  const flags = ['--run', run, '--rounds', String(rounds), '--no-report', '--json', ...args]
  const child = fork(cli, ['train', 'pasodoble-tiny', ...flags], { silent: true })
  child.stderr!.pipe(process.stderr)
  let before: { standing: Promise<Standing>; cpu: number } | undefined
  let text = ''
  const rows: Row[] = []
  let counted = Promise.resolve()
  child.stdout!.on('data', (data) => {
    text += data
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const event = JSON.parse(line)
      const begun = event.event === 'checkpoint' && event.round === 0
      if (!begun && event.event !== 'round') continue
      const now = { standing: server.standing(), cpu: cpuOf(child.pid!) }
      const earlier = before
      before = now
      if (!earlier) continue
      counted = counted.then(async () => {
        const [a, b] = [await earlier.standing, await now.standing]
        const busy = (b.busyMs - a.busyMs) / 1000
        rows.push({ seconds: event.seconds, busy, steps: b.steps - a.steps, cpu: now.cpu - earlier.cpu })
        console.log(row(rows.at(-1)!))
      })
    }
  })
  console.log('round s   server at work s   steps   added   processor s')
  const [status] = await once(child, 'exit')
  await counted
  server.close()
  if (status !== 0) throw new Error(`The run ended with status ${status}.`)
  const sum = (key: keyof Row) => rows.reduce((total, each) => total + each[key], 0)
  const all = { seconds: sum('seconds'), busy: sum('busy'), steps: sum('steps'), cpu: sum('cpu') }
  console.log(`${row(all)}   in all`)
}

interface Row {
  seconds: number
  busy: number
  steps: number
  /** Processor time of the driver, where the system tells it. */
  cpu: number
}

function row({ seconds, busy, steps, cpu }: Row): string {
  const added = `${((seconds / busy - 1) * 100).toFixed(1)} %`
  const cells = [seconds.toFixed(2).padStart(7), busy.toFixed(2).padStart(19), String(steps).padStart(8)]
  return `${cells.join('')}${added.padStart(8)}${cpu.toFixed(1).padStart(14)}`
}

/** Seconds of processor time of a process so far; NaN where there is no /proc. */
function cpuOf(pid: number): number {
  try {
    const [, text = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = text.split(' ')
    const ticks = 100
    return (Number(fields[11]) + Number(fields[12])) / ticks
  } catch {
    return Number.NaN
  }
}

async function soak(rounds: number, every: number): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const server = await startServer({ latencyMs: 0, sampleMs: 0, forwardMs: 0, stepMs: 0 })
  const warnings: Error[] = []
  process.on('warning', (warning) => warnings.push(warning))
  const ending = new AbortController()
  const journal = join(work, 'journal')
  const engine = openTinkerEngine({ url: server.url, dialect: 'hosted', journal, signal: ending.signal })
  const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
  const spec = { model: join(projectRoot(), 'models', 'tiny'), lora: { rank: 4, alpha: 32, targets } }
  const roles = [await engine.open({ ...spec, seed: 1 }), await engine.open({ ...spec, seed: 2 })]
  const params = { maxTokens: 64, temperature: 1, topP: 1, topK: 0, stop: [] }
  const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 0 }
  const prompt = roles[0]!.tokenizer.encode('1*2')
  console.log('  round   heap MB   journal KB   listeners   warnings')
  for (let round = 0; round <= rounds; round++) {
    if (round % every === 0) {
      collectGarbage()
      const heap = process.memoryUsage().heapUsed / 2 ** 20
      const kilobytes = statSync(fileOf(journal)).size / 1024
      const listeners = getEventListeners(ending.signal, 'abort').length
      const cells = [heap.toFixed(2).padStart(10), kilobytes.toFixed(0).padStart(13)]
      console.log(
        `${String(round).padStart(7)}${cells.join('')}${String(listeners).padStart(12)}${String(warnings.length).padStart(11)}`,
      )
    }
    await Promise.all(
      roles.map(async (role) => {
        const rollouts = await collect(role.sample([{ prompt, n: 2, seed: round }], params, ending.signal))
        const data = rollouts.map(({ tokens, logprobs }) => ({
          tokens: Int32Array.from([...prompt.slice(-1), ...tokens.slice(0, -1)]),
          targets: Int32Array.from(tokens),
          logprobs,
          advantages: new Float32Array(tokens.length).fill(0.5),
        }))
        await Promise.all([
          role.forwardBackward(data, { name: 'importance_sampling', temperature: 1 }),
          role.optimStep(adam),
        ])
      }),
    )
  }
  const { steps } = await server.standing()
  console.log(`${steps} steps on the server`)
  await engine.close()
  server.close()
}

/** The journal of the one server. */
const fileOf = (journal: string) => join(journal, readdirSync(journal)[0]!, 'requests.jsonl')

try {
  const [what] = positionals
  if (what === 'soak') await soak(Number(values.rounds ?? 10_000), Number(values.every))
  else await overhead(Number(values.rounds ?? 3))
} finally {
  rmSync(work, { recursive: true, force: true })
}
