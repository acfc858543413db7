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
  verdictMetrics,
} from '../grpo/metrics.js'
import type { StepReport } from '../grpo/step.js'
import type { Config } from './config.js'
import { type Group, recordsOf } from './groups.js'
import { areaUnderCurve, balancedAccuracy, processF1 } from './measures.js'
import { classWeights } from './rewards.js'
import type { Judged, Judgement, Solved } from './solution.js'

export interface Played {
  learner: 'solver' | 'critic'
  solved: readonly Solved[]
  judged: readonly Judged[]
  groups: { solver: Group[]; revision: Group[]; critic: Group[] }
  steps: readonly StepReport[]
  /** Of the comparison with the copy from the start, where there was one. */
  drifted: Metrics
  /** Share of right solutions that outcome alignment was weighted by; null before there were any. */
  right: number | null
}

export function report(ctx: GameContext<Config>, played: Played): RoundReport {
  const { learner, solved, judged, groups, steps, drifted, right } = played
  const idle = steps.length === 0
  const learns = (role: 'solver' | 'critic') => role === learner && !idle
  const weights = classWeights(right ?? 0.5)
  return {
    metrics: present({
      ...prefixed('solver', solverMetrics(played, ctx.config)),
      ...prefixed('critic', {
        ...rewardMetrics(rewardsOf(groups.critic)),
        ...partMetrics(judged),
        ...judgeMetrics(judged),
        ...evidenceMetrics(judged),
        weight_right: weights.right,
        weight_wrong: weights.wrong,
        ...drifted,
        ...rolloutMetrics(groups.critic.flatMap(({ entries }) => entries.map(({ rollout }) => rollout))),
        ...stepMetrics(learner === 'critic' ? steps : []),
      }),
      ...problemMetrics(solved, ctx.config),
      ...(ctx.config.revise && revisionMetrics(judged)),
    }),
    rollouts: [
      ...[...groups.solver, ...groups.revision].flatMap((each) =>
        recordsOf(ctx.roles.solver!, each, learns('solver')),
      ),
      ...groups.critic.flatMap((each) => recordsOf(ctx.roles.critic!, each, learns('critic'))),
    ],
    ...(idle && { skipped: idleReason(played) }),
  }
}

function idleReason({ learner, groups }: Played): string {
  if (groups[learner].length > 0) return `no group has a rollout of the ${learner} better than another`
  return groups.solver.length === 0
    ? 'no problem has solutions that can be labelled'
    : 'no solution fits the prompt of the critic'
}

const rewardsOf = (groups: readonly Group[]) =>
  groups.map(({ entries }) => entries.map(({ reward }) => reward))

/** Leaves out what there was nothing to measure of. */
function present(metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => !Number.isNaN(value)))
}

function solverMetrics({ learner, solved, groups, steps }: Played, config: Config): Metrics {
  const entries = groups.solver.flatMap((each) => each.entries)
  const paid = entries.map(({ parts }) => {
    const gate = parts.right ? config.gate_right : config.gate_wrong
    return config.critique_weight * gate * Number(parts.critique ?? 0)
  })
  const solutions = solved.flatMap((each) => each.solutions)
  return {
    ...rewardMetrics(rewardsOf(groups.solver)),
    'reward/outcome': fraction(entries, ({ parts }) => parts.right === true),
    'reward/critique': mean(paid),
    ...verdictMetrics(solutions.flatMap(({ verdict }) => verdict ?? [])),
    ...rolloutMetrics(solutions.map(({ rollout }) => rollout)),
    ...stepMetrics(learner === 'solver' ? steps : []),
  }
}

function problemMetrics(solved: readonly Solved[], { answers, labels }: Config): Metrics {
  const labelled = solved.filter(({ label, solutions }) => label !== null && solutions.length > 0)
  const rates = labelled.map(({ solutions }) => fraction(solutions, ({ right }) => right === true))
  const known = solved.filter(({ labelRight }) => labelRight !== undefined)
  return {
    ...passRateMetrics(rates, answers),
    ...(labels === 'majority' && {
      'vote/share': mean(solved.map(({ share }) => share!)),
      'problems/skipped_frac': fraction(solved, ({ label }) => label === null),
      'labels/accuracy': fraction(known, ({ labelRight }) => labelRight!),
    }),
  }
}

const parts = ['outcome', 'coherence', 'evidence', 'ranking', 'agreement'] as const

/** Means over the critiques that each part applies to. */
function partMetrics(judged: readonly Judged[]): Metrics {
  const all = judged.flatMap(({ judgements }) => judgements)
  return Object.fromEntries(
    parts.map((part) => [`reward/${part}`, mean(all.flatMap((each) => each.parts[part] ?? []))]),
  )
}

const said = ({ critique }: Judgement) => critique?.correct

/** On the solver's solutions. */
function judgeMetrics(judged: readonly Judged[]): Metrics {
  const all = judged.flatMap(({ judgements }) => judgements)
  const solutions = judged.filter(({ kind }) => kind === 'solution')
  const calls = solutions.flatMap(({ right, judgements }) =>
    judgements.map((each) => ({ right, said: said(each) })),
  )
  const scored = solutions.flatMap(({ right, critique: score }) =>
    score === undefined ? [] : { right, score },
  )
  const wrong = solutions.filter(({ right }) => !right).flatMap(({ judgements }) => judgements)
  return {
    parsed_frac: fraction(all, ({ critique }) => critique !== null),
    yes_frac: fraction(calls, (call) => call.said === true),
    fooled_frac: fraction(wrong, ({ fooled }) => fooled),
    balanced_accuracy: balancedAccuracy(calls),
    auc: areaUnderCurve(scored),
    score_mean: mean(scored.map(({ score }) => score)),
  }
}

/** On planted errors and their twins, half of each: one who says the same of all shows here, whatever the solver can do. */
function evidenceMetrics(judged: readonly Judged[]): Metrics {
  const evidence = judged.filter(({ kind }) => kind !== 'solution')
  const of = (kind: Judged['kind']) =>
    evidence.filter((each) => each.kind === kind).flatMap(({ judgements }) => judgements)
  const locations = evidence.flatMap(({ planted, judgements }) =>
    judgements.map(({ critique }) => ({ truth: planted, said: critique?.firstError })),
  )
  return {
    evidence_pairs: evidence.length / 2,
    ...(evidence.length > 0 && {
      planted_recall: fraction(of('planted'), (each) => each.parts.evidence === 1),
      false_alarm: fraction(of('twin'), (each) => said(each) === false),
      evidence_yes_frac: fraction(
        evidence.flatMap(({ judgements }) => judgements),
        (each) => said(each) === true,
      ),
      process_f1: processF1(locations),
    }),
  }
}

function revisionMetrics(judged: readonly Judged[]): Metrics {
  const revised = judged.flatMap(({ right, judgements }) =>
    judgements.flatMap(({ revision }) => (revision ? { before: right, now: revision.right } : [])),
  )
  return {
    'revision/right_frac': fraction(revised, ({ now }) => now),
    'revision/change': mean(revised.map(({ before, now }) => Number(now) - Number(before))),
  }
}
