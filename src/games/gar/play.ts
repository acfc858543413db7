/** What a round is made of, from a completion to its update. */
import type { Rollout } from '../../core/rollout.js'
import type { Piece } from './cut.js'
import type { TracedProblem } from './data.js'
import type { Source } from './rewards.js'
import type { Verdict } from './verdict.js'

/** A problem of the round. */
export interface Posed extends TracedProblem {
  /** Its number among all problems. */
  id: number
  prompt: Int32Array
}

/** A completion of the reasoner with its slices. */
export interface Trajectory {
  /** Number of its problem in the round. */
  group: number
  /** As trained: cut behind the last slice where the trace is partial. */
  rollout: Rollout
  /** Its slices that are judged. */
  pieces: Piece[]
}

/** R^m of a completion, and how it came about. */
export interface Outcome {
  /** In [0, 1] for maths; see `codeReward` for code. */
  reward: number
  right: boolean
  /** What was taken as the answer. */
  extracted: string | null
  reason: string
}

/** A slice put to the discriminator. */
export interface Exhibit {
  /** Number of the problem in the round. */
  group: number
  source: Source
  question: string
  shown: string
  /** Numbers of the trajectory in its problem and of the slice in its trajectory; undefined for references. */
  trajectory?: number
  piece?: number
}

/** A sampled judgment of a slice. */
export interface Judgment extends Exhibit {
  /** Number of the slice among those put. */
  exhibit: number
  prompt: Int32Array
  rollout: Rollout
  /** v; null where none can be read. */
  verdict: Verdict | null
  /** p_YES where it was measured. */
  yes?: number | undefined
}

export interface ScoredTrajectory extends Trajectory {
  /** Absent in partial traces. */
  outcome: Outcome | undefined
  /** r^s_i over the slices, null where no verdict could be read. */
  scores: (number | null)[]
  /** R^s, the group's mean where it is unknown. */
  slices: number
  reward: number
  advantage: number
}

export interface ScoredJudgment extends Judgment {
  /** Whether the trajectory that the slice comes from was right; absent for references and in partial traces. */
  right?: boolean | undefined
  reward: number
  /** r^d and r^a before weighting. */
  discrimination: number
  alignment: number
  advantage: number
}

/** The rewards of one problem. */
export interface ScoredGroup {
  posed: Posed
  trajectories: ScoredTrajectory[]
  judgments: ScoredJudgment[]
}
