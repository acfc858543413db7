/** Who is compared with whom: the solver's solutions of a problem, and all critiques of a problem. */
import type { Rollout } from '../../core/rollout.js'
import type { Role, RolloutRecord } from '../game.js'
import { groupAdvantages } from '../grpo/advantages.js'
import type { Sample } from '../grpo/data.js'
import { groupRecords } from '../grpo/records.js'
import type { Config } from './config.js'
import { scoreOf } from './critique.js'
import { solverReward } from './rewards.js'
import type { Judged, Solved } from './solution.js'

/** A rollout with what it earns; those of a group may have different prompts. */
export interface Entry {
  prompt: Int32Array
  rollout: Rollout
  reward: number
  parts: RolloutRecord['parts']
}

export interface Group {
  /** Unique among the groups of its role and round. */
  group: number
  entries: Entry[]
  advantages: number[]
}

export function group(number: number, entries: Entry[], config: Config): Group {
  const rewards = entries.map(({ reward }) => reward)
  return {
    group: number,
    entries,
    advantages: groupAdvantages(rewards, { scaleRewards: config.scale_rewards }),
  }
}

/** The solutions of each problem that is not skipped. */
export function solverGroups(solved: readonly Solved[], judged: readonly Judged[], config: Config): Group[] {
  return solved.flatMap((problem) => {
    const { index, prompt, label, solutions } = problem
    if (prompt === null || label === null) return []
    const entries = solutions.map(({ rollout, right, formatted, verdict, steps }, j): Entry => {
      const exhibit = judged.find((each) => isOf(each, index, j))
      const critique = exhibit?.critique ?? 0
      const reward = solverReward({ right: right!, critique, formatted }, config)
      const parts = {
        problem: problem.problem,
        gold: label,
        labels: config.labels,
        right: right!,
        critique: exhibit?.critique ?? null,
        formatted,
        steps: steps.length,
        extracted: verdict?.extracted ?? null,
        verdict: verdict?.reason ?? null,
      }
      return { prompt, rollout, reward, parts }
    })
    return [group(index, entries, config)]
  })
}

const isOf = (exhibit: Judged, problem: number, solution: number) =>
  exhibit.kind === 'solution' && exhibit.problem === problem && exhibit.solution === solution

/** The second answers to each problem, in groups of their own: no critic has seen them. */
export function revisionGroups(
  solved: readonly Solved[],
  judged: readonly Judged[],
  config: Config,
): Group[] {
  return solved.flatMap(({ index, problem, label }) => {
    const entries = judged
      .filter((exhibit) => exhibit.problem === index)
      .flatMap(({ solution, right: before, judgements }) =>
        judgements.flatMap(({ revision }): Entry[] => {
          if (!revision) return []
          const { prompt, rollout, right, formatted } = revision
          const reward = solverReward({ right, critique: 0, formatted }, config)
          const parts = {
            problem,
            gold: label,
            labels: config.labels,
            right,
            formatted,
            revises: solution,
            right_before: before,
          }
          return [{ prompt, rollout, reward, parts }]
        }),
      )
    return entries.length === 0 ? [] : [group(solved.length + index, entries, config)]
  })
}

/** All critiques of each problem, those of planted errors and their twins among them. */
export function criticGroups(solved: readonly Solved[], judged: readonly Judged[], config: Config): Group[] {
  return solved.flatMap(({ index }) => {
    const entries = judged
      .filter((exhibit) => exhibit.problem === index && exhibit.prompt !== null)
      .flatMap((exhibit) => exhibit.judgements.map((judgement) => criticEntry(exhibit, judgement)))
    return entries.length === 0 ? [] : [group(index, entries, config)]
  })
}

function criticEntry(
  exhibit: Judged,
  { rollout, reward, critique, parts, fooled, revision }: Judged['judgements'][number],
): Entry {
  return {
    prompt: exhibit.prompt!,
    rollout,
    reward,
    parts: {
      kind: exhibit.kind,
      solution: exhibit.solution,
      right: exhibit.right,
      planted: exhibit.planted,
      parsed: critique !== null,
      said_correct: critique?.correct ?? null,
      first_error: critique?.firstError ?? null,
      score: critique ? scoreOf(critique) : null,
      fooled,
      outcome: parts.outcome ?? null,
      coherence: parts.coherence ?? null,
      evidence: parts.evidence ?? null,
      ranking: parts.ranking ?? null,
      agreement: parts.agreement ?? null,
      revised_right: revision?.right ?? null,
    },
  }
}

export function samplesOf({ entries, advantages }: Group): Sample[] {
  return entries.map(({ prompt, rollout }, i) => ({ prompt, rollout, advantage: advantages[i]! }))
}

export function recordsOf(
  role: Role,
  { group, entries, advantages }: Group,
  trained: boolean,
): RolloutRecord[] {
  return entries.flatMap(({ prompt, rollout, reward, parts }, index) =>
    groupRecords(
      role,
      {
        group,
        prompt,
        rollouts: [rollout],
        rewards: [reward],
        advantages: [advantages[index]!],
        parts: () => parts,
      },
      trained,
    ).map((record) => ({ ...record, index })),
  )
}
