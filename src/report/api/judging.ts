/** Judges: GAR's discriminator, the critic. */
import type { Coverage } from './rollouts.js'

export interface JudgingQuery {
  from?: number
  to?: number
}

export interface JudgingAnswer {
  role: string
  /** What was judged, by what it truly is: references, right and wrong, planted errors and their twins. */
  verdicts: VerdictRow[]
  /** How far p_YES means what it says; of what has a score. */
  reliability: Reliability[]
  /** How well scores tell right from wrong, from (0, 0) to (1, 1). */
  roc: Roc[]
  /** Critic only. */
  planted: Planted | null
  coverage: Coverage
}

export interface VerdictRow {
  kind: 'reference' | 'right' | 'wrong' | 'generated' | 'planted' | 'twin'
  yes: number
  no: number
  /** Verdicts that could not be read. */
  unread: number
}

export interface Reliability {
  /** What a score is taken as a forecast of. */
  of: 'reference' | 'right'
  n: number
  /** Ten bins of equal width over 0 .. 1; nulls where a bin is empty. */
  bins: { n: number; score: number | null; outcome: number | null }[]
}

export interface Roc {
  of: 'reference' | 'right'
  positives: number
  negatives: number
  auc: number
  /** False and true positive rates. */
  points: { fpr: number; tpr: number }[]
}

/** Of critiques of planted errors and of their untouched twins. */
export interface Planted {
  errors: number
  /** Called WRONG; FIRST_ERROR is the changed step. */
  called: number
  located: number
  twins: number
  /** Twins called WRONG. */
  falseAlarms: number
  /** Over rounds, thinned to 200 points. */
  recall: { from: number; to: number; errors: number; located: number }[]
}
