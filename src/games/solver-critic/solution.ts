/** A problem with its solutions, and what the critic is shown of them. */
import type { Rollout } from '../../core/rollout.js'
import type { Verdict } from '../../grader/grader.js'
import type { Problem } from '../problems.js'
import type { Critique } from './critique.js'
import type { CriticParts } from './rewards.js'

export interface Solution {
  rollout: Rollout
  /** What the critic judges, at least one. */
  steps: string[]
  /** o*; undefined where the problem is skipped for want of a majority. */
  right: boolean | undefined
  /** Ends by itself and boxes something. */
  formatted: boolean
  /** Of the comparison with the label; absent where there was none. */
  verdict: Verdict | undefined
}

export interface Solved extends Problem {
  /** Number of the problem in the round. */
  index: number
  /** Null where it is too long to be asked. */
  prompt: Int32Array | null
  /** The known answer or the majority's; null where the problem is skipped. */
  label: string | null
  /** Share of the solutions that agree on the majority's label; undefined where labels are known. */
  share: number | undefined
  /** Whether the majority's label is the known answer; for the audit only. */
  labelRight: boolean | undefined
  solutions: Solution[]
}

/** A solution as the critic is shown it. */
export interface Exhibit {
  kind: 'solution' | 'planted' | 'twin'
  /** Numbers of the problem and of the solution that it is, or was made of. */
  problem: number
  solution: number
  steps: string[]
  /** What the verdict should be. */
  right: boolean
  /** Number of the step with the planted error; null where there is none. */
  planted: number | null
  /** Null where it is too long to be judged. */
  prompt: Int32Array | null
}

/** One critique with what it earns. */
export interface Judgement {
  rollout: Rollout
  /** Null where it cannot be read. */
  critique: Critique | null
  fooled: boolean
  /** The parts of the reward that apply, by name; none of a critique that cannot be read. */
  parts: CriticParts
  reward: number
  /** The solver's second answer, where it was asked for one. */
  revision?: Revision
}

export interface Revision {
  prompt: Int32Array
  rollout: Rollout
  right: boolean
  formatted: boolean
}

export interface Judged extends Exhibit {
  judgements: Judgement[]
  /** c: mean score of the critiques that can be read; undefined where none can. */
  critique: number | undefined
}
