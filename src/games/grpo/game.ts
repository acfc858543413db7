/**
 * GRPO (arXiv 2402.03300) on problems with known answers: the baseline that is given what the other games do without.
 * One round:
 *
 *   1  take the next problems, each with its true answer
 *   2  solver: G answers a_1 .. a_G to every problem
 *   3  r_i = [a_i is the true answer] + format_reward [a_i ends by itself and boxes something]
 *   4  A_i = (r_i - mean(r)) / (std(r) + 1e-4) within the problem
 *   5  solver: a gradient step on all of them
 */
import type { Rollout } from '../../core/rollout.js'
import type { Verdict } from '../../grader/grader.js'
import type { Game, GameContext, RoundReport } from '../game.js'
import { against, comparisons } from '../grading.js'
import { type LabelledProblem, labelledProblemsOfRound, labelledSource, problemFiles } from '../problems.js'
import { encodeQuestion, isFormatted, solverPrompt } from '../solver.js'
import { groupAdvantages } from './advantages.js'
import { type Config, config } from './config.js'
import {
  fraction,
  passRateMetrics,
  prefixed,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
  verdictMetrics,
} from './metrics.js'
import { groupRecords, groupSamples, type ScoredGroup } from './records.js'
import { klTerm, startPolicies } from './reference.js'
import { sampleGroups } from './sampling.js'
import { policySteps, type StepReport, shareOut } from './step.js'

type Context = GameContext<Config>

/** What a round needs follows from its number. */
type State = Record<string, never>

/** The answers to one problem. */
interface Scored extends ScoredGroup {
  verdicts: Verdict[]
}

export const grpo: Game<Config, State> = {
  name: 'grpo',
  summary: 'A solver is paid for true answers to problems whose answers are known: the baseline with labels.',
  roles: ['solver'],
  config,

  async setup(ctx) {
    await labelledSource(ctx)
    if (ctx.config.kl > 0) await startPolicies(ctx)
    return {}
  },

  async round(ctx, state) {
    const problems = await labelledProblemsOfRound(ctx) // 1
    const prompts = problems.map(({ problem }) =>
      encodeQuestion(tokenizerOf(ctx), ctx.config.solver, problem),
    )
    const answers = await sampleGroups(ctx, 'solver', prompts, ctx.config.answers, ctx.config.solver) // 2
    const groups = await score(ctx, problems, prompts, answers) // 3, 4
    ctx.phase('solver trains')
    const steps = await policySteps(ctx.roles.solver!, shareOut(groups.map(groupSamples), ctx.config.steps), {
      loss: ctx.config,
      sampling: ctx.config.solver,
      ...(await klTerm(ctx, 'solver')),
    }) // 5
    return { state, report: report(ctx, groups, steps) }
  },

  anchorPrompt: ({ solver }, problem) => solverPrompt(solver, problem),

  demands({ solver, problems_per_round: prompts, answers, steps, kl }) {
    const { max_prompt_tokens: promptTokens, max_tokens: completionTokens } = solver
    return {
      solver: {
        sampled: [{ prompts, completions: answers, promptTokens, completionTokens }],
        trained: {
          sequences: prompts * answers,
          tokens: promptTokens + completionTokens,
          steps: Math.min(steps, prompts),
        },
        ...(kl > 0 && { start: { scores: true } }),
      },
    }
  },

  files: problemFiles,

  workload({ solver, problems_per_round, answers, steps }) {
    const length = solver.max_prompt_tokens + solver.max_tokens
    return {
      trainTokens: Math.ceil(problems_per_round / steps) * answers * length,
      longestSequence: length,
      sampleRows: problems_per_round * answers,
    }
  },
}

const tokenizerOf = (ctx: Context) => ctx.roles.solver!.policy.tokenizer

async function score(
  ctx: Context,
  problems: LabelledProblem[],
  prompts: (Int32Array | null)[],
  answers: Rollout[][],
): Promise<Scored[]> {
  const compared = comparisons()
  const verdictsOf = problems.map(({ answer }, p) => compared.add(against(answer, answers[p]!)))
  ctx.phase('answers are graded')
  await compared.grade(ctx.grader)
  return problems.flatMap(({ problem, answer }, group) => {
    const prompt = prompts[group]
    if (!prompt) return []
    const rollouts = answers[group]!
    const verdicts = verdictsOf[group]!()
    const rewards = rollouts.map((rollout, i) => reward(rollout, verdicts[i]!, ctx.config))
    return {
      group,
      prompt,
      rollouts,
      rewards,
      verdicts,
      advantages: groupAdvantages(rewards, { scaleRewards: ctx.config.scale_rewards }),
      parts: (i: number) => ({
        problem,
        gold: answer,
        extracted: verdicts[i]!.extracted,
        verdict: verdicts[i]!.reason,
      }),
    }
  })
}

function reward(rollout: Rollout, verdict: Verdict, { format_reward: format }: Config): number {
  return Number(verdict.equal) + (isFormatted(rollout) ? format : 0)
}

function report(ctx: Context, groups: Scored[], steps: StepReport[]): RoundReport {
  const rates = groups.map(({ verdicts }) => fraction(verdicts, ({ equal }) => equal))
  const idle =
    groups.length === 0
      ? 'no problem is within max_prompt_tokens'
      : 'no group has an answer better than another'
  return {
    metrics: {
      ...prefixed('solver', {
        ...rewardMetrics(groups.map(({ rewards }) => rewards)),
        ...verdictMetrics(groups.flatMap(({ verdicts }) => verdicts)),
        ...rolloutMetrics(groups.flatMap(({ rollouts }) => rollouts)),
        ...stepMetrics(steps),
      }),
      ...passRateMetrics(rates, ctx.config.answers),
    },
    rollouts: groups.flatMap((group) => groupRecords(ctx.roles.solver!, group, steps.length > 0)),
    ...(steps.length === 0 && { skipped: idle }),
  }
}
