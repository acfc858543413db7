/** What a round tells: metrics by name and one record for every rollout of both roles. */
import type { GameContext, RoundReport } from '../game.js'
import { mean } from '../grpo/advantages.js'
import {
  fraction,
  type Metrics,
  passRateMetrics,
  prefixed,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
} from '../grpo/metrics.js'
import type { StepReport } from '../grpo/step.js'
import { brierScore, calibrationError, type Forecast } from './calibration.js'
import type { Config } from './config.js'
import type { ScoredGroup, ScoredJudgment, ScoredTrajectory } from './play.js'
import { sourceMetrics } from './probe.js'
import { records } from './records.js'

type Context = GameContext<Config>

export interface Reported {
  groups: readonly ScoredGroup[]
  steps: { reasoner: StepReport[]; discriminator: StepReport[] }
  /** Weight of R^d in this round. */
  lambda3: number
  /** Of the probes, where they were due. */
  probes: Metrics
}

export function report(ctx: Context, { groups, steps, lambda3, probes }: Reported): RoundReport {
  const trajectories = groups.flatMap((group) => group.trajectories)
  const judgments = groups.flatMap((group) => group.judgments)
  const idle = steps.reasoner.length + steps.discriminator.length === 0
  return {
    metrics: {
      ...prefixed('reasoner', {
        ...rewardMetrics(groups.map((group) => group.trajectories.map(({ reward }) => reward))),
        ...partMetrics(trajectories, ctx.config),
        ...rolloutMetrics(trajectories.map(({ rollout }) => rollout)),
        ...stepMetrics(steps.reasoner),
      }),
      ...passMetrics(groups, ctx.config),
      ...(ctx.config.judge !== 'none' && {
        ...prefixed('discriminator', {
          ...rewardMetrics(groups.map((group) => group.judgments.map(({ reward }) => reward))),
          ...rolloutMetrics(judgments.map(({ rollout }) => rollout)),
          ...stepMetrics(steps.discriminator),
          lambda3,
        }),
        ...sliceMetrics(trajectories),
        ...verdictMetrics(judgments),
        ...calibrationMetrics(judgments),
        ...auditMetrics(ctx, judgments),
      }),
      ...probes,
    },
    rollouts: records(ctx, groups, {
      reasoner: steps.reasoner.length > 0,
      discriminator: steps.discriminator.length > 0,
    }),
    ...(idle && { skipped: idleReason(groups) }),
  }
}

function idleReason(groups: readonly ScoredGroup[]): string {
  return groups.length === 0
    ? 'no problem could be asked and graded'
    : 'no group has a completion or a judgment better than another'
}

function partMetrics(trajectories: readonly ScoredTrajectory[], config: Config): Metrics {
  const outcomes = trajectories.flatMap(({ outcome }) => outcome ?? [])
  return {
    ...(outcomes.length > 0 && { 'reward/answer': mean(outcomes.map(({ reward }) => reward)) }),
    ...(trajectories.length > 0 &&
      config.judge !== 'none' && { 'reward/slices': mean(trajectories.map(({ slices }) => slices)) }),
  }
}

function passMetrics(groups: readonly ScoredGroup[], { answers }: Config): Metrics {
  const answered = groups.map(({ trajectories }) => trajectories.flatMap(({ outcome }) => outcome ?? []))
  const rates = answered
    .filter((group) => group.length > 0)
    .map((group) => fraction(group, ({ right }) => right))
  return passRateMetrics(rates, answers)
}

function sliceMetrics(trajectories: readonly ScoredTrajectory[]): Metrics {
  if (trajectories.length === 0) return {}
  return {
    'slices/per_completion': mean(trajectories.map(({ pieces }) => pieces.length)),
    'slices/none_frac': fraction(trajectories, ({ pieces }) => pieces.length === 0),
  }
}

/** Shares of YES by where a slice comes from, and what the two objectives of the discriminator come to. */
function verdictMetrics(judgments: readonly ScoredJudgment[]): Metrics {
  if (judgments.length === 0) return {}
  const legible = judgments.filter(({ verdict }) => verdict !== null)
  const rate = (name: string, among: readonly ScoredJudgment[]): Metrics =>
    among.length === 0 ? {} : { [name]: fraction(among, ({ verdict }) => verdict === 1) }
  const answered = legible.filter(({ right }) => right !== undefined)
  return {
    'verdicts/parsed_frac': legible.length / judgments.length,
    ...sourceMetrics('verdicts', legible),
    ...rate(
      'verdicts/yes_right_frac',
      answered.filter(({ right }) => right),
    ),
    ...rate(
      'verdicts/yes_wrong_frac',
      answered.filter(({ right }) => !right),
    ),
    ...(answered.length > 0 && {
      'verdicts/alignment': fraction(answered, ({ verdict, right }) => (verdict === 1) === right),
    }),
  }
}

/** p_YES against the source of the slice, and that of generated slices against the answer they led to. */
function calibrationMetrics(judgments: readonly ScoredJudgment[]): Metrics {
  const forecasts = (outcome: (judgment: ScoredJudgment) => boolean | undefined): Forecast[] =>
    judgments.flatMap((judgment) => {
      const truth = outcome(judgment)
      if (judgment.yes === undefined || truth === undefined) return []
      return { probability: judgment.yes, outcome: truth ? 1 : 0 }
    })
  const measured = {
    source: forecasts(({ source }) => source === 1),
    answer: forecasts(({ right }) => right),
  }
  return Object.fromEntries(
    Object.entries(measured)
      .filter(([, known]) => known.length > 0)
      .flatMap(([name, known]) => [
        [`calibration/${name}_brier`, brierScore(known)],
        [`calibration/${name}_ece`, calibrationError(known)],
      ]),
  )
}

/** Verdicts against the truth of generated steps, where the world can tell; it touches no reward. */
function auditMetrics({ world }: Context, judgments: readonly ScoredJudgment[]): Metrics {
  const holds = world?.holds?.bind(world)
  const generated = judgments.filter(({ source, verdict }) => source === 0 && verdict !== null)
  if (!holds || generated.length === 0) return {}
  const audited = generated.flatMap(({ shown, question, piece, verdict }) => {
    const truth = holds(shown, piece === 0 ? question : undefined)
    return truth === undefined ? [] : { truth, verdict }
  })
  const [sound, flawed] = [true, false].map((truth) => audited.filter((each) => each.truth === truth))
  const yes = (of: typeof audited) => fraction(of, ({ verdict }) => verdict === 1)
  return {
    'audit/in_world_frac': audited.length / generated.length,
    ...(audited.length > 0 && { 'audit/true_frac': sound!.length / audited.length }),
    ...(sound!.length > 0 && { 'audit/yes_true_frac': yes(sound!) }),
    ...(flawed!.length > 0 && { 'audit/yes_false_frac': yes(flawed!) }),
  }
}
