/**
 * GAR, the generative adversarial reasoner (arXiv 2512.16917): a reasoner answers problems, a discriminator judges the
 * slices of its reasoning beside slices of worked solutions, and both learn from the verdicts. One round:
 *
 *   1  take the next problems                           6  discriminator: analysis and verdict v on every slice
 *   2  reasoner: G completions of each                  7  R^rea = l1 R^m + l2 R^s,  R^s = mean_i v_i
 *   3  R^m = [the answer is right]                      8  R^dis = l3 R^d + l4 R^a,  R^d: v = source,  R^a: v = R^m
 *   4  cut the reasoning into slices                    9  reasoner: a gradient step on R^rea
 *   5  draw as many reference slices                   10  discriminator: a gradient step on R^dis
 */
import { encodePrompt } from '../chat.js'
import type { Game, GameContext } from '../game.js'
import { fraction, type Metrics } from '../grpo/metrics.js'
import { startPolicies } from '../grpo/reference.js'
import { sampleGroups } from '../grpo/sampling.js'
import { takeInPasses } from '../passes.js'
import { checkAnswers } from './answers.js'
import { type Config, config } from './config.js'
import { tracedFiles } from './data.js'
import { duel } from './duel.js'
import { freshGuard, type Guard, watch } from './guard.js'
import { judgeSlices } from './judge.js'
import { library } from './library.js'
import type { Exhibit, Judgment, Posed, ScoredGroup, Trajectory } from './play.js'
import { probeFrozen, probePlanted } from './probe.js'
import { reasonerPrompt } from './prompts.js'
import { report } from './report.js'
import { scoreGroup } from './score.js'
import { trainDiscriminator, trainReasoner } from './train.js'
import { cutTrajectory, isPartial, longestCompletion } from './trajectories.js'

type Context = GameContext<Config>

export const gar: Game<Config, Guard> = {
  name: 'gar',
  summary: 'A reasoner answers problems, a discriminator judges its steps beside those of worked solutions.',
  roles: ['reasoner', 'discriminator'],
  config,

  async setup(ctx) {
    const { reasoner, discriminator, probe_every } = ctx.config
    if (reasoner.kl + discriminator.kl + probe_every > 0) await startPolicies(ctx)
    await library(ctx)
    return freshGuard(ctx.config)
  },

  async round(ctx, guard) {
    const { lambda3 } = guard
    const posed = await poseProblems(ctx) // 1
    const prompts = posed.map(({ prompt }) => prompt)
    const sampling = { ...ctx.config.reasoner, max_tokens: longestCompletion(ctx.config) }
    const rollouts = await sampleGroups(ctx, 'reasoner', prompts, ctx.config.answers, sampling) // 2
    const outcomes = isPartial(ctx.config) ? null : await checkAnswers(ctx, posed, rollouts) // 3
    const trajectories = rollouts.map((group, g) => group.map((rollout) => cutTrajectory(ctx, g, rollout))) // 4
    const judgments = await judge(ctx, posed, trajectories) // 5, 6
    const groups = posed.flatMap((problem, g) => {
      const graded = outcomes?.[g]
      if (graded === null) return []
      const own = judgments.filter(({ group }) => group === g)
      const played = {
        posed: problem,
        trajectories: trajectories[g]!,
        outcomes: graded ?? null,
        judgments: own,
      }
      return scoreGroup(played, lambda3, ctx.config)
    }) // 7, 8
    const probes = await probe(ctx, groups)

    const [reasoner, discriminator] = await Promise.all([
      trainReasoner(ctx, groups), // 9
      trainDiscriminator(ctx, groups, lambda3), // 10
    ])
    const next = ctx.config.train_discriminator ? watch(guard, yesToGenerated(groups), ctx.config) : guard
    return {
      state: next,
      report: report(ctx, { groups, steps: { reasoner, discriminator }, lambda3, probes }),
    }
  },

  anchorPrompt: ({ reasoner }, problem) => reasonerPrompt(reasoner, problem),

  duel: ({ judge }) => (judge === 'none' ? undefined : duel),

  demands(config) {
    const { reasoner, discriminator, problems_per_round, answers, verdicts, judge } = config
    const { train_discriminator: learns, rd_form, calibration_slices, probe_every, probe_slices } = config
    const slices = judgedSlices(config)
    const judgments = slices * verdicts
    const measured = learns && rd_form !== 'hard' ? judgments : Math.min(calibration_slices, judgments)
    const completionTokens = longestCompletion(config)
    const judging = {
      promptTokens: discriminator.max_prompt_tokens,
      completionTokens: discriminator.max_tokens,
    }
    const copies = reasoner.kl + discriminator.kl + probe_every > 0
    // Slices of known quality and of this round; the start weights judge the second half.
    const probes = judge === 'slices' && probe_every > 0 ? 2 * probe_slices : 0
    return {
      reasoner: {
        sampled: [
          {
            prompts: problems_per_round,
            completions: answers,
            promptTokens: reasoner.max_prompt_tokens,
            completionTokens,
          },
        ],
        trained: {
          sequences: problems_per_round * answers,
          tokens: reasoner.max_prompt_tokens + completionTokens,
          steps: 1,
        },
        ...(copies && { start: { scores: reasoner.kl > 0 } }),
      },
      discriminator: {
        sampled: [
          { prompts: slices, completions: verdicts, ...judging },
          { prompts: probes, completions: 1, ...judging, every: probe_every || 1 },
        ],
        ...(learns &&
          judgments > 0 && {
            trained: {
              // The verdict loss sends two more sequences a judgment.
              sequences: judgments * (rd_form === 'bce' ? 3 : 1),
              tokens: judging.promptTokens + judging.completionTokens,
              steps: 1,
            },
          }),
        ...(copies && { start: { scores: learns && discriminator.kl > 0 } }),
        scored: measured,
      },
    }
  },

  files: ({ data, task, references }) => [
    ...tracedFiles(data, task),
    ...(typeof references === 'object'
      ? [
          {
            key: 'settings.references.path',
            path: references.path,
            what: 'worked solutions, JSONL or Parquet',
          },
        ]
      : []),
  ],

  workload(config) {
    const { reasoner, discriminator, problems_per_round, answers, verdicts } = config
    const rows = problems_per_round * answers
    const length = (role: typeof reasoner | typeof discriminator, most: number) =>
      role.max_prompt_tokens + most
    const tokens = longestCompletion(config)
    const judged = judgedSlices(config) * verdicts
    return {
      trainTokens: Math.max(
        rows * length(reasoner, tokens),
        config.train_discriminator ? judged * length(discriminator, discriminator.max_tokens) : 0,
      ),
      longestSequence: Math.max(
        length(reasoner, tokens),
        config.judge === 'none' ? 0 : length(discriminator, discriminator.max_tokens),
      ),
      sampleRows: Math.max(rows, judged),
    }
  },
}

