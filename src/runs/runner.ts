/** The loop that every game is played in: rounds, yardsticks, records, checkpoints, resume. */
import type { RoundReport } from '../games/game.js'
import { readAnchors } from './anchors.js'
import type { MetricsLine, RunDirectory } from './directory.js'
import type { DoneEvent, Emit, HeldoutChange } from './events.js'
import { Ledger, type Position } from './ledger.js'
import { adamParams, gameContext, type Match } from './match.js'

export interface TrainOptions {
  emit: Emit
  /** Ends the run at once; what came after the last checkpoint is played again on resume. */
  signal: AbortSignal
  /** True once the run shall end after the current round. */
  stopping(): boolean
}

export interface Outcome {
  done: DoneEvent
  /** Every line of metrics.jsonl. */
  history: MetricsLine[]
}

/**
 * Plays a match in a run folder: a new run, or the rest of one that was begun. A killed and resumed run writes the same
 * numbers as an undisturbed one, times (`time/...`) apart.
 */
export async function train(match: Match, run: RunDirectory, options: TrainOptions): Promise<Outcome> {
  const { recipe, game } = match
  const { emit, signal } = options
  const started = performance.now()
  emit({ event: 'memory', ...match.memory })
  const fresh = await game.setup(gameContext(match, undefined, signal, emit))
  const ledger = new Ledger(run, match, emit)

  let position = await ledger.resume()
  if (position === undefined) {
    position = { round: 0, state: JSON.stringify(fresh) }
    await settle(position, { metrics: {}, rollouts: [] }, {})
  }
  while (position.round < recipe.rounds && !options.stopping()) position = await play(position)
  await ledger.checkpoint(position)

  const done: DoneEvent = {
    event: 'done',
    run: run.path,
    rounds: position.round,
    seconds: since(started),
    heldout: heldoutChange(ledger.history, match),
    ...(position.round < recipe.rounds && { stopped: true }),
  }
  return { done, history: ledger.history }

  async function play({ round, state }: Position): Promise<Position> {
    const roundStarted = performance.now()
    for (const [name, role] of Object.entries(match.roles)) {
      role.adam = adamParams(recipe.roles[name]!, round, recipe.rounds)
    }
    const result = await game.round(gameContext(match, round, signal, emit), JSON.parse(state))
    const next = { round: round + 1, state: JSON.stringify(result.state) }
    const seconds = since(roundStarted)
    const tokens = result.report.rollouts.reduce((sum, rollout) => sum + rollout.tokens, 0)
    const { skipped, metrics } = result.report
    emit({
      event: 'round',
      round: next.round,
      rounds: recipe.rounds,
      seconds,
      ...(skipped !== undefined && { skipped }),
      metrics,
    })
    await settle(next, result.report, {
      'time/round_s': seconds,
      ...(tokens > 0 && { 'time/tokens_per_s': tokens / seconds }),
    })
    return next
  }

  /** What follows a round: yardsticks, the record, a checkpoint. */
  async function settle(at: Position, report: RoundReport, times: Record<string, number>): Promise<void> {
    signal.throwIfAborted()
    const { every } = recipe.anchors
    const due = at.round % every === 0 || at.round === recipe.rounds
    const readings = due ? await readAnchors(match, signal, emit) : []
    for (const {
      sampling,
      report: { records: _, ...summary },
    } of readings) {
      emit({ event: 'eval', round: at.round, name: 'heldout', sampling, ...summary })
    }
    await ledger.record(at, report, readings, times)
    if (at.round % recipe.checkpoint.every === 0) await ledger.checkpoint(at)
  }
}

function heldoutChange(history: MetricsLine[], match: Match): HeldoutChange | null {
  const readings = history.flatMap((line) => line['heldout/accuracy'] ?? [])
  if (match.heldout === undefined || readings.length === 0) return null
  return { before: readings[0]!, after: readings.at(-1)!, n: match.heldout.problems.length }
}

function since(start: number): number {
  return (performance.now() - start) / 1000
}
