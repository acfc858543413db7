/**
 * R-Zero (arXiv 2508.05004): a challenger writes questions that the solver answers now one way and now another; the
 * solver then learns from the questions in the middle, labelled by its own majority. No corpus, no answer key. One
 * iteration, a round a line:
 *
 *   challenger_rounds    challenger: groups of questions; solver: m answers to each; s = share of the majority
 *                        r = 1 - 2|s - 1/2| - |C| / B, -1 without a question;  challenger: a gradient step
 *   pool_rounds          the same, but no step: questions with share_low <= s <= share_high enter the pool with the
 *                        majority's answer as their label
 *   solver_rounds        solver: G answers to the next questions of the pool; r = [the answer is the label]; solver: a
 *                        gradient step
 */
import type { Rollout } from '../../core/rollout.js'
import type { Game, GameContext } from '../game.js'
import { against, comparisons } from '../grading.js'
import { groupAdvantages } from '../grpo/advantages.js'
import { groupSamples } from '../grpo/records.js'
import { klTerm, startPolicies } from '../grpo/reference.js'
import { sampleGroups } from '../grpo/sampling.js'
import { policySteps, type StepReport, shareOut } from '../grpo/step.js'
import { takeInPasses } from '../passes.js'
import { encodeQuestion, solverPrompt } from '../solver.js'
import { type Config, config } from './config.js'
import { duel } from './duel.js'
import { judge, knowledgeBase, propose } from './judge.js'
import type { Judged, PoolQuestion } from './question.js'
import { type AnsweredQuestion, challengerGroups, reportQuestions, reportSolver } from './report.js'
import { type Turn, turnOf } from './schedule.js'

type Context = GameContext<Config>

interface State {
  pool: PoolQuestion[]
  /** Of the passes over the pool. */
  seed: number
}

export const rZero: Game<Config, State> = {
  name: 'r-zero',
  summary:
    'A challenger writes questions on which the solver is torn, and the solver learns from its own majority.',
  roles: ['challenger', 'solver'],
  config,

  async setup(ctx) {
    await knowledgeBase(ctx)
    if (ctx.config.kl > 0) await startPolicies(ctx)
    return { pool: [], seed: 0 }
  },

  async round(ctx, state) {
    const turn = turnOf(ctx.round, ctx.config)
    if (turn.phase === 'solver') return { state, report: await teachSolver(ctx, state, turn) }
    const judged = await judge(ctx, await propose(ctx))
    if (turn.phase === 'pool') {
      const next = fill(ctx, turn, state, judged)
      return {
        state: next,
        report: reportQuestions(ctx, judged, {
          steps: [],
          pool: next.pool.length,
          idle: 'the pool is filled, nobody learns',
        }),
      }
    }
    const groups = challengerGroups(judged, ctx.config).map(groupSamples)
    const steps = await train(ctx, 'challenger', groups)
    const idle = 'no group has a question better than another'
    return { state, report: reportQuestions(ctx, judged, { steps, pool: state.pool.length, idle }) }
  },

  anchorPrompt: ({ solver }, problem) => solverPrompt(solver, problem),

  duel: () => duel,

  demands({ challenger, solver, groups, questions, votes, questions_per_round, answers, steps, kl }) {
    const length = (role: Config['challenger'] | Config['solver']) => ({
      promptTokens: role.max_prompt_tokens,
      completionTokens: role.max_tokens,
    })
    const voting = { prompts: groups * questions, completions: votes, ...length(solver) }
    const learning = { prompts: questions_per_round, completions: answers, ...length(solver) }
    const rows = ({ prompts, completions }: typeof voting) => prompts * completions
    const trained = (role: typeof challenger | typeof solver, groups: number, sequences: number) => ({
      sequences,
      tokens: role.max_prompt_tokens + role.max_tokens,
      steps: Math.min(steps, groups),
    })
    const start = kl > 0 && { start: { scores: true } }
    return {
      challenger: {
        sampled: [{ prompts: groups, completions: questions, ...length(challenger) }],
        trained: trained(challenger, groups, groups * questions),
        ...start,
      },
      solver: {
        sampled: [rows(voting) > rows(learning) ? voting : learning],
        trained: trained(solver, questions_per_round, questions_per_round * answers),
        ...start,
      },
    }
  },

  files: ({ knowledge }) =>
    knowledge === 'none'
      ? []
      : [{ key: 'settings.knowledge', path: knowledge, what: 'knowledge texts, JSONL or Parquet' }],

  workload({ challenger, solver, groups, questions, votes, questions_per_round, answers, steps }) {
    const length = (role: Config['challenger'] | Config['solver']) => role.max_prompt_tokens + role.max_tokens
    const share = (count: number) => Math.ceil(count / steps)
    return {
      trainTokens: Math.max(
        share(groups) * questions * length(challenger),
        share(questions_per_round) * answers * length(solver),
      ),
      longestSequence: Math.max(length(challenger), length(solver)),
      sampleRows: Math.max(groups * questions * votes, questions_per_round * answers),
    }
  },
}

