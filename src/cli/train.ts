/** sparring train: plays a run file in a run folder, or goes on with a run. */
import { join, relative, resolve } from 'node:path'
import { ConfigError } from '../core/errors.js'
import type { Alarm } from '../runs/alarms.js'
import { latestRunFolder, RunDirectory, requireRun } from '../runs/directory.js'
import type { RunEvent } from '../runs/events.js'
import { openMatch } from '../runs/match.js'
import { requireEarlier } from '../runs/needs.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { type LoadedRecipe, loadRecipe } from '../runs/recipe.js'
import { type Outcome, train as play } from '../runs/runner.js'
import { checkUnchanged } from '../runs/unchanged.js'
import { dryRun } from './dry-run.js'
import { counted, duration, interval, number } from './progress/format.js'
import { createProgress, type Progress } from './progress/progress.js'

export interface TrainFlags {
  run?: string
  rounds?: number
  seed?: number
  set: string[]
  resume?: boolean
  dryRun?: boolean
  /** Leaves report.html in the folder of the run when it ends. */
  report?: boolean
  json?: boolean
}

export async function train(
  recipe: string | undefined,
  flags: TrainFlags,
  parts: Parts = realParts,
): Promise<void> {
  const job = flags.resume ? await jobToResume(recipe, flags, parts) : await jobToStart(recipe, flags, parts)
  const { folder, loaded } = job
  if (flags.dryRun) return dryRun(loaded, flags.json ?? false, parts)
  await requireEarlier(loaded, (name, seed) => loadRecipe(name, { seed, loadGame: parts.loadGame }))
  const run =
    folder === undefined
      ? await RunDirectory.openNew(loaded.name, loaded.recipe.seed)
      : await RunDirectory.open(folder, flags.resume ?? false)
  try {
    await playInTerminal(loaded, run, flags.json ?? false, parts)
  } finally {
    run.close()
    if (flags.report && run.begun) {
      await (await import('./report.js')).leaveReport(run.path, flags.json ?? false)
    }
  }
}

interface Job {
  loaded: LoadedRecipe
  /** Absent where a new folder shall be made. */
  folder: string | undefined
}

async function jobToStart(recipe: string | undefined, flags: TrainFlags, parts: Parts): Promise<Job> {
  if (recipe === undefined) {
    throw new ConfigError('There is no run file to play.', {
      hint: 'Name one, such as sparring train pasodoble-tiny, or go on with a run by --run FOLDER --resume.',
    })
  }
  return { loaded: await loadRecipe(recipe, { ...flags, loadGame: parts.loadGame }), folder: flags.run }
}

/** The run's own config.json says what was played so far; a run file given as well must not contradict it. */
async function jobToResume(recipe: string | undefined, flags: TrainFlags, parts: Parts): Promise<Job> {
  const load = (path: string, changes: Partial<TrainFlags>) =>
    loadRecipe(path, { ...changes, loadGame: parts.loadGame })
  const given = recipe === undefined ? undefined : await load(recipe, flags)
  const folder = flags.run ?? (given && (await latestRunFolder(given.name, given.recipe.seed)))
  if (folder === undefined) {
    throw new ConfigError('There is no run to go on with.', { hint: 'Name its folder with --run.' })
  }
  requireRun(folder)
  const config = join(folder, 'config.json')
  const begun = await load(config, {})
  const loaded = given ?? (await load(config, flags))
  checkUnchanged(begun.recipe, loaded.recipe, folder)
  return { loaded, folder }
}

/** The resolved recipe as config.json holds it: a run file itself, whose paths start from where they started before. */
function configOf({ recipe, folder, packaged }: LoadedRecipe, run: string): object {
  const { folder: _, ...rest } = recipe
  const start = relative(resolve(run), folder).replaceAll('\\', '/')
  return packaged || start === '' ? rest : { folder: start, ...rest }
}

async function playInTerminal(
  loaded: LoadedRecipe,
  run: RunDirectory,
  json: boolean,
  parts: Parts,
): Promise<void> {
  const progress = createProgress(json)
  const goOn = `sparring train --run ${run.path} --resume`
  const ending = listenForEnd(progress, goOn, () => run.close())
  const emit = (event: RunEvent) => progress.event(event)
  try {
    emit({ event: 'config', run: run.path, config: loaded.recipe })
    const match = await openMatch(loaded, parts, {
      run: run.path,
      onWait: (name) => emit({ event: 'phase', name, waiting: true }),
      onWarning: (sentence) => progress.note(sentence),
      signal: ending.opening,
    })
    ending.opened()
    try {
      const outcome = await play(match, run, {
        config: configOf(loaded, run.path),
        emit,
        signal: ending.signal,
        stopping: ending.stopping,
      })
      emit(outcome.done)
      progress.close()
      if (!json) process.stdout.write(`${summary(outcome, goOn).join('\n')}\n`)
    } finally {
      await match.close()
    }
  } finally {
    progress.close()
    ending.close()
  }
}

/**
 * First Ctrl-C: end after this round. Second, or the first while models are still being opened: end at once. A scheduler's
 * SIGTERM counts as the first.
 */
function listenForEnd(progress: Progress, goOn: string, release: () => void) {
  const abort = new AbortController()
  const opening = new AbortController()
  let opened = false
  let asked = 0
  const hear = (): void => {
    if (++asked === 1 && opened) {
      progress.note('Ending after this round; Ctrl-C again ends at once.')
      return
    }
    if (opened) {
      progress.note(`Ended at once. Go on from the last checkpoint: ${goOn}`)
      abort.abort()
    } else {
      progress.note('Ended before a round was begun.')
      opening.abort()
    }
    // A kernel that is running cannot be interrupted; nothing is lost by not waiting for it.
    setTimeout(() => {
      release()
      process.exit(130)
    }, 1000).unref()
  }
  process.on('SIGINT', hear).on('SIGTERM', hear)
  return {
    signal: abort.signal,
    opening: opening.signal,
    opened: () => {
      opened = true
    },
    stopping: () => asked > 0,
    close: () => process.off('SIGINT', hear).off('SIGTERM', hear),
  }
}

function summary({ done, history }: Outcome, goOn: string): string[] {
  const readings = (name: string) =>
    history.flatMap((line) => {
      const [accuracy, low, high] = [line[name], line[`${name}_low`], line[`${name}_high`]]
      return typeof accuracy === 'number'
        ? [{ accuracy, low: low ?? Number.NaN, high: high ?? Number.NaN }]
        : []
    })
  const change = (what: string, name: string) => {
    const all = readings(name)
    return all.length === 0 ? [] : [`${what.padEnd(18)} ${interval(all[0]!)} -> ${interval(all.at(-1)!)}`]
  }
  const heldout = done.heldout
    ? [
        ...change('held-out accuracy', 'heldout/accuracy'),
        ...change('  greedy', 'heldout/greedy'),
        `  ${counted(done.heldout.n, 'problem')}, 95 % intervals`,
      ]
    : []
  const time = `${counted(done.rounds, 'round')}, ${duration(done.seconds)}, ${done.run}`
  const pause = done.paused && pauseLine(done.paused, done.rounds)
  const end = done.stopped ? `${pause ? 'Paused' : 'Ended'} early: ${time}\nGo on with: ${goOn}` : time
  return [...heldout, ...(pause === undefined ? [] : [pause]), end]
}

function pauseLine({ name, formula, value, threshold, message }: Alarm, round: number): string {
  return `The alarm ${name} paused the run after round ${round}: ${formula} (${number(value)} against ${number(threshold)}). ${message}`
}
