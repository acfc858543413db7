/** What a round tells: metrics by name and one record for every rollout of both roles. */
import type { GameContext, RoundReport } from '../game.js'
import { mean } from '../grpo/advantages.js'
import {
  fraction,
  type Metrics,
  prefixed,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
  verdictMetrics,
} from '../grpo/metrics.js'
import type { StepReport } from '../grpo/step.js'
import type { Config } from './config.js'
import { type Batch, fates, isWellFormed, type Lesson, type Revisited, type Scored } from './question.js'
import { records, revisitRecords } from './records.js'

type Context = GameContext<Config>
type Steps = { proposer: StepReport[]; solver: StepReport[] }

export function report(ctx: Context, batches: readonly Batch[], steps: Steps): RoundReport {
  const questions = batches.flatMap((batch) => batch.questions)
  const idle = steps.proposer.length + steps.solver.length === 0
  return {
    metrics: {
      ...prefixed('proposer', proposerMetrics(batches, steps.proposer)),
      ...prefixed('solver', solverMetrics(questions, steps.solver)),
      ...questionMetrics(questions, ctx.config.answers),
      ...(ctx.world && { ...labelMetrics(questions), ...lessonMetrics(questions) }),
      'texts/kept_frac': fraction(batches, ({ trains }) => trains.proposer || trains.solver),
    },
    rollouts: records(ctx, batches),
    ...(idle && { skipped: idleReason(ctx.config, batches) }),
  }
}

/** Of a draw of the solver's phase in the offline form. */
export function revisitReport(
  ctx: Context,
  questions: readonly Revisited[],
  steps: StepReport[],
): RoundReport {
  return {
    metrics: {
      ...prefixed('proposer', stepMetrics([])),
      ...prefixed('solver', solverMetrics(questions, steps)),
      ...(ctx.world && lessonMetrics(questions)),
      'buffer/valid_frac': fraction(questions, (q) => q.valid),
      'buffer/pass_rate_mean': mean(questions.map((q) => q.passRate)),
      'buffer/age_mean': mean(questions.map((q) => ctx.round - q.entry.born)),
    },
    rollouts: revisitRecords(ctx, questions),
    ...(steps.length === 0 && { skipped: 'no question of the buffer was solved some of the time' }),
  }
}

function idleReason(config: Config, batches: readonly Batch[]): string {
  const questions = batches.flatMap((batch) => batch.questions)
  if (questions.length === 0) return 'no prompt of the proposer is within its limit'
  if (!questions.some((q) => q.fate === 'valid')) return 'no question was solved some of the time'
  if (config.frozen === 'proposer' && config.schedule === 'offline') return 'the proposer is frozen'
  return batches.some(({ trains }) => trains.proposer || trains.solver)
    ? 'no rollout has an advantage'
    : 'all rewards of the proposer are equal'
}

function proposerMetrics(batches: readonly Batch[], steps: StepReport[]): Metrics {
  const questions = batches.flatMap((batch) => batch.questions)
  if (questions.length === 0) return stepMetrics(steps)
  return {
    ...rewardMetrics(batches.map((batch) => batch.questions.map((q) => q.reward))),
    'reward/difficulty': mean(questions.map((q) => q.difficulty)),
    'reward/diversity': mean(questions.map((q) => q.diversity)),
    ...rolloutMetrics(questions.map((q) => q.rollout)),
    ...stepMetrics(steps),
  }
}

function solverMetrics(questions: readonly Lesson[], steps: StepReport[]): Metrics {
  const asked = questions.filter((q) => q.answers.length > 0)
  return {
    ...rewardMetrics(asked.map((q) => q.rewards)),
    ...verdictMetrics(asked.flatMap((q) => q.verdicts)),
    ...rolloutMetrics(asked.flatMap((q) => q.answers)),
    ...stepMetrics(steps),
  }
}

function questionMetrics(questions: readonly Scored[], answers: number): Metrics {
  if (questions.length === 0) return {}
  const wellFormed = questions.filter(isWellFormed)
  const metrics: Metrics = {}
  for (const fate of fates) metrics[`questions/${fate}_frac`] = fraction(questions, (q) => q.fate === fate)
  for (let right = 0; right <= answers; right++) {
    metrics[`pass_rate/p${right}`] = questions.filter(
      (q) => Math.round(q.passRate * answers) === right,
    ).length
  }
  metrics['pass_rate/mean'] = mean(questions.map((q) => q.passRate))
  if (wellFormed.length > 0) {
    metrics['questions/duplicate_frac'] = fraction(wellFormed, (q) => q.duplicates > 0)
    metrics['diversity/mean'] = mean(wellFormed.map((q) => q.diversity))
  }
  return metrics
}

/** How true the proposer's labels are, where the world can tell. */
function labelMetrics(questions: readonly Scored[]): Metrics {
  const wellFormed = questions.filter(isWellFormed)
  const audited = wellFormed.filter((q) => q.audit)
  return {
    ...(wellFormed.length > 0 && { 'labels/in_world_frac': audited.length / wellFormed.length }),
    ...(audited.length > 0 && { 'labels/accuracy': fraction(audited, (q) => q.audit!.labelRight) }),
  }
}

/** How true what the solver learns from is, and how true its answers. */
function lessonMetrics(questions: readonly Lesson[]): Metrics {
  const audited = questions.filter((q) => isWellFormed(q) && q.audit)
  const valid = audited.filter((q) => q.valid)
  const answers = audited.flatMap((q) => q.audit!.answersRight)
  return {
    ...(valid.length > 0 && { 'labels/accuracy_valid': fraction(valid, (q) => q.audit!.labelRight) }),
    ...(answers.length > 0 && { 'labels/solver_accuracy': fraction(answers, (right) => right) }),
  }
}
