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

  demands(config) {
    const { proposer, solver, texts_per_round: texts, questions, answers, frozen } = config
    const proposed = texts * questions
    const lessons = taught(config)
    const limits = (role: typeof proposer | typeof solver) => ({
      promptTokens: role.max_prompt_tokens,
      completionTokens: role.max_tokens,
    })
    const longest = (role: typeof proposer | typeof solver) => role.max_prompt_tokens + role.max_tokens
    return {
      proposer: {
        sampled: [{ prompts: texts, completions: questions, ...limits(proposer) }],
        ...(frozen !== 'proposer' && {
          trained: { sequences: proposed, tokens: longest(proposer), steps: 1 },
        }),
      },
      solver: {
        sampled: [{ prompts: Math.max(proposed, lessons), completions: answers, ...limits(solver) }],
        trained: {
          sequences: lessons * answers,
          tokens: longest(solver),
          steps: config.solver_steps === 'per_question' ? lessons : 1,
        },
      },
    }
  },

  files: ({ knowledge }) =>
    typeof knowledge === 'object'
      ? [
          {
            key: 'settings.knowledge.path',
            path: knowledge.path,
            what: `knowledge texts, JSONL or Parquet with the column ${knowledge.column}`,
          },
        ]
      : [],

  workload(config) {
    const { proposer, solver, texts_per_round: texts, questions, answers, solver_steps } = config
    const length = (role: typeof solver | typeof proposer) => role.max_prompt_tokens + role.max_tokens
    const taken = config.schedule === 'online' ? 0 : config.offline.questions_per_update
    const proposed = texts * questions
    const proposerRows = config.frozen === 'proposer' ? 0 : proposed
    const solverRows = answers * (solver_steps === 'per_question' ? 1 : taught(config))
    return {
      trainTokens: Math.max(proposerRows * length(proposer), solverRows * length(solver)),
      longestSequence: Math.max(length(proposer), length(solver)),
      sampleRows: Math.max(proposed, taken) * answers,
    }
  },
}

/** Most questions that the solver learns from in a round. */
function taught({ schedule, offline, texts_per_round, questions }: Config): number {
  return schedule === 'online' ? texts_per_round * questions : offline.questions_per_update
}
