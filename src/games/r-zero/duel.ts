/** The challenger's questions against the solver, outside the game. */
import { answerAll, type QuestionDuel, withGold } from '../duel.js'
import { parseProposal } from '../pasodoble/parse.js'
import { solverPrompt } from '../solver.js'
import type { Config } from './config.js'
import { propose } from './judge.js'

/**
 * A question a prompt. The game never asks for the challenger's own answer, and here there is no majority of many solvers: where
 * the run has no world, what the challenger boxes counts.
 */
export const duel: QuestionDuel<Config> = {
  setter: 'challenger',
  taker: 'solver',
  point: 'a right answer of the solver',

  async set(ctx, n) {
    const { think } = ctx.config.challenger
    const proposals = await propose({ ...ctx, config: { ...ctx.config, groups: n, questions: 1 } })
    return withGold(
      ctx,
      proposals.map(({ rollout }) => parseProposal(rollout.text, think)),
    )
  },

  take: (ctx, questions) =>
    answerAll(ctx, 'solver', questions, {
      prompt: (question) => solverPrompt(ctx.config.solver, question),
      sampling: ctx.config.solver,
    }),
}
