/** A group of rollouts as records and as training samples. */
import type { Rollout } from '../../core/rollout.js'
import type { Role, RolloutRecord } from '../game.js'
import { completionFields } from './completion.js'
import type { Sample } from './data.js'

/** Completions of one prompt with what they earned; every array is over the rollouts. */
export interface ScoredGroup {
  /** Number of the group, unique within its role and round. */
  group: number
  prompt: Int32Array
  rollouts: readonly Rollout[]
  rewards: readonly number[]
  advantages: readonly number[]
  /** Every part of the reward and every verdict of rollout i, by name. */
  parts?(i: number): RolloutRecord['parts']
}

/** One record a rollout; `trained` says whether the group entered an update. */
export function groupRecords(role: Role, group: ScoredGroup, trained: boolean): RolloutRecord[] {
  const { prompt, rollouts, rewards, advantages, parts } = group
  const { tokenizer } = role.policy
  const text = tokenizer.decode(prompt, { special: true })
  return rollouts.map((rollout, i) => ({
    role: role.name,
    group: group.group,
    index: i,
    prompt: text,
    ...completionFields(rollout, tokenizer),
    reward: rewards[i]!,
    parts: parts?.(i) ?? {},
    advantage: advantages[i]!,
    trained,
  }))
}

export function groupSamples({ prompt, rollouts, advantages }: ScoredGroup): Sample[] {
  return rollouts.map((rollout, i) => ({ prompt, rollout, advantage: advantages[i]! }))
}
