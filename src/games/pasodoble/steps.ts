/** The steps that the online and the offline loop are made of. */
import { type KnowledgeBase, loadKnowledge } from '../../data/knowledge.js'
import { encodePrompt } from '../chat.js'
import type { GameContext } from '../game.js'
import { sampleGroups } from '../grpo/sampling.js'
import { policySteps, type StepReport } from '../grpo/step.js'
import { oncePerRun } from '../once.js'
import type { Config } from './config.js'
import { parseProposal } from './parse.js'
import { proposerPrompt, solverPrompt } from './prompts.js'
import {
  type Answers,
  type Batch,
  isWellFormed,
  type Lesson,
  type Proposal,
  type Question,
} from './question.js'

type Context = GameContext<Config>

export const knowledgeBase: (ctx: Omit<Context, 'round'>) => Promise<KnowledgeBase | null> = oncePerRun(
  async ({ config, roles, path }) => {
    const { knowledge } = config
    if (typeof knowledge !== 'object') return null
    const { tokenizer } = roles.proposer!.policy
    return loadKnowledge(path(knowledge.path), {
      column: knowledge.column,
      maxTokens: knowledge.max_tokens,
      countTokens: (text) => tokenizer.encode(text).length,
    })
  },
)

/** Uniform, with replacement. Null in a game without knowledge. */
export async function drawTexts(ctx: Context): Promise<(string | null)[]> {
  const knowledge = await knowledgeBase(ctx)
  const stream = ctx.random('knowledge')
  return Array.from({ length: ctx.config.texts_per_round }, () => knowledge?.draw(stream) ?? null)
}

/** I completions of the prompt of every text, and what is read from them. */
export async function propose(ctx: Context, texts: (string | null)[]): Promise<Proposal[]> {
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

/** J answers to every question. Those that cannot earn anything are put to the solver only where the settings say so. */
export async function answer<Q extends Question>(
  ctx: Context,
  questions: readonly Q[],
): Promise<(Q & Answers)[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.solver!.policy
  const prompts = questions.map((question) =>
    isWellFormed(question) || config.ask_malformed
      ? withinLimit(config, 'solver', encodePrompt(tokenizer, solverPrompt(config, question.question)))
      : null,
  )
  const groups = await sampleGroups(ctx, 'solver', prompts, config.answers, config.solver)
  return questions.map((question, i) => ({ ...question, solverPrompt: prompts[i]!, answers: groups[i]! }))
}

/** The prompt, or null where it is too long to be sampled. */
function withinLimit(config: Config, role: 'proposer' | 'solver', prompt: Int32Array): Int32Array | null {
  return config.over_limit === 'skip' && prompt.length > config[role].max_prompt_tokens ? null : prompt
}

/** One step on the questions of every text that may train. */
export async function trainProposer(ctx: Context, batches: readonly Batch[]): Promise<StepReport[]> {
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

/** One step for every question, on its own group of answers, or one on all groups. */
export async function trainSolver(ctx: Context, lessons: readonly Lesson[]): Promise<StepReport[]> {
  const { config } = ctx
  const groups = lessons.map(({ solverPrompt, answers, solverAdvantages }) =>
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
