/** From verdicts and outcomes to rewards and advantages of both roles. */
import { groupAdvantages } from '../grpo/advantages.js'
import type { Config } from './config.js'
import type {
  Judgment,
  Outcome,
  Posed,
  ScoredGroup,
  ScoredJudgment,
  ScoredTrajectory,
  Trajectory,
} from './play.js'
import { discriminatorReward, fillUnknown, meanOfKnown, reasonerReward, sliceReward } from './rewards.js'

export interface Played {
  posed: Posed
  trajectories: Trajectory[]
  /** R^m over the trajectories; null in partial traces. */
  outcomes: Outcome[] | null
  /** On the slices of these trajectories, by their number, and on the references of the problem. */
  judgments: Judgment[]
}

/** Scores one problem. `lambda3` is the weight in force, which the guard may have lowered. */
export function scoreGroup(played: Played, lambda3: number, config: Config): ScoredGroup {
  const scaled = { scaleRewards: config.scale_rewards }
  const { posed, outcomes, judgments } = played
  const scores = played.trajectories.map(({ pieces }, t) => sliceScores(pieces.length, t, judgments))
  const slices = fillUnknown(scores.map(sliceReward))
  const rewards = slices.map((score, t) => reasonerReward(outcomes?.[t]?.reward ?? 0, score, config))
  const advantages = groupAdvantages(rewards, scaled)
  const trajectories = played.trajectories.map(
    (trajectory, t): ScoredTrajectory => ({
      ...trajectory,
      outcome: outcomes?.[t],
      scores: scores[t]!,
      slices: slices[t]!,
      reward: rewards[t]!,
      advantage: advantages[t]!,
    }),
  )

  const weights = { ...config, lambda3 }
  const paid = judgments.map((judgment) => {
    const right = judgment.trajectory === undefined ? undefined : outcomes?.[judgment.trajectory]?.right
    return { ...judgment, right, ...discriminatorReward({ ...judgment, right }, weights) }
  })
  const compared = config.discriminator_group === 'slice' ? bySlice(paid) : [paid]
  const byJudgment = new Map(
    compared.flatMap((group) => {
      const advantages = groupAdvantages(
        group.map(({ reward }) => reward),
        scaled,
      )
      return group.map((judgment, i) => [judgment, advantages[i]!] as const)
    }),
  )
  const scored = paid.map(
    (judgment): ScoredJudgment => ({ ...judgment, advantage: byJudgment.get(judgment)! }),
  )
  return { posed, trajectories, judgments: scored }
}

/** r^s_i: the mean of the verdicts on slice i of a trajectory, null where there is none. */
function sliceScores(pieces: number, trajectory: number, judgments: readonly Judgment[]): (number | null)[] {
  const own = judgments.filter((judgment) => judgment.trajectory === trajectory)
  return Array.from({ length: pieces }, (_, piece) =>
    meanOfKnown(own.filter((judgment) => judgment.piece === piece).map(({ verdict }) => verdict)),
  )
}

function bySlice<T extends { exhibit: number }>(judgments: readonly T[]): T[][] {
  const groups = new Map<number, T[]>()
  for (const judgment of judgments) {
    groups.set(judgment.exhibit, [...(groups.get(judgment.exhibit) ?? []), judgment])
  }
  return [...groups.values()]
}
