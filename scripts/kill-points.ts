/**
 * Is a killed run worth nothing less? Plays a short run undisturbed, then again and again with kill -9 at points spread
 * over its whole length and at the moments when it writes (rollouts of a round, a checkpoint half done), resumes each,
 * and compares metrics (times apart), rollouts and weights with the undisturbed run, byte for byte.
 *
 *   npm run kill-points -- [--points 24] [--recipe pasodoble-tiny]... [--set key=value]... [--out runs/kill-points]
 *
 * Sizes and phases of a recipe are cut down, so that its six rounds take seconds and see every phase. --recipe all takes
 * every recipe whose name ends in -tiny.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { projectRoot } from '../src/core/paths.js'
import { loadGame } from '../src/games/index.js'
import { loadRecipe, recipeNames } from '../src/runs/recipe.js'

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '24' },
    recipe: { type: 'string', multiple: true, default: ['pasodoble-tiny'] },
    set: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', default: 'runs/kill-points' },
  },
})
const rounds = 6
const checkpointEvery = 2

/** What of a recipe is cut down, where it has the key. */
const small: Record<string, number> = {
  'settings.texts_per_round': 2,
  'settings.problems_per_round': 3,
  'settings.questions_per_round': 4,
  'settings.groups': 4,
  'settings.batch_size': 16,
  'settings.probe_every': 2,
  'settings.validate_every': 2,
  'settings.warmup': 2,
  'settings.challenger_rounds': 1,
  'settings.pool_rounds': 1,
  'settings.solver_rounds': 2,
  'settings.offline.proposer_updates': 2,
  'settings.offline.solver_updates': 1,
  'settings.offline.questions_per_update': 8,
  'anchors.heldout.n': 48,
}

/** When to kill: after so many milliseconds, or as soon as a path of the run folder exists. */
type Point = { after: number } | { seen: string }

interface Subject {
  recipe: string
  set: string[]
}

async function subject(name: string): Promise<Subject> {
  const { recipe } = await loadRecipe(name, { loadGame })
  const has = (key: string) =>
    key
      .split('.')
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], recipe) !==
    undefined
  const cut = Object.entries(small).flatMap(([key, value]) => (has(key) ? [`${key}=${value}`] : []))
  return {
    recipe: name,
    set: [...cut, `checkpoint.every=${checkpointEvery}`, 'anchors.every=3', ...values.set],
  }
}

function start({ recipe, set }: Subject, run: string, resume: boolean): ChildProcess {
  const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
  const given = resume ? ['--resume'] : [recipe, ...set.flatMap((setting) => ['--set', setting])]
  const flags = ['--run', run, '--rounds', String(rounds), '--json', '--no-report']
  return spawn(process.execPath, [cli, 'train', ...given, ...flags], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code))
  })

async function playWhole(subject: Subject, run: string, resume = false): Promise<void> {
  const code = await ended(start(subject, run, resume))
  if (code !== 0) throw new Error(`The run in ${run} ended with status ${code}.`)
}

/** Plays until the point, kills, and says whether the run was still going. */
async function playUntil(subject: Subject, run: string, point: Point): Promise<boolean> {
  const child = start(subject, run, false)
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

/** Kills and resumes; the points after which something was different. */
async function tryOut(subject: Subject, out: string): Promise<number> {
  const reference = join(out, 'undisturbed')
  const started = performance.now()
  await playWhole(subject, reference)
  const length = performance.now() - started
  const expected = fingerprint(reference)
  console.log(
    `undisturbed: ${rounds} rounds of ${subject.recipe} in ${(length / 1000).toFixed(1)} s, ${expected.size} things to compare`,
  )
  let failures = 0
  const points = pointsIn(length)
  for (const [i, point] of points.entries()) {
    const run = join(out, `killed-${String(i + 1).padStart(2, '0')}`)
    const running = await playUntil(subject, run, point)
    await playWhole(subject, run, existsSync(join(run, 'config.json')))
    const wrong = differences(expected, fingerprint(run))
    if (wrong.length > 0) failures++
    const when = 'after' in point ? `${(point.after / 1000).toFixed(2)} s` : `at ${point.seen}`
    const how = running ? '' : ' (the run had ended)'
    console.log(
      `killed ${when}${how}: ${wrong.length === 0 ? 'equal' : `DIFFERENT in ${wrong.slice(0, 5).join(', ')}`}`,
    )
  }
  console.log(`${points.length - failures} of ${points.length} resumed runs equal the undisturbed one`)
  return failures
}

/** Moments of writing, and the rest spread over a run of `length` milliseconds. */
function pointsIn(length: number): Point[] {
  const count = Number(values.points)
  const moments: Point[] = [
    ...[0, 2, 4, 6].map((round) => ({ seen: `checkpoints/${String(round).padStart(6, '0')}.partial` })),
    ...[2, 5].map((round) => ({ seen: `rollouts/round-${String(round).padStart(6, '0')}` })),
  ].slice(0, count)
  const spread = count - moments.length
  return [
    ...moments,
    ...Array.from({ length: spread }, (_, i) => ({ after: (length * (i + 0.7)) / (spread + 1.5) })),
  ]
}

rmSync(values.out, { recursive: true, force: true })
const names = values.recipe.includes('all')
  ? recipeNames().filter((name) => name.endsWith('-tiny'))
  : values.recipe
let failures = 0
for (const name of names) failures += await tryOut(await subject(name), join(values.out, name))
process.exitCode = failures === 0 ? 0 : 1