/**
 * Most slices that are judged in a round, references included, of which there are as many. A completion has as many slices as
 * its tokens hold, and one at least.
 */
function judgedSlices(config: Config): number {
  const { judge, problems_per_round, answers, max_slices, partial_slices, slicer } = config
  if (judge === 'none') return 0
  const held = Math.ceil(longestCompletion(config) / slicer.max_tokens)
  const each = judge === 'solution' ? 1 : max_slices || partial_slices || held
  return 2 * problems_per_round * answers * each
}

/** Step 1: the next problems of shuffled passes; a problem whose prompt is too long is passed over. */
async function poseProblems(ctx: Context): Promise<Posed[]> {
  const { reasoner, problems_per_round: n } = ctx.config
  const { problems, seed } = await library(ctx)
  const { tokenizer } = ctx.roles.reasoner!.policy
  return takeInPasses(problems, ctx.round * n, n, seed)
    .map((problem) => ({
      ...problem,
      prompt: encodePrompt(tokenizer, reasonerPrompt(reasoner, problem.problem)),
    }))
    .filter(({ prompt }) => prompt.length <= reasoner.max_prompt_tokens)
}

/** Steps 5 and 6: the slices of each problem and an equal number of references, all put at once. */
async function judge(
  ctx: Context,
  posed: readonly Posed[],
  trajectories: Trajectory[][],
): Promise<Judgment[]> {
  const { judge, verdicts, rd_form, train_discriminator, calibration_slices } = ctx.config
  if (judge === 'none') return []
  const { references } = await library(ctx)
  const exhibits = posed.flatMap(({ id, problem: question }, group): Exhibit[] => {
    const generated = trajectories[group]!.flatMap(({ pieces }, trajectory) =>
      pieces.map(({ shown }, piece): Exhibit => ({ group, source: 0, question, shown, trajectory, piece })),
    )
    const drawn = references.draw(id, generated.length, ctx.random('references', group))
    return [...generated, ...drawn.map((reference): Exhibit => ({ group, source: 1, ...reference }))]
  })
  const all = train_discriminator && rd_form !== 'hard'
  return judgeSlices(ctx, exhibits, {
    n: verdicts,
    measured: all ? Number.POSITIVE_INFINITY : calibration_slices,
  })
}

async function probe(ctx: Context, groups: readonly ScoredGroup[]): Promise<Metrics> {
  const { probe_every: every, judge } = ctx.config
  const due = every > 0 && judge === 'slices' && ((ctx.round + 1) % every === 0 || ctx.round === 0)
  if (!due) return {}
  const { known } = await library(ctx)
  ctx.phase('the discriminator is probed')
  return { ...(await probePlanted(ctx, known)), ...(await probeFrozen(ctx, groups)) }
}

/** Share of YES among the verdicts on generated slices; NaN where there are none. */
function yesToGenerated(groups: readonly ScoredGroup[]): number {
  const verdicts = groups
    .flatMap(({ judgments }) => judgments)
    .filter(({ source, verdict }) => source === 0 && verdict !== null)
  return fraction(verdicts, ({ verdict }) => verdict === 1)
}
