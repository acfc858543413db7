/** A match: one question from its birth to the update that used it. */
import type { Part, Rollout, RolloutRef, RolloutRow } from './rollouts.js'
import type { Band } from './run.js'

export interface Match {
  run: string
  game: string | null
  round: number
  /** The rollout that was asked for; it is among those below. */
  at: RolloutRef
  /** The question or problem as put to the answerer; null where none could be read. */
  question: string | null
  /** What answers are compared with, and where it comes from. */
  label: { text: string; from: 'author' | 'majority' | 'known' } | null
  /** True answer where the run's world knows it; it touches no reward. */
  truth: string | null
  /** GAR: a worked solution of the problem. */
  solution: string | null
  birth: Birth | null
  checks: Check[]
  /** Pass rate, or the majority's share, with the band it must lie in. */
  rate: number | null
  band: Band | null
  answers: Rollout[]
  /** Second answers, after a critique. */
  revisions: Rollout[]
  /** Critic: what it said of each solution, planted errors and twins among them. */
  critiques: Critique[]
  /** GAR: each answer in slices with their verdicts, and the references judged beside them. */
  chains: Chain[]
  references: JudgedSlice[]
  /** GAR: slices that traces are cut to, where they are; null where they go to the end. */
  partial: number | null
  updates: Update[]
  /** Most rollouts of a role that are shown, where there are more; null where all are. */
  cutAt: number | null
  /** Other rounds in which the same question was played: later draws from a buffer or pool. */
  elsewhere: RolloutRef[]
}

/** Where a question comes from. */
export interface Birth {
  /** Round of the proposal; before the match's round where the question was drawn from a buffer or pool. */
  round: number
  proposal: Rollout
  /** Text that it was proposed from; null where the prompt shows none. */
  knowledge: string | null
  /** The other proposals from the same text, which it was compared with. */
  rivals: RolloutRow[]
}

/** What was checked of a question. */
export interface Check {
  name: 'well_formed' | 'no_leak' | 'not_too_long' | 'in_band' | 'new' | 'label_true'
  /** Null where it could not be checked. */
  passed: boolean | null
  /** What was found: a flaw, a count, a rate. */
  found: Part
}

export interface Critique {
  of: 'solution' | 'planted' | 'twin'
  /** Index of the answer that is judged, or from which the exhibit was made. */
  answer: number | null
  /** Whether the exhibit is right, and the step that holds the planted error. */
  right: boolean | null
  plantedStep: number | null
  saidCorrect: boolean | null
  firstError: number | null
  score: number | null
  rollout: Rollout
}

export interface Chain {
  /** Index in `answers`. */
  answer: number
  slices: ChainSlice[]
}

export interface ChainSlice {
  /** Place in the text of the answer, UTF-16 units; null where the slice could not be found in it. */
  start: number | null
  end: number | null
  /** Number of the slice in the answer. */
  piece: number
  verdicts: Verdict[]
}

export interface JudgedSlice {
  /** As it was shown, with the context before it. */
  shown: string
  verdicts: Verdict[]
}

export interface Verdict {
  verdict: 'YES' | 'NO' | null
  pYes: number | null
  /** The judgment: verdict and rationale are in its text, its reward and advantage beside them. */
  rollout: Rollout
}

/** What a role's policy made of the round. */
export interface Update {
  role: string
  round: number
  /** Whether rollouts of this match were in it. */
  used: boolean
  /** Optimizer steps of the role's policy before and after the round; null where the journal does not say. */
  before: number | null
  after: number | null
  /** Numbers of the role's steps in the round, by metric name without the role. */
  metrics: Record<string, number | null>
  /** Why no update was made, where none was. */
  skipped: string | null
}
