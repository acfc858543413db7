/** What the challenger earns: questions read, put to the solver, labelled by its vote, and compared with each other. */

import { loadKnowledge } from '../../data/knowledge.js'
import { encodePrompt } from '../chat.js'
import type { GameContext } from '../game.js'
import { comparisons } from '../grading.js'
import { sampleGroups } from '../grpo/sampling.js'
import { oncePerRun } from '../once.js'
import { parseProposal } from '../pasodoble/parse.js'
import { encodeQuestion, withinLimit } from '../solver.js'
import { countVotes, type Vote } from '../vote.js'
import { clusterSizes } from './bleu.js'
import type { Config } from './config.js'
import { challengerPrompt } from './prompts.js'
import type { Audit, Fate, Judged, Proposal } from './question.js'
import { challengerReward, isInBand, majorityShare } from './rewards.js'

type Context = GameContext<Config>

export const knowledgeBase = oncePerRun(async ({ config, path }: Omit<Context, 'round'>) =>
  config.knowledge === 'none' ? null : loadKnowledge(path(config.knowledge)),
)

/** `questions` completions to each prompt. A question is read as PasoDoble reads one; an answer is not asked for. */
export async function propose(ctx: Context): Promise<Proposal[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.challenger!.policy
  const knowledge = await knowledgeBase(ctx)
  const stream = ctx.random('knowledge')
  const prompts = Array.from({ length: config.groups }, () => {
    const text = knowledge?.draw(stream) ?? null
    return withinLimit(
      encodePrompt(tokenizer, challengerPrompt(config, text)),
      config.challenger.max_prompt_tokens,
    )
  })
  const groups = await sampleGroups(ctx, 'challenger', prompts, config.questions, config.challenger)
  return groups.flatMap((rollouts, group) =>
    rollouts.map((rollout) => {
      const { question } = parseProposal(rollout.text, config.challenger.think)
      return { group, prompt: prompts[group]!, rollout, question }
    }),
  )
}

/** The solver answers each question m times; the majority is its label, and how large it is decides the reward. */
export async function judge(ctx: Context, proposals: readonly Proposal[]): Promise<Judged[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.solver!.policy
  const prompts = proposals.map(({ question }) =>
    question === '' ? null : encodeQuestion(tokenizer, config.solver, question),
  )
  const answers = await sampleGroups(ctx, 'solver', prompts, config.votes, config.solver)
  ctx.phase('votes are counted')
  const ballots = proposals.map(({ question }, i) => ({
    question,
    texts: answers[i]!.map(({ text }) => text),
  }))
  const votes = await countVotes(ctx.grader, ballots)
  const audits = await audit(ctx, proposals, votes)
  const clusters = clustersOf(proposals, config.cluster_distance)

  return proposals.map((proposal, i) => {
    const share = majorityShare(votes[i]!, answers[i]!.length, config.share_of)
    const cluster = clusters[i]!
    const asked = prompts[i] !== null
    return {
      ...proposal,
      solverPrompt: prompts[i]!,
      answers: answers[i]!,
      vote: votes[i]!,
      share,
      cluster,
      fate: fateOf(proposal, asked, share, config),
      reward: challengerReward(cluster === 0 ? null : { share, cluster }, proposals.length, config),
      audit: audits[i],
    }
  })
}

/** Sizes of the clusters of the questions; 0 of a completion without one. */
function clustersOf(proposals: readonly Proposal[], distance: number): number[] {
  const asked = proposals.filter(({ question }) => question !== '')
  const sizes = clusterSizes(
    asked.map(({ question }) => question),
    distance,
  )
  const of = new Map(asked.map((proposal, i) => [proposal, sizes[i]!]))
  return proposals.map((proposal) => of.get(proposal) ?? 0)
}

function fateOf({ question }: Proposal, asked: boolean, share: number, config: Config): Fate {
  if (question === '') return 'unparsable'
  if (!asked) return 'too_long'
  if (isInBand(share, config)) return 'valid'
  return share > config.share_high ? 'too_easy' : 'too_hard'
}

/** Compares labels with the truth where the run has a world; touches no reward. */
async function audit(
  { world, grader }: Context,
  proposals: readonly Proposal[],
  votes: readonly Vote[],
): Promise<(Audit | undefined)[]> {
  const compared = comparisons()
  const audits = proposals.map(({ question }, i) => {
    const truth = question === '' ? undefined : world?.solve(question)
    const label = votes[i]!.answer
    const labelled = truth !== undefined && label !== null
    const cases = labelled ? [{ gold: truth, prediction: label, kind: 'answer' as const }] : []
    return { truth, verdict: compared.add(cases) }
  })
  await compared.grade(grader)
  return audits.map(({ truth, verdict }) =>
    truth === undefined ? undefined : { truth, labelRight: verdict()[0]?.equal },
  )
}
