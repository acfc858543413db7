/** A question from its proposal to the updates that use it. */
import type { Rollout } from '../../core/rollout.js'
import type { BufferedQuestion } from '../../data/question-buffer.js'
import type { Verdict } from '../../grader/grader.js'
import type { Flaw } from './rewards.js'

export interface Question {
  /** q_i; empty where the completion holds none. */
  question: string
  /** a*_i; empty where the completion holds none. */
  answer: string
}

/** A proposer's completion and what was read from it. */
export interface Proposal extends Question {
  /** Which text of the round it was proposed from. */
  batch: number
  prompt: Int32Array
  rollout: Rollout
  /** T(q_i): the question alone in the proposer's tokens. */
  ids: Int32Array
}

/** The solver's answers to a question. */
export interface Answers {
  /** Null where the question was not put to the solver. */
  solverPrompt: Int32Array | null
  /** a_ij over j; none where the question was not put. */
  answers: Rollout[]
}

/** What the answers were worth. */
export interface Grades {
  /** r^s_ij over j, each 0 or 1. */
  rewards: number[]
  /** Empty where the rewards are no comparison. */
  verdicts: Verdict[]
  /** What the world knows about the question; for the audit only. */
  audit: Audit | undefined
}

export type Graded = Proposal & Answers & Grades

/** What the solver learns from. */
export interface Lesson extends Question, Answers, Grades {
  /** p_i */
  passRate: number
  /** Within the question's answers, over j. */
  solverAdvantages: number[]
  /** Whether the solver may learn from it. */
  valid: boolean
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

/** A proposal with everything that the updates need; p_i is 0 where there is a flaw. */
export interface Scored extends Proposal, Lesson {
  flaw: Flaw | null
  fate: Fate
  /** Questions of the history that this one repeats. */
  duplicates: number
  difficulty: number
  diversity: number
  /** r^p_i */
  reward: number
  /** Within the text's questions. */
  advantage: number
}

/** A question of the buffer with fresh answers. */
export interface Revisited extends Lesson {
  entry: BufferedQuestion
}

/** The scored questions of one knowledge text and the verdict of the skip rules on them. */
export interface Batch {
  questions: Scored[]
  /** Roles that may learn from this text. */
  trains: { proposer: boolean; solver: boolean }
}

export function isWellFormed({ question, answer }: Question): boolean {
  return question !== '' && answer !== ''
}
