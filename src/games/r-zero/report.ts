/** What a round tells: metrics by name and one record for every rollout. */

import type { Verdict } from '../../grader/grader.js'
import type { GameContext, RolloutRecord, RoundReport } from '../game.js'
import { groupAdvantages, mean } from '../grpo/advantages.js'
import {
  fraction,
  type Metrics,
  passRateMetrics,
  prefixed,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
  verdictMetrics,
} from '../grpo/metrics.js'
import { groupRecords, type ScoredGroup } from '../grpo/records.js'
import type { StepReport } from '../grpo/step.js'
import type { Config } from './config.js'
import { fates, type Judged, type PoolQuestion } from './question.js'
import { repetitionPenalty, uncertaintyReward } from './rewards.js'

type Context = GameContext<Config>

/** A question of the pool with the solver's group on it. */
export interface AnsweredQuestion extends ScoredGroup, PoolQuestion {
  verdicts: Verdict[]
  /** Whether the label is true; undefined where the world cannot tell. */
  labelRight: boolean | undefined
}

/** The questions by the prompt they were written to, with rewards and advantages. */
export function challengerGroups(judged: readonly Judged[], config: Config): ScoredGroup[] {
  const groups = [...new Set(judged.map(({ group }) => group))]
  return groups.map((group) => {
    const own = judged.filter((question) => question.group === group)
    const rewards = own.map(({ reward }) => reward)
    return {
      group,
      prompt: own[0]!.prompt,
      rollouts: own.map(({ rollout }) => rollout),
      rewards,
      advantages: groupAdvantages(rewards, { scaleRewards: config.scale_rewards }),
      parts: (i) => questionParts(own[i]!),
    }
  })
}

/** A round that writes questions: the challenger's, or one that fills the pool. `idle` says why nobody learned. */
export function reportQuestions(
  ctx: Context,
  judged: readonly Judged[],
  { steps, pool, idle }: { steps: readonly StepReport[]; pool: number; idle: string },
): RoundReport {
  const groups = challengerGroups(judged, ctx.config)
  const isTrained = steps.length > 0
  return {
    metrics: {
      ...prefixed('challenger', {
        ...rewardMetrics(groups.map(({ rewards }) => rewards)),
        ...partMetrics(judged, ctx.config),
        ...rolloutMetrics(judged.map(({ rollout }) => rollout)),
        ...stepMetrics(steps),
      }),
      ...prefixed('solver', rolloutMetrics(judged.flatMap(({ answers }) => answers))),
      ...questionMetrics(judged),
      ...auditMetrics(judged),
      'pool/size': pool,
    },
    rollouts: [
      ...groups.flatMap((group) => groupRecords(ctx.roles.challenger!, group, isTrained)),
      ...judged.flatMap((question, i) => voteRecords(ctx, question, i)),
    ],
    ...(!isTrained && {
      skipped: judged.length === 0 ? 'no prompt of the challenger is within its limit' : idle,
    }),
  }
}

/** A round of the solver. */
export function reportSolver(
  ctx: Context,
  groups: readonly AnsweredQuestion[],
  steps: readonly StepReport[],
  pool: number,
): RoundReport {
  const isTrained = steps.length > 0
  const audited = groups.filter(({ labelRight }) => labelRight !== undefined)
  const parts =
    ({ question, label, share, labelRight, verdicts }: AnsweredQuestion) =>
    (i: number) => ({
      question,
      gold: label,
      share,
      label_right: labelRight ?? null,
      extracted: verdicts[i]!.extracted,
      verdict: verdicts[i]!.reason,
    })
  return {
    metrics: {
      ...prefixed('solver', {
        ...rewardMetrics(groups.map(({ rewards }) => rewards)),
        ...verdictMetrics(groups.flatMap(({ verdicts }) => verdicts)),
        ...rolloutMetrics(groups.flatMap(({ rollouts }) => [...rollouts])),
        ...stepMetrics(steps),
      }),
      ...passRateMetrics(
        groups.map(({ rewards }) => mean(rewards)),
        ctx.config.answers,
      ),
      ...(audited.length > 0 && {
        'labels/accuracy_valid': fraction(audited, ({ labelRight }) => labelRight!),
      }),
      'pool/size': pool,
    },
    rollouts: groups.flatMap((group) =>
      groupRecords(ctx.roles.solver!, { ...group, parts: parts(group) }, isTrained),
    ),
    ...(!isTrained && {
      skipped:
        pool === 0 ? 'no question came through the filter' : 'no group has an answer better than another',
    }),
  }
}

/** Means over the questions that are some. */
function partMetrics(judged: readonly Judged[], config: Config): Metrics {
  const asked = judged.filter(({ cluster }) => cluster > 0)
  if (asked.length === 0) return {}
  return {
    'reward/uncertainty': mean(asked.map(({ share }) => uncertaintyReward(share, config.uncertainty))),
    'reward/repetition': mean(asked.map(({ cluster }) => repetitionPenalty(cluster, judged.length))),
  }
}

function questionMetrics(judged: readonly Judged[]): Metrics {
  if (judged.length === 0) return {}
  const asked = judged.filter(({ cluster }) => cluster > 0)
  const metrics: Metrics = {}
  for (const fate of fates)
    metrics[`questions/${fate}_frac`] = fraction(judged, (question) => question.fate === fate)
  if (asked.length === 0) return metrics
  return {
    ...metrics,
    'questions/duplicate_frac': fraction(asked, ({ cluster }) => cluster > 1),
    'diversity/mean': mean(asked.map(({ cluster }) => 1 - repetitionPenalty(cluster, judged.length))),
    'vote/share': mean(asked.map(({ share }) => share)),
  }
}

/** How true the labels are, where the world can tell. */
function auditMetrics(judged: readonly Judged[]): Metrics {
  const asked = judged.filter(({ cluster }) => cluster > 0)
  const known = asked.filter(({ audit }) => audit !== undefined)
  const labelled = known.filter(({ audit }) => audit!.labelRight !== undefined)
  const valid = labelled.filter(({ fate }) => fate === 'valid')
  const right = ({ audit }: Judged) => audit!.labelRight === true
  return {
    ...(known.length > 0 && { 'labels/in_world_frac': known.length / asked.length }),
    ...(labelled.length > 0 && { 'labels/accuracy': fraction(labelled, right) }),
    ...(valid.length > 0 && { 'labels/accuracy_valid': fraction(valid, right) }),
  }
}

function questionParts({ question, fate, share, cluster, vote, audit }: Judged): RolloutRecord['parts'] {
  return {
    question,
    label: vote.answer,
    fate,
    share,
    cluster,
    truth: audit?.truth ?? null,
    label_right: audit?.labelRight ?? null,
  }
}

/** The answers that voted: their reward says whether they were with the majority, and trains nobody. */
function voteRecords(
  ctx: Context,
  { solverPrompt, answers, vote, question }: Judged,
  group: number,
): RolloutRecord[] {
  if (solverPrompt === null) return []
  const votes: ScoredGroup = {
    group,
    prompt: solverPrompt,
    rollouts: answers,
    rewards: vote.agrees.map(Number),
    advantages: answers.map(() => 0),
    parts: () => ({ question, gold: vote.answer, share: vote.count / answers.length }),
  }
  return groupRecords(ctx.roles.solver!, votes, false)
}
