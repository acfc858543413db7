/**
 * PasoDoble, online (arXiv 2511.11881): a proposer sets problems from a knowledge text, a solver answers them, and each
 * is paid by the other. One round, for every text of the round:
 *
 *   1  draw a knowledge text k                           6  check for reward hacking: p_i := 0
 *   2  proposer: I completions of prompt(k)              7  rewards of the proposer from p_i and the history H
 *   3  read q_i and the proposer's own answer a*_i       8  skip the text where nothing can be learned from it
 *   4  solver: J answers a_ij to every q_i               9  proposer: one gradient step
 *   5  r^s_ij = [a_ij = a*_i],  p_i = mean_j r^s_ij     10  solver: a gradient step for every valid q_i
 */
import { type HistoryState, QuestionHistory } from '../../data/history.js'
import { loadKnowledge } from '../../data/knowledge.js'
import { encodePrompt } from '../chat.js'
import type { Game, GameContext } from '../game.js'
import { sampleGroups } from '../grpo/sampling.js'
import { policySteps, type StepReport } from '../grpo/step.js'
import { oncePerRun } from '../once.js'
import { type Config, config } from './config.js'
import { grade } from './grade.js'
import { parseProposal } from './parse.js'
import { proposerPrompt, solverPrompt } from './prompts.js'
import { type Answered, type Batch, isWellFormed, type Proposal } from './question.js'
import { report } from './report.js'
import { remember, score } from './score.js'

type Context = GameContext<Config>
type State = { history: HistoryState }

export const pasodoble: Game<Config, State> = {
  name: 'pasodoble',
  summary: 'A proposer sets problems from knowledge, a solver answers them, and each is paid by the other.',
  roles: ['proposer', 'solver'],
  config,

  async setup(ctx) {
    await knowledgeBase(ctx)
    return { history: new QuestionHistory(ctx.config.history_size).toJSON() }
  },

  async round(ctx, state) {
    const history = QuestionHistory.fromJSON(state.history)

    const texts = await drawTexts(ctx) // 1
    const proposals = await propose(ctx, texts) // 2, 3
    const answered = await answer(ctx, proposals) // 4
    const graded = await grade(ctx, answered) // 5
    const ofText = (batch: number) => graded.filter((question) => question.batch === batch)
    const batches = texts.map((_, batch) => score(ofText(batch), history, ctx.config)) // 5 to 8
    remember(batches, history, ctx.config)

    const steps = {
      proposer: await trainProposer(ctx, batches), // 9
      solver: await trainSolver(ctx, batches), // 10
    }
    return { state: { history: history.toJSON() }, report: report(ctx, batches, steps) }
  },

  anchorPrompt: solverPrompt,

  workload(config) {
    const { proposer, solver, texts_per_round: texts, questions, answers, solver_steps } = config
    const length = (role: typeof solver | typeof proposer) => role.max_prompt_tokens + role.max_tokens
    const solverRows = solver_steps === 'per_question' ? answers : texts * questions * answers
    return {
      trainTokens: Math.max(texts * questions * length(proposer), solverRows * length(solver)),
      longestSequence: Math.max(length(proposer), length(solver)),
      sampleRows: texts * questions * answers,
    }
  },
}

const knowledgeBase = oncePerRun(async ({ config, roles, path }: Omit<Context, 'round'>) => {
  const { knowledge } = config
  if (typeof knowledge !== 'object') return null
  const { tokenizer } = roles.proposer!.policy
  return loadKnowledge(path(knowledge.path), {
    column: knowledge.column,
    maxTokens: knowledge.max_tokens,
    countTokens: (text) => tokenizer.encode(text).length,
  })
})

/** Step 1: uniform, with replacement. Null in a game without knowledge. */
async function drawTexts(ctx: Context): Promise<(string | null)[]> {
  const knowledge = await knowledgeBase(ctx)
  const stream = ctx.random('knowledge')
  return Array.from({ length: ctx.config.texts_per_round }, () => knowledge?.draw(stream) ?? null)
}

/** Steps 2 and 3. */
async function propose(ctx: Context, texts: (string | null)[]): Promise<Proposal[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.proposer!.policy
  const prompts = texts.map((text) => encodePrompt(tokenizer, proposerPrompt(config, text)))
  const asked = prompts.map((prompt) => withinLimit(config, 'proposer', prompt))
  const groups = await sampleGroups(ctx, 'proposer', asked, config.questions, config.proposer)
  return groups.flatMap((rollouts, batch) =>
    rollouts.map((rollout) => {
      const parts = parseProposal(rollout.text, config.proposer.think)
      return { batch, prompt: prompts[batch]!, rollout, ...parts, ids: tokenizer.encode(parts.question) }
    }),
  )
}

/** Step 4. Questions that cannot earn anything are put to the solver only where the settings say so. */
async function answer(ctx: Context, proposals: Proposal[]): Promise<Answered[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.solver!.policy
  const prompts = proposals.map((proposal) =>
    isWellFormed(proposal) || config.ask_malformed
      ? withinLimit(config, 'solver', encodePrompt(tokenizer, solverPrompt(config, proposal.question)))
      : null,
  )
  const groups = await sampleGroups(ctx, 'solver', prompts, config.answers, config.solver)
  return proposals.map((proposal, i) => ({ ...proposal, solverPrompt: prompts[i]!, answers: groups[i]! }))
}

/** The prompt, or null where it is too long to be sampled. */
function withinLimit(config: Config, role: 'proposer' | 'solver', prompt: Int32Array): Int32Array | null {
  return config.over_limit === 'skip' && prompt.length > config[role].max_prompt_tokens ? null : prompt
}

/** Step 9: one step on the questions of every text that may train. */
async function trainProposer(ctx: Context, batches: Batch[]): Promise<StepReport[]> {
  const { config } = ctx
  if (config.frozen === 'proposer') return []
  const samples = batches
    .filter((batch) => batch.trains.proposer)
    .flatMap((batch) => batch.questions)
    .map(({ prompt, rollout, advantage }) => ({
      prompt: prompt.slice(-config.proposer.max_prompt_tokens),
      rollout,
      advantage,
    }))
  ctx.phase('proposer trains')
  return policySteps(ctx.roles.proposer!, [samples], { loss: config, sampling: config.proposer })
}

/** Step 10: one step for every valid question, on its own group of answers, or one on all groups. */
async function trainSolver(ctx: Context, batches: Batch[]): Promise<StepReport[]> {
  const { config } = ctx
  const groups = batches
    .filter((batch) => batch.trains.solver)
    .flatMap((batch) => batch.questions)
    .filter((q) => q.valid)
    .map(({ solverPrompt, answers, solverAdvantages }) =>
      answers.map((rollout, j) => ({
        prompt: solverPrompt!.slice(-config.solver.max_prompt_tokens),
        rollout,
        advantage: solverAdvantages[j]!,
      })),
    )
  ctx.phase('solver trains')
  const steps = config.solver_steps === 'per_question' ? groups : [groups.flat()]
  return policySteps(ctx.roles.solver!, steps, { loss: config, sampling: config.solver })
}