/** The pool with the round's questions; a new one in the first round of the phase. */
function fill(ctx: Context, turn: Turn, state: State, judged: readonly Judged[]): State {
  const kept = judged.flatMap(({ fate, question, vote, share }) =>
    fate === 'valid' && vote.answer !== null ? { question, label: vote.answer, share } : [],
  )
  return turn.index === 0
    ? { pool: kept, seed: ctx.random('pool').int(2 ** 31) }
    : { ...state, pool: [...state.pool, ...kept] }
}

async function teachSolver(ctx: Context, { pool, seed }: State, turn: Turn) {
  const { config } = ctx
  const { tokenizer } = ctx.roles.solver!.policy
  const n = Math.min(config.questions_per_round, pool.length)
  const questions = takeInPasses(pool, turn.index * n, n, seed)
  const prompts = questions.map(({ question }) => encodeQuestion(tokenizer, config.solver, question))
  const answers = await sampleGroups(ctx, 'solver', prompts, config.answers, config.solver)
  const groups = await score(ctx, questions, prompts, answers)
  const steps = await train(ctx, 'solver', groups.map(groupSamples))
  return reportSolver(ctx, groups, steps, pool.length)
}

/** The answers against the labels; and the labels against the truth, where the world knows it, for the audit only. */
async function score(
  ctx: Context,
  questions: readonly PoolQuestion[],
  prompts: readonly (Int32Array | null)[],
  answers: readonly Rollout[][],
): Promise<AnsweredQuestion[]> {
  const compared = comparisons()
  const graded = questions.map(({ question, label }, q) => {
    const truth = ctx.world?.solve(question)
    const audit = truth === undefined ? [] : [{ gold: truth, prediction: label, kind: 'answer' as const }]
    return { own: compared.add(against(label, answers[q]!)), audit: compared.add(audit) }
  })
  ctx.phase('answers are graded')
  await compared.grade(ctx.grader)
  return questions.flatMap((item, group) => {
    const prompt = prompts[group]
    if (!prompt) return []
    const verdicts = graded[group]!.own()
    const rewards = verdicts.map(({ equal }) => Number(equal))
    return {
      ...item,
      group,
      prompt,
      rollouts: answers[group]!,
      verdicts,
      labelRight: graded[group]!.audit()[0]?.equal,
      rewards,
      advantages: groupAdvantages(rewards, { scaleRewards: ctx.config.scale_rewards }),
    }
  })
}

async function train(
  ctx: Context,
  role: 'challenger' | 'solver',
  groups: Parameters<typeof shareOut>[0],
): Promise<StepReport[]> {
  const { config } = ctx
  ctx.phase(`${role} trains`)
  const settings = { loss: config, sampling: config[role], ...(await klTerm(ctx, role)) }
  return policySteps(ctx.roles[role]!, shareOut(groups, config.steps), settings)
}
