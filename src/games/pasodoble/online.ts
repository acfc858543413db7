/**
 * The online loop. One round, for every text of the round:
 *
 *   1  draw a knowledge text k                           6  check for reward hacking: p_i := 0
 *   2  proposer: I completions of prompt(k)              7  rewards of the proposer from p_i and the history H
 *   3  read q_i and the proposer's own answer a*_i       8  skip the text where nothing can be learned from it
 *   4  solver: J answers a_ij to every q_i               9  proposer: one gradient step
 *   5  r^s_ij = [a_ij = a*_i],  p_i = mean_j r^s_ij     10  solver: a gradient step for every valid q_i
 */
import { type HistoryState, QuestionHistory } from '../../data/history.js'
import type { GameContext, RoundReport } from '../game.js'
import type { Config } from './config.js'
import { grade } from './grade.js'
import type { Batch } from './question.js'
import { report } from './report.js'
import { lessons, remember, score } from './score.js'
import { answer, drawTexts, propose, trainProposer, trainSolver } from './steps.js'

type Context = GameContext<Config>

export interface OnlineState {
  history: HistoryState
}

export async function onlineRound(
  ctx: Context,
  state: OnlineState,
): Promise<{ state: OnlineState; report: RoundReport }> {
  const history = QuestionHistory.fromJSON(state.history)
  const batches = await proposeBatches(ctx, history) // 1 to 8
  const [proposer, solver] = await Promise.all([
    trainProposer(ctx, batches), // 9
    trainSolver(ctx, lessons(batches)), // 10
  ])
  return { state: { history: history.toJSON() }, report: report(ctx, batches, { proposer, solver }) }
}

/** Steps 1 to 8, which the offline form shares. The questions enter the history. */
export async function proposeBatches(ctx: Context, history: QuestionHistory): Promise<Batch[]> {
  const texts = await drawTexts(ctx) // 1
  const proposals = await propose(ctx, texts) // 2, 3
  const answered = await answer(ctx, proposals) // 4
  const graded = await grade(ctx, answered) // 5
  const ofText = (batch: number) => graded.filter((question) => question.batch === batch)
  const batches = texts.map((_, batch) => score(ofText(batch), history, ctx.config)) // 5 to 8
  remember(batches, history, ctx.config)
  return batches
}
