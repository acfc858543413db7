/** A question from the challenger's completion to the solver's group. */
import type { Rollout } from '../../core/rollout.js'
import type { Vote } from '../vote.js'

/** A challenger's completion and what was read from it. */
export interface Proposal {
  /** Group of the challenger that it belongs to. */
  group: number
  prompt: Int32Array
  rollout: Rollout
  /** Empty where the completion holds none. */
  question: string
}

/** What became of a question, over the band of s; every question has exactly one fate. */
export const fates = ['valid', 'too_easy', 'too_hard', 'unparsable', 'too_long'] as const
export type Fate = (typeof fates)[number]

/** With the solver's vote on it. */
export interface Judged extends Proposal {
  /** Null where the question was not put to the solver. */
  solverPrompt: Int32Array | null
  answers: Rollout[]
  vote: Vote
  /** s */
  share: number
  /** Questions of the round that are like it, itself included; 0 where there is no question. */
  cluster: number
  fate: Fate
  reward: number
  /** What the world knows about it; for the audit only. */
  audit: Audit | undefined
}

export interface Audit {
  /** The true answer. */
  truth: string
  /** Whether the label, the answer of the majority, is true; undefined where there is no label. */
  labelRight: boolean | undefined
}

/** A labelled question that the solver learns from. */
export interface PoolQuestion {
  question: string
  /** What the majority answered. */
  label: string
  share: number
}
