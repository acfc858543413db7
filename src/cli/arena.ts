/** sparring arena: snapshots of both roles of a run play each other. */
import { join } from 'node:path'
import { ConfigError } from '../core/errors.js'
import { writeFileWhole } from '../engine/hf/files.js'
import { type ArenaReport, type Cell, playArena } from '../runs/arena.js'
import { wholeCheckpoints } from '../runs/checkpoint.js'
import { duelOf } from '../runs/duel.js'
import type { RunEvent } from '../runs/events.js'
import { gameContext, openMatch } from '../runs/match.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import type { Rating } from '../runs/ratings.js'
import { loadRecipe } from '../runs/recipe.js'
import { hearing, isRun } from './model.js'
import { claimFile } from './output.js'

export interface ArenaFlags {
  rounds?: number[]
  questions: number
  seed?: number
  threads?: number
  /** @default arena.json in the folder of the run, where the page finds it */
  out?: string
  json?: boolean
}

/** Snapshots that play where none are named. */
const MOST = 8

export async function arena(run: string, flags: ArenaFlags, parts: Parts = realParts): Promise<void> {
  if (!isRun(run)) {
    throw new ConfigError(`${run} is not the folder of a run.`, {
      hint: 'Runs lie in runs/, unless --run said otherwise.',
    })
  }
  const set = flags.threads === undefined ? [] : [`engine.threads=${flags.threads}`]
  const loaded = await loadRecipe(join(run, 'config.json'), { set, loadGame: parts.loadGame })
  if (duelOf(loaded) === undefined) {
    throw new ConfigError(`${loaded.game.name}, as ${run} plays it, has no two roles that face each other.`, {
      hint: 'Compare its checkpoints on problems with known answers: sparring eval.',
    })
  }
  const checkpoints = join(run, 'checkpoints')
  const rounds = choose(await kept(checkpoints), flags.rounds, run)
  const { out = join(run, 'arena.json') } = flags
  await claimFile(out)
  const ending = new AbortController()
  const end = () => ending.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  // Nothing is measured here that the run measures.
  const { every, world } = loaded.recipe.anchors
  const anchors = { every, ...(world && { world }) }
  const match = await openMatch({ ...loaded, recipe: { ...loaded.recipe, anchors } }, parts, {
    ...hearing,
    signal: ending.signal,
  })
  try {
    const { signal } = ending
    await loaded.game.setup(gameContext(match, 'setup', signal, () => {}))
    const seed = flags.seed ?? loaded.recipe.seed
    const options = { rounds, questions: flags.questions, seed, checkpoints, signal, emit: say }
    const report = await playArena(match, options)
    await writeFileWhole(out, `${JSON.stringify(report, null, 2)}\n`)
    const lines = flags.json
      ? [JSON.stringify({ event: 'arena', run, out, ...report })]
      : [...tableOf(report), `written to ${out}`]
    process.stdout.write(`${lines.join('\n')}\n`)
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
    await match.close()
  }
}

/** Rounds with a checkpoint, the start always among them: its weights are the models of the run file. */
async function kept(checkpoints: string): Promise<number[]> {
  const written = (await wholeCheckpoints(checkpoints).catch(() => [])).map(Number)
  return [...new Set([0, ...written])].sort((a, b) => a - b)
}

function choose(rounds: readonly number[], wanted: readonly number[] | undefined, run: string): number[] {
  const lost = wanted?.find((round) => !rounds.includes(round))
  if (lost !== undefined) {
    throw new ConfigError(`${run} has no checkpoint of round ${lost}.`, {
      hint: `Rounds to choose from: ${rounds.join(', ')}. A run keeps more of them with checkpoint.snapshots.`,
    })
  }
  const playing = wanted ? [...new Set(wanted)].sort((a, b) => a - b) : spread(rounds, MOST)
  if (playing.length > 1) return playing
  throw new ConfigError(`The arena needs two rounds or more, and ${run} plays one: ${playing.join()}.`, {
    hint: 'Name several with --rounds; a run keeps more of them with checkpoint.snapshots.',
  })
}

/** `most` of the rounds, evenly spaced by place, the first and the last among them. */
function spread(rounds: readonly number[], most: number): number[] {
  if (rounds.length <= most) return [...rounds]
  return Array.from({ length: most }, (_, k) => rounds[Math.round((k * (rounds.length - 1)) / (most - 1))]!)
}

/** What is going on, on stderr where that is a terminal. */
function say(event: RunEvent): void {
  if (event.event !== 'phase' || !process.stderr.isTTY) return
  process.stderr.write(`${event.name} (${(event.done ?? 0) + 1} of ${event.total})\n`)
}

function tableOf(report: ArenaReport): string[] {
  const { rounds, cells, setter, taker, point, questions, counted, elo } = report
  const columns = rounds.map((round) => `round ${round}`)
  const rating = ({ elo, low, high }: Rating) =>
    `${Math.round(elo)} [${Math.round(low)}, ${Math.round(high)}]`
  const share = ({ score, low, high }: Cell) =>
    score === null ? '-' : `${score.toFixed(2)} [${low!.toFixed(2)}, ${high!.toFixed(2)}]`
  return [
    `Rows: the ${taker} of a round; columns: the ${setter}. A point is ${point}. 95 % intervals.`,
    '',
    ...aligned([
      ['', ...columns, `Elo of ${taker}`],
      ...cells.map((row, i) => [columns[i]!, ...row.map(share), rating(elo.taker[i]!)]),
      [`Elo of ${setter}`, ...elo.setter.map(rating), ''],
      ['tasks that count', ...counted.map((n) => `${n} of ${questions}`), ''],
    ]),
    '',
  ]
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
