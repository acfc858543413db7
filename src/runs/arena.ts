/**
 * The arena: snapshots of both roles of a finished or paused run face each other, all against all. Cross-play tells a role that
 * became better from one whose opponent became worse, and finds circles that no single number shows.
 */
import type { DuelResult } from '../games/game.js'
import { folderName } from './checkpoint.js'
import { duelContext, duelOf, scoreOf } from './duel.js'
import type { Emit } from './events.js'
import { type Match, openSnapshot } from './match.js'
import { type Rating, ratings } from './ratings.js'

export interface ArenaOptions {
  /** Rounds whose snapshots play, ascending; 0 is the start. */
  rounds: readonly number[]
  /** Tasks that each snapshot is asked to set. */
  questions: number
  seed: number
  /** Folder of the run's checkpoints. */
  checkpoints: string
  signal: AbortSignal
  emit: Emit
}

/** One snapshot against another. */
export interface Cell {
  /** Points of the taker: the mean over kinds of the mean over their tasks; null without tasks. */
  score: number | null
  /** 95 % interval. */
  low: number | null
  high: number | null
  /** Tasks that were put. */
  n: number
}

/** What arena.json holds. */
export interface ArenaReport {
  game: string
  setter: string
  taker: string
  /** What earns the taker a point. */
  point: string
  rounds: number[]
  /** Tasks that each snapshot of the setter was asked for, and how many of them counted. */
  questions: number
  counted: number[]
  seed: number
  /** cells[i][j]: the taker of rounds[i] on the tasks of the setter of rounds[j]. */
  cells: Cell[][]
  /** Elo over rounds; the taker of the first round has 1000. */
  elo: { setter: Rating[]; taker: Rating[] }
}

/** Plays all against all. The game's `setup` must have been called with the match. */
export async function playArena(match: Match, options: ArenaOptions): Promise<ArenaReport> {
  const { rounds, questions, seed, checkpoints, signal, emit } = options
  const duel = duelOf(match)!
  const open = (role: string, round: number) =>
    openSnapshot(match, role, round === 0 ? undefined : `${checkpoints}/${folderName(round)}`)

  const tasks: (readonly unknown[])[] = []
  for (const [j, round] of rounds.entries()) {
    emit({
      event: 'phase',
      name: `${duel.setter} of round ${round} sets tasks`,
      done: j,
      total: rounds.length,
    })
    const setter = await open(duel.setter, round)
    tasks.push(await duel.set(duelContext(match, { setter }, { signal, emit: () => {}, seed }), questions))
    await setter.close()
  }

  const results: DuelResult[][][] = []
  for (const [i, round] of rounds.entries()) {
    const taker = await open(duel.taker, round)
    const row: DuelResult[][] = []
    for (const [j, set] of tasks.entries()) {
      const name = `${duel.taker} of round ${round} takes on tasks of round ${rounds[j]}`
      emit({ event: 'phase', name, done: i * rounds.length + j, total: rounds.length ** 2 })
      signal.throwIfAborted()
      const ctx = duelContext(match, { taker }, { signal, emit: () => {}, seed })
      row.push(set.length === 0 ? [] : await duel.take(ctx, set))
    }
    results.push(row)
    await taker.close()
  }

  return {
    game: match.game.name,
    setter: duel.setter,
    taker: duel.taker,
    point: duel.point,
    rounds: [...rounds],
    questions,
    counted: tasks.map((set) => set.length),
    seed,
    cells: results.map((row) => row.map(cellOf)),
    elo: ratings(results, seed),
  }
}

function cellOf(results: readonly DuelResult[]): Cell {
  const { score, low, high, n } = scoreOf(results)
  return n === 0 ? { score: null, low: null, high: null, n } : { score, low, high, n }
}
