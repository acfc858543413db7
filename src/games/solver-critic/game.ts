/**
 * Solver and critic: the solver writes solutions, the critic judges them step by step, and each is paid by what the other
 * does. One round:
 *
 *   1  take the next problems; solver: G solutions to each
 *   2  o* = [the answer is the known one], or [it is the majority's]; without a majority the problem is skipped
 *   3  cut each solution into steps; where the critic learns, plant an error in some right ones, beside their twins
 *   4  critic: M critiques of each:  z_k of every step, scores c, verdict V, first error, feedback
 *   5  revise (optional): solver answers again to each feedback
 *   6  R_S = o* + w_c g(o*) c + format,   R_C = a, b, e, r, k - fooled   (rewards.ts)
 *   7  one gradient step of the role whose turn it is: the critic alone at first, then 3 rounds of the solver to 1
 */
import type { Game, GameContext } from '../game.js'
import { fraction } from '../grpo/metrics.js'
import { klTerm, startPolicies } from '../grpo/reference.js'
import { policySteps, type StepReport, shareOut } from '../grpo/step.js'
import { labelledSource, problemFiles, problemSource, problemsOfRound } from '../problems.js'
import { solverPrompt } from '../solver.js'
import { type Config, config } from './config.js'
import { drift } from './drift.js'
import { duel } from './duel.js'
import { exhibitEvidence, exhibitSolutions } from './exhibits.js'
import { criticGroups, type Group, revisionGroups, samplesOf, solverGroups } from './groups.js'
import { critiqueAll, judge } from './judge.js'
import { report } from './report.js'
import { revise } from './revise.js'
import { comparesWithStart, learnerOf } from './schedule.js'
import type { Solved } from './solution.js'
import { solve } from './solve.js'

type Context = GameContext<Config>

interface State {
  /** Share of right solutions in the rounds so far, the last ones counting most; null before the first. */
  right: number | null
}

export const solverCritic: Game<Config, State> = {
  name: 'solver-critic',
  summary:
    'A solver writes solutions, a critic judges them step by step, and planted errors keep the critic honest.',
  roles: ['solver', 'critic'],
  config,

  async setup(ctx) {
    await (ctx.config.labels === 'gold' ? labelledSource(ctx) : problemSource(ctx))
    if (ctx.config.kl > 0 || ctx.config.drift_every > 0) await startPolicies(ctx)
    return { right: null }
  },

  async round(ctx, state) {
    const { config } = ctx
    const learner = learnerOf(ctx.round, config)
    const solved = await solve(ctx, await problemsOfRound(ctx)) // 1, 2
    const solutions = exhibitSolutions(ctx, solved) // 3
    const evidence = learner === 'critic' ? await exhibitEvidence(ctx, solved, solutions.length) : []
    const read = await critiqueAll(ctx, [...solutions, ...evidence]) // 4
    const right = shareRight(state.right, solved, config)
    const firstJudged = judge(read, right ?? 0.5, config)
    const judged = config.revise ? await revise(ctx, solved, firstJudged) : firstJudged // 5

    const groups = {
      solver: solverGroups(solved, judged, config), // 6
      revision: revisionGroups(solved, judged, config),
      critic: criticGroups(solved, judged, config),
    }
    const learning = learner === 'critic' ? groups.critic : [...groups.solver, ...groups.revision]
    const steps = await train(ctx, learner, learning) // 7
    const drifted = comparesWithStart(ctx.round, config) ? await drift(ctx, judged) : {}
    return {
      state: { right },
      report: report(ctx, { learner, solved, judged, groups, steps, drifted, right }),
    }
  },

  playedBy: ({ self_play }, role) => (self_play ? 'solver' : role),

  anchorPrompt: ({ solver }, problem) => solverPrompt(solver, problem),

  duel: () => duel,

  demands(config) {
    const { solver, critic, problems_per_round: problems, answers, critiques, steps, revise } = config
    const solutions = problems * answers
    const exhibits = mostExhibits(config)
    const length = (role: typeof solver | typeof critic) => ({
      promptTokens: role.max_prompt_tokens,
      completionTokens: role.max_tokens,
    })
    const trained = (role: typeof solver | typeof critic, sequences: number) => ({
      sequences,
      tokens: role.max_prompt_tokens + role.max_tokens,
      steps: Math.min(steps, problems),
    })
    const revisions = revise ? solutions * critiques : 0
    const copies = config.kl > 0 || config.drift_every > 0
    const start = copies && { start: { scores: config.kl > 0 } }
    return {
      solver: {
        sampled: [
          { prompts: problems, completions: answers, ...length(solver) },
          { prompts: revisions, completions: 1, ...length(solver) },
        ],
        trained: trained(solver, solutions + revisions),
        ...start,
      },
      critic: {
        sampled: [
          { prompts: exhibits, completions: critiques, ...length(critic) },
          {
            prompts: config.drift_every > 0 ? exhibits : 0,
            completions: 1,
            ...length(critic),
            every: config.drift_every || 1,
          },
        ],
        ...(config.frozen !== 'critic' && { trained: trained(critic, exhibits * critiques) }),
        ...start,
      },
    }
  },

  files: problemFiles,

  workload(config) {
    const { solver, critic, problems_per_round, answers, critiques, steps } = config
    const length = (role: Config['solver'] | Config['critic']) => role.max_prompt_tokens + role.max_tokens
    const solutions = problems_per_round * answers
    const exhibits = mostExhibits(config)
    const largest = Math.max(solutions * length(solver), exhibits * critiques * length(critic))
    return {
      trainTokens: Math.ceil(largest / steps),
      longestSequence: Math.max(length(solver), length(critic)),
      sampleRows: exhibits * critiques,
    }
  },
}

/** Solutions of a round, and the planted errors and twins that make up their share beside them. */
function mostExhibits({ problems_per_round, answers, evidence_share: share }: Config): number {
  const solutions = problems_per_round * answers
  return solutions + 2 * Math.round((solutions * share) / (1 - share) / 2)
}

/** The share of right solutions, remembered over rounds: s <- decay s + (1 - decay) share of this round. */
function shareRight(
  before: number | null,
  solved: readonly Solved[],
  { class_decay: decay }: Config,
): number | null {
  const labelled = solved.flatMap(({ solutions }) => solutions.flatMap(({ right }) => right ?? []))
  if (labelled.length === 0) return before
  const now = fraction(labelled, (right) => right)
  return before === null ? now : decay * before + (1 - decay) * now
}

async function train(
  ctx: Context,
  role: 'solver' | 'critic',
  groups: readonly Group[],
): Promise<StepReport[]> {
  const { config } = ctx
  ctx.phase(`${role} trains`)
  const settings = { loss: config, sampling: config[role], ...(await klTerm(ctx, role)) }
  return policySteps(ctx.roles[role]!, shareOut(groups.map(samplesOf), config.steps), settings)
}
