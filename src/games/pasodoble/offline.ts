/**
 * The offline loop: the roles take turns, and a buffer of questions lies between them. A round is one draw of a phase.
 *
 *   A  proposer's phase, the solver frozen: steps 1 to 9 of the online loop, until the proposer has taken
 *      proposer_updates steps. Every question that the solver could learn from enters the buffer.
 *   B  solver's phase, the proposer frozen, until the solver has taken solver_updates updates: the next
 *      questions_per_update questions of the buffer, J fresh answers to each, p_i anew, and step 10 on those that are
 *      still valid.
 *
 * A draw that nobody can learn from counts for no update; so many of them in a row end the phase. Without questions there
 * is no solver's phase.
 */
import { QuestionHistory } from '../../data/history.js'
import { QuestionBuffer, type QuestionBufferState } from '../../data/question-buffer.js'
import type { GameContext, RoundReport } from '../game.js'
import type { Config } from './config.js'
import { grade } from './grade.js'
import { type OnlineState, proposeBatches } from './online.js'
import type { Revisited } from './question.js'
import { report, revisitReport } from './report.js'
import { passRate } from './rewards.js'
import { lessons, rescore } from './score.js'
import { answer, trainProposer, trainSolver } from './steps.js'

type Context = GameContext<Config>

export interface OfflineState extends OnlineState {
  turn: Turn
  buffer: QuestionBufferState
}

/** Where the phases stand before a round. */
export interface Turn {
  phase: 'proposer' | 'solver'
  /** Pairs of phases that are over. */
  iteration: number
  /** Updates of this phase so far. */
  updates: number
  /** Draws in a row that made no update. */
  failedDraws: number
}

export function startOffline(state: OnlineState): OfflineState {
  const turn: Turn = { phase: 'proposer', iteration: 0, updates: 0, failedDraws: 0 }
  return { ...state, turn, buffer: { questions: [], pointer: 0 } }
}

export async function offlineRound(
  ctx: Context,
  state: OfflineState,
): Promise<{ state: OfflineState; report: RoundReport }> {
  const { buffer_cap: cap, eviction } = ctx.config.offline
  const buffer = new QuestionBuffer({ cap, eviction }, state.buffer)
  const history = QuestionHistory.fromJSON(state.history)
  const play = state.turn.phase === 'proposer' ? proposerDraw : solverDraw
  const { updated, report } = await play(ctx, buffer, history)
  const turn = turnAfter(state.turn, updated, buffer.size, ctx.config.offline)
  const metrics = { ...report.metrics, ...turnMetrics(state.turn, updated, buffer.size) }
  return {
    state: { history: history.toJSON(), buffer: buffer.toJSON(), turn },
    report: { ...report, metrics },
  }
}

interface Draw {
  /** Whether there was something for the role of the phase to learn from. */
  updated: boolean
  report: RoundReport
}

/** A draw of phase A. */
async function proposerDraw(ctx: Context, buffer: QuestionBuffer, history: QuestionHistory): Promise<Draw> {
  const batches = await proposeBatches(ctx, history)
  for (const { question, answer, rewards } of lessons(batches)) {
    buffer.push({ question, answer, passRate: passRate(rewards), born: ctx.round })
  }
  const steps = { proposer: await trainProposer(ctx, batches), solver: [] }
  return { updated: batches.some(({ trains }) => trains.proposer), report: report(ctx, batches, steps) }
}

/** A draw of phase B. */
async function solverDraw(ctx: Context, buffer: QuestionBuffer): Promise<Draw> {
  const entries = buffer.take(ctx.config.offline.questions_per_update)
  const asked = entries.map((entry) => ({ entry, question: entry.question, answer: entry.answer }))
  const graded = await grade(ctx, await answer(ctx, asked))
  const questions: Revisited[] = graded.map((question) => rescore(question, ctx.config))
  for (const { entry, passRate } of questions) buffer.visited(entry, passRate)
  const valid = questions.filter((question) => question.valid)
  const steps = await trainSolver(ctx, valid)
  return { updated: valid.length > 0, report: revisitReport(ctx, questions, steps) }
}

/** The turn that follows a draw; `questions` are those of the buffer after it. */
export function turnAfter(
  turn: Turn,
  updated: boolean,
  questions: number,
  settings: Config['offline'],
): Turn {
  const { phase, iteration } = turn
  const updates = turn.updates + Number(updated)
  const failedDraws = updated ? 0 : turn.failedDraws + 1
  const wanted = phase === 'proposer' ? settings.proposer_updates : settings.solver_updates
  const dry = phase === 'solver' && questions === 0
  if (updates < wanted && failedDraws < settings.max_failed_draws && !dry) {
    return { phase, iteration, updates, failedDraws }
  }
  const next = phase === 'proposer' && questions > 0 ? 'solver' : 'proposer'
  return { phase: next, iteration: iteration + Number(next === 'proposer'), updates: 0, failedDraws: 0 }
}

function turnMetrics(turn: Turn, updated: boolean, questions: number): Record<string, number> {
  return {
    'turn/iteration': turn.iteration,
    'turn/solver': Number(turn.phase === 'solver'),
    'turn/failed_draws': updated ? 0 : turn.failedDraws + 1,
    'buffer/size': questions,
  }
}
