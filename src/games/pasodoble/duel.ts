/** The proposer's questions against the solver, outside the game. */
import { answerAll, type QuestionDuel, withGold } from '../duel.js'
import type { Config } from './config.js'
import { solverPrompt } from './prompts.js'
import { isWellFormed } from './question.js'
import { hackingCheck } from './rewards.js'
import { knowledgeBase, propose } from './steps.js'

/** A question a text. What is malformed or cheats does not count; nor does it matter how often it is solved. */
export const duel: QuestionDuel<Config> = {
  setter: 'proposer',
  taker: 'solver',
  point: 'a right answer of the solver',

  async set(ctx, n) {
    const knowledge = await knowledgeBase(ctx)
    const stream = ctx.random('knowledge')
    const texts = Array.from({ length: n }, () => knowledge?.draw(stream) ?? null)
    const proposals = await propose({ ...ctx, config: { ...ctx.config, questions: 1 } }, texts)
    const sound = proposals.filter(
      (proposal) =>
        isWellFormed(proposal) && hackingCheck(proposal.question, proposal.answer, ctx.config) === null,
    )
    return withGold(ctx, sound)
  },

  take: (ctx, questions) =>
    answerAll(ctx, 'solver', questions, {
      prompt: (question) => solverPrompt(ctx.config, question),
      sampling: ctx.config.solver,
    }),
}
