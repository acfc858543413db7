/**
 * PasoDoble (arXiv 2511.11881): a proposer sets problems from knowledge, a solver answers them, and each is paid by the
 * other. The loop is in online.ts, where both take their steps in every round, and in offline.ts, where they take turns.
 */
import { QuestionHistory } from '../../data/history.js'
import type { Game } from '../game.js'
import { type Config, config } from './config.js'
import { duel } from './duel.js'
import { type OfflineState, offlineRound, startOffline } from './offline.js'
import { type OnlineState, onlineRound } from './online.js'
import { solverPrompt } from './prompts.js'
import { knowledgeBase } from './steps.js'

type State = OnlineState | OfflineState

export const pasodoble: Game<Config, State> = {
  name: 'pasodoble',
  summary: 'A proposer sets problems from knowledge, a solver answers them, and each is paid by the other.',
  roles: ['proposer', 'solver'],
  config,

  async setup(ctx) {
    await knowledgeBase(ctx)
    const state = { history: new QuestionHistory(ctx.config.history_size).toJSON() }
    return ctx.config.schedule === 'online' ? state : startOffline(state)
  },

  round: (ctx, state) => ('turn' in state ? offlineRound(ctx, state) : onlineRound(ctx, state)),

  playedBy: ({ self_play }, role) => (self_play ? 'solver' : role),

  anchorPrompt: solverPrompt,

  duel: () => duel,

  workload(config) {
    const { proposer, solver, texts_per_round: texts, questions, answers, solver_steps } = config
    const length = (role: typeof solver | typeof proposer) => role.max_prompt_tokens + role.max_tokens
    const taken = config.schedule === 'online' ? 0 : config.offline.questions_per_update
    const proposed = texts * questions
    const lessons = config.schedule === 'online' ? proposed : taken
    const solverRows = answers * (solver_steps === 'per_question' ? 1 : lessons)
    return {
      trainTokens: Math.max(proposed * length(proposer), solverRows * length(solver)),
      longestSequence: Math.max(length(proposer), length(solver)),
      sampleRows: Math.max(proposed, taken) * answers,
    }
  },
}
