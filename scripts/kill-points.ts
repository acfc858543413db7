/**
 * Is a killed run worth nothing less? Plays a short run undisturbed, then again and again with kill -9 at points spread
 * over its whole length and at the moments when it writes (rollouts of a round, a checkpoint half done), resumes each,
 * and compares metrics (times apart), rollouts and weights with the undisturbed run, byte for byte.
 *
 *   npm run kill-points -- [--points 24] [--recipe pasodoble-tiny] [--set key=value]... [--out runs/kill-points]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { projectRoot } from '../src/core/paths.js'

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '24' },
    recipe: { type: 'string', default: 'pasodoble-tiny' },
    set: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', default: 'runs/kill-points' },
  },
})
const rounds = 6
const checkpointEvery = 2

/** When to kill: after so many milliseconds, or as soon as a path of the run folder exists. */
type Point = { after: number } | { seen: string }

function start(run: string, resume: boolean): ChildProcess {
  const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
  const settings = [
    'settings.texts_per_round=2',
    `checkpoint.every=${checkpointEvery}`,
    'anchors.every=3',
    'anchors.heldout.n=48',
    ...values.set,
  ].flatMap((setting) => ['--set', setting])
  const flags = ['--run', run, '--rounds', String(rounds), '--json', ...(resume ? ['--resume'] : settings)]
  return spawn(
    process.execPath,
    [cli, 'train', '--no-report', ...(resume ? [] : [values.recipe]), ...flags],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code))
  })

async function playWhole(run: string, resume = false): Promise<void> {
  const code = await ended(start(run, resume))
  if (code !== 0) throw new Error(`The run in ${run} ended with status ${code}.`)
}

/** Plays until the point, kills, and says whether the run was still going. */
async function playUntil(run: string, point: Point): Promise<boolean> {
  const child = start(run, false)
  let over = false
  const exit = ended(child).then(() => {
    over = true
  })
  if ('after' in point) await Promise.race([sleep(point.after), exit])
  else while (!over && !existsSync(join(run, point.seen))) await sleep(0.2)
  const running = !over
  child.kill('SIGKILL')
  await exit
  return running
}

/** Everything that must be equal: metric lines without times, and the digest of every rollout file and last checkpoint. */
function fingerprint(run: string): Map<string, string> {
  const out = new Map<string, string>()
  const lines = readFileSync(join(run, 'metrics.jsonl'), 'utf8').trim().split('\n')
  lines.forEach((line, i) => {
    const entries = Object.entries(JSON.parse(line)).filter(([key]) => !key.startsWith('time/'))
    out.set(`metrics line ${i}`, JSON.stringify(entries))
  })
  const last = readdirSync(join(run, 'checkpoints')).sort().at(-1)!
  for (const folder of ['rollouts', join('checkpoints', last)])
    for (const entry of readdirSync(join(run, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      out.set(path.slice(run.length), createHash('sha256').update(readFileSync(path)).digest('hex'))
    }
  return out
}

const differences = (a: Map<string, string>, b: Map<string, string>) =>
  [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key))

rmSync(values.out, { recursive: true, force: true })
const reference = join(values.out, 'undisturbed')
const started = performance.now()
await playWhole(reference)
const length = performance.now() - started
const expected = fingerprint(reference)
console.log(
  `undisturbed: ${rounds} rounds in ${(length / 1000).toFixed(1)} s, ${expected.size} things to compare`,
)

const count = Number(values.points)
const moments: Point[] = [
  ...[0, 2, 4, 6].map((round) => ({ seen: `checkpoints/${String(round).padStart(6, '0')}.partial` })),
  ...[2, 5].map((round) => ({ seen: `rollouts/round-${String(round).padStart(6, '0')}` })),
].slice(0, count)
const spreadOut = count - moments.length
const points: Point[] = [
  ...moments,
  ...Array.from({ length: spreadOut }, (_, i) => ({ after: (length * (i + 0.7)) / (spreadOut + 1.5) })),
]

let failures = 0
for (const [i, point] of points.entries()) {
  const run = join(values.out, `killed-${String(i + 1).padStart(2, '0')}`)
  const running = await playUntil(run, point)
  const begun = existsSync(join(run, 'config.json'))
  if (begun) await playWhole(run, true)
  else {
    rmSync(run, { recursive: true, force: true })
    await playWhole(run)
  }
  const wrong = differences(expected, fingerprint(run))
  if (wrong.length > 0) failures++
  const when = 'after' in point ? `${(point.after / 1000).toFixed(2)} s` : `at ${point.seen}`
  const how = running ? '' : ' (the run had ended)'
  console.log(
    `killed ${when}${how}: ${wrong.length === 0 ? 'equal' : `DIFFERENT in ${wrong.slice(0, 5).join(', ')}`}`,
  )
}
console.log(`${points.length - failures} of ${points.length} resumed runs equal the undisturbed one`)
process.exitCode = failures === 0 ? 0 : 1
