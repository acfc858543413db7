/** The loop that every game is played in: rounds, yardsticks, records, checkpoints, alarms that act, resume. */
import { AlarmError, ConfigError, NotFiniteError } from '../core/errors.js'
import type { RoundReport } from '../games/game.js'
import type { Alarm } from './alarms.js'
import { noReadings, readAnchors } from './anchors.js'
import type { MetricsLine, RunDirectory } from './directory.js'
import type { DoneEvent, Emit, HeldoutChange } from './events.js'
import { heldoutLines, lineage, rateScale } from './history.js'
import { Ledger, type Position, type Verdict } from './ledger.js'
import { adamParams, gameContext, type Match } from './match.js'

export interface TrainOptions {
  /** What config.json shall hold: the recipe, as a run file that can be played again. */
  config: object
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

/** What came of a round. */
interface Turn {
  position: Position
  /** What the alarms ask for beyond a rollback, which has been done. */
  verdict?: Verdict | undefined
  /** The round broke off: the policies are between two positions, and no checkpoint can be made of them. */
  broken?: true
}

/**
 * Plays a match in a run folder: a new run, or the rest of one that was begun. A killed and resumed run writes the same
 * numbers as an undisturbed one, times (`time/...`) apart. Throws AlarmError where an alarm stops the run.
 */
export async function train(match: Match, run: RunDirectory, options: TrainOptions): Promise<Outcome> {
  const { recipe, game } = match
  const { emit, signal } = options
  const started = performance.now()
  emit({ event: 'memory', ...match.memory })
  const fresh = await game.setup(gameContext(match, 'setup', signal, emit))
  const ledger = new Ledger(run, match, emit)

  let turn: Turn = { position: await begin() }
  while (turn.position.round < recipe.rounds && !turn.verdict && !options.stopping()) {
    turn = await play(turn.position)
  }
  const { position, verdict } = turn
  if (!turn.broken) await ledger.checkpoint(position)
  if (verdict?.action === 'stop') throw stopped(run.path, position.round, verdict.alarm)

  const done: DoneEvent = {
    event: 'done',
    run: run.path,
    rounds: position.round,
    seconds: since(started),
    heldout: heldoutChange(ledger.history, match),
    ...(position.round < recipe.rounds && { stopped: true }),
    ...(verdict && { paused: verdict.alarm }),
  }
  return { done, history: ledger.history }

  async function begin(): Promise<Position> {
    const resumed = await ledger.resume()
    if (resumed !== undefined) requireRounds(resumed.round)
    await run.writeConfig(options.config)
    if (resumed !== undefined) {
      await run.appendResume(resumed.round)
      return resumed
    }
    const position = { round: 0, state: JSON.stringify(fresh) }
    await settle(position, { metrics: {}, rollouts: [] }, {})
    return position
  }

  function requireRounds(played: number): void {
    if (played <= recipe.rounds) return
    throw new ConfigError(
      `${run.path} has played ${played} rounds, and ${recipe.rounds} are asked for in all.`,
      {
        hint: `Ask for ${played} or more with --rounds, or start a new run that ends earlier.`,
      },
    )
  }

  async function play(before: Position): Promise<Turn> {
    const { round, state } = before
    const roundStarted = performance.now()
    const scale = rateScale(ledger.history)
    for (const [name, role] of Object.entries(match.roles)) {
      role.adam = adamParams(recipe.roles[name]!, round, recipe.rounds, scale)
    }
    let result: Awaited<ReturnType<typeof game.round>>
    try {
      result = await game.round(gameContext(match, round, signal, emit), JSON.parse(state))
    } catch (error) {
      if (!(error instanceof NotFiniteError)) throw error
      return giveUp(before, error)
    }
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
    return settle(next, result.report, {
      'time/round_s': seconds,
      ...(tokens > 0 && { 'time/tokens_per_s': tokens / seconds }),
    })
  }

  /** What follows a round: yardsticks, the record, what the alarms ask for, a checkpoint. */
  async function settle(at: Position, report: RoundReport, times: Record<string, number>): Promise<Turn> {
    signal.throwIfAborted()
    const { every } = recipe.anchors
    const due = at.round % every === 0 || at.round === recipe.rounds
    const readings = due ? await readAnchors(match, ledger.snapshots(at.round), signal, emit) : noReadings
    for (const {
      sampling,
      report: { records: _, ...summary },
    } of readings.heldout) {
      emit({ event: 'eval', round: at.round, name: 'heldout', sampling, ...summary })
    }
    const others = Object.entries(readings.metrics).filter(([name]) => !name.startsWith('heldout/'))
    if (others.length > 0) emit({ event: 'anchor', round: at.round, metrics: Object.fromEntries(others) })
    const verdict = await ledger.record(at, report, readings, times)
    if (verdict?.action === 'rollback') return { position: await goBack(at.round, verdict) }
    if (ledger.isDue(at.round)) await ledger.checkpoint(at)
    return { position: at, verdict }
  }

  async function goBack(round: number, verdict: Verdict): Promise<Position> {
    const position = await ledger.rollBack(round, verdict)
    if (ledger.isDue(round)) await ledger.checkpoint(position)
    return position
  }

  /**
   * The engine refused a step whose gradient, or a distribution, was not finite. What the alarm for it does is done; where it
   * only warns there is nothing to go on with.
   */
  async function giveUp(before: Position, error: NotFiniteError): Promise<Turn> {
    const { do: action } = recipe.alarms.loss_not_finite
    const alarm: Alarm = {
      name: 'loss_not_finite',
      action,
      value: 1,
      threshold: 0,
      formula: 'numbers of the engine that are not finite > 0',
      message: error.message,
    }
    if (action === 'pause') {
      emit({ event: 'alarm', round: before.round, ...alarm })
      return { position: before, verdict: { action, alarm }, broken: true }
    }
    if (action !== 'rollback') throw error
    const at = { ...before, round: before.round + 1 }
    const nothing = { metrics: {}, rollouts: [], skipped: error.message }
    const verdict = await ledger.record(at, nothing, noReadings, {}, [alarm])
    if (verdict?.action === 'rollback') return { position: await goBack(at.round, verdict) }
    return { position: at, verdict, broken: true }
  }
}

function stopped(run: string, round: number, { name, formula, value, threshold, message }: Alarm) {
  const figures = `${value.toPrecision(3)} against ${threshold.toPrecision(3)}`
  return new AlarmError(
    `The alarm ${name} stopped ${run} after round ${round}: ${formula} (${figures}). ${message}`,
    { hint: `To go on all the same: sparring train --run ${run} --resume` },
  )
}

/** Accuracy on the held-out problems of the start and of the weights that the run ends with. */
function heldoutChange(history: MetricsLine[], match: Match): HeldoutChange | null {
  const readings = heldoutLines(lineage(history)).map((line) => Number(line['heldout/accuracy']))
  if (match.heldout === undefined || readings.length === 0) return null
  return { before: readings[0]!, after: readings.at(-1)!, n: match.heldout.problems.length }
}

function since(start: number): number {
  return (performance.now() - start) / 1000
}
