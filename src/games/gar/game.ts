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
import type { Rollout } from '../../core/rollout.js'
import { encodePrompt } from '../chat.js'
import type { Game, GameContext } from '../game.js'
import { fraction, type Metrics } from '../grpo/metrics.js'
import { startPolicies } from '../grpo/reference.js'
import { sampleGroups } from '../grpo/sampling.js'
import { oncePerRun } from '../once.js'
import { takeInPasses } from '../passes.js'
import { checkAnswers } from './answers.js'
import { type Config, config } from './config.js'
import { cutPieces, evenlySpaced } from './cut.js'
import { loadSolutions, loadTracedProblems, type TracedProblem } from './data.js'
import { freshGuard, type Guard, watch } from './guard.js'
import { judgeSlices } from './judge.js'
import type { Exhibit, Judgment, Posed, ScoredGroup, Trajectory } from './play.js'
import { type Known, plantedSet, probeFrozen, probePlanted } from './probe.js'
import { reasonerPrompt } from './prompts.js'
import { References } from './references.js'
import { report } from './report.js'
import { scoreGroup } from './score.js'
import { trainDiscriminator, trainReasoner } from './train.js'
import { tokensForText } from './verdict.js'

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
    const { max_tokens } = ctx.config.reasoner
    const prompts = posed.map(({ prompt }) => prompt)
    const sampling = { ...ctx.config.reasoner, max_tokens: Math.min(max_tokens, longest(ctx.config)) }
    const rollouts = await sampleGroups(ctx, 'reasoner', prompts, ctx.config.answers, sampling) // 2
    const outcomes = isPartial(ctx.config) ? null : await checkAnswers(ctx, posed, rollouts) // 3
    const trajectories = rollouts.map((group, g) => group.map((rollout) => cut(ctx, g, rollout))) // 4
    const judgments = await judge(ctx, posed, trajectories) // 5, 6
    const groups = posed.flatMap((problem, g) => {
      if (outcomes !== null && outcomes[g] === null) return []
      const own = judgments.filter(({ group }) => group === g)
      const played = {
        posed: problem,
        trajectories: trajectories[g]!,
        outcomes: outcomes?.[g] ?? null,
        judgments: own,
      }
      return scoreGroup(played, lambda3, ctx.config)
    }) // 7, 8
    const probes = await probe(ctx, groups)

    const steps = {
      reasoner: await trainReasoner(ctx, groups), // 9
      discriminator: await trainDiscriminator(ctx, groups, lambda3), // 10
    }
    const next = ctx.config.train_discriminator ? watch(guard, yesToGenerated(groups), ctx.config) : guard
    return { state: next, report: report(ctx, { groups, steps, lambda3, probes }) }
  },

  anchorPrompt: ({ reasoner }, problem) => reasonerPrompt(reasoner, problem),

  workload(config) {
    const { reasoner, discriminator, problems_per_round, answers, verdicts, slicer } = config
    const rows = problems_per_round * answers
    const length = (role: typeof reasoner | typeof discriminator, most: number) =>
      role.max_prompt_tokens + most
    const tokens = Math.min(reasoner.max_tokens, longest(config))
    // As many references as slices; a completion has as many slices as its tokens hold, and one at least.
    const slices = config.max_slices || config.partial_slices || Math.ceil(tokens / slicer.max_tokens)
    const judged =
      config.judge === 'none' ? 0 : 2 * rows * verdicts * (config.judge === 'solution' ? 1 : slices)
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

const isPartial = ({ partial_slices }: Config) => partial_slices > 0

/** Tokens that hold the slices of a partial trace with some room; without end for whole ones. */
function longest({ partial_slices, slicer }: Config): number {
  return partial_slices > 0 ? partial_slices * slicer.max_tokens + 64 : Number.POSITIVE_INFINITY
}

interface Library {
  problems: (TracedProblem & { id: number })[]
  references: References
  /** Slices of known quality, for the probe. */
  known: Known[]
  /** Of the shuffles. */
  seed: number
}

const library = oncePerRun(async (ctx: Omit<Context, 'round'>): Promise<Library> => {
  const { config, path, random } = ctx
  ctx.phase('problems are read')
  const loaded = await loadTracedProblems(config.data, config.task, path, random('rows'))
  const problems = loaded.map((problem, id) => ({ ...problem, id }))
  const cutSolution = (text: string) => cutPieces(text, false, config, counter(ctx))
  const references = new References(await solutions(ctx, problems), cutSolution)
  const probes = config.probe_every > 0 && config.judge === 'slices' ? config.probe_slices / 2 : 0
  const drawn = problems.slice(0, probes).flatMap(({ id }) => references.draw(id, 1, random('probe', id)))
  const known = plantedSet(drawn, random('planted'))
  return { problems, references, known, seed: random('passes').int(2 ** 31) }
})

async function solutions(
  { config, path }: Omit<Context, 'round'>,
  problems: readonly TracedProblem[],
): Promise<ConstructorParameters<typeof References>[0]> {
  if (typeof config.references === 'object') {
    const { path: file, ...columns } = config.references
    return { pool: await loadSolutions(path(file), columns) }
  }
  const of = problems.map(({ problem, traces }) => traces.map((text) => ({ question: problem, text })))
  return config.references === 'paired' ? { of } : { pool: of.flat() }
}

/** Counts in the discriminator's tokens. */
function counter({ roles }: Pick<Context, 'roles'>): (text: string) => number {
  const { tokenizer } = roles.discriminator!.policy
  return (text) => tokenizer.encode(text).length
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

/** Step 4. A partial trace ends behind its last slice: what follows is neither judged nor trained. */
function cut(ctx: Context, group: number, rollout: Rollout): Trajectory {
  const { config } = ctx
  if (config.judge === 'none') return { group, rollout, pieces: [] }
  const pieces = cutPieces(rollout.text, rollout.stop === 'length', config, counter(ctx))
  const end = pieces.at(-1)?.end
  const isFull = isPartial(config) && pieces.length === config.partial_slices
  return {
    group,
    rollout: isFull ? upTo(ctx, rollout, end!) : rollout,
    pieces: evenlySpaced(pieces, config.max_slices),
  }
}

function upTo({ roles }: Context, rollout: Rollout, end: number): Rollout {
  const { tokenizer } = roles.reasoner!.policy
  if (end >= rollout.text.length) return rollout
  const length = tokensForText(tokenizer, rollout.tokens, end)
  const { entropies } = rollout
  return {
    ...rollout,
    tokens: rollout.tokens.subarray(0, length),
    logprobs: rollout.logprobs.subarray(0, length) as Rollout['logprobs'],
    ...(entropies && { entropies: entropies.subarray(0, length) }),
    text: rollout.text.slice(0, end),
    stop: 'stop',
  }
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
