/** A question from its proposal to the updates that use it. */
import type { Rollout } from '../../core/rollout.js'
import type { Verdict } from '../../grader/grader.js'
import type { Flaw } from './rewards.js'

/** A proposer's completion and what was read from it. */
export interface Proposal {
  /** Which text of the round it was proposed from. */
  batch: number
  prompt: Int32Array
  rollout: Rollout
  /** q_i; empty where the completion holds none. */
  question: string
  /** a*_i; empty where the completion holds none. */
  answer: string
  /** T(q_i): the question alone in the proposer's tokens. */
  ids: Int32Array
}

/** A proposal with the solver's answers. */
export interface Answered extends Proposal {
  /** Null where the question was not put to the solver. */
  solverPrompt: Int32Array | null
  /** a_ij over j; none where the question was not put. */
  answers: Rollout[]
}

/** With the answers compared. */
export interface Graded extends Answered {
  /** r^s_ij over j, each 0 or 1. */
  rewards: number[]
  /** Empty where the rewards are no comparison. */
  verdicts: Verdict[]
  /** What the world knows about the question; for the audit only. */
  audit: Audit | undefined
}

export interface Audit {
  /** The true answer. */
  truth: string
  /** Whether the proposer's own answer is true. */
  labelRight: boolean
  /** Whether each answer of the solver is true. */
  answersRight: boolean[]
}

/** What became of a question, over the solver's valid band; every question has exactly one fate. */
export const fates = ['valid', 'too_easy', 'too_hard', 'unparsable', 'leaks_answer', 'too_long'] as const
export type Fate = (typeof fates)[number]

/** With everything that the updates need. */
export interface Scored extends Graded {
  flaw: Flaw | null
  fate: Fate
  /** p_i, 0 where there is a flaw. */
  passRate: number
  /** Questions of the history that this one repeats. */
  duplicates: number
  difficulty: number
  diversity: number
  /** r^p_i */
  reward: number
  /** Within the text's questions. */
  advantage: number
  /** Within the question's answers, over j. */
  solverAdvantages: number[]
  /** Whether the solver may learn from it. */
  valid: boolean
}

/** The scored questions of one knowledge text and the verdict of the skip rules on them. */
export interface Batch {
  questions: Scored[]
  /** Roles that may learn from this text. */
  trains: { proposer: boolean; solver: boolean }
}

export function isWellFormed({ question, answer }: Proposal): boolean {
  return question !== '' && answer !== ''
}
