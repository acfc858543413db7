/** Decides whether an answer is right. */
import type { Extraction } from './extract/index.js'

export interface GradeCase {
  gold: string
  /** Free text, or a bare answer, as `kind` says. */
  prediction: string
  /**
   * `response`: the answer is taken from the text as the grader's `extract` setting says. `answer`: the text is the
   * answer. @default 'response'
   */
  kind?: 'response' | 'answer'
  /** Values of the choices A, B, C ... where the problem offers some: a letter then equals its value. */
  choices?: string[]
}

export interface Verdict {
  equal: boolean
  /** What was taken from the prediction, null when nothing was. */
  extracted: string | null
  /** What told the answer: a box, a tag, a phrase ...; see `Extraction`. */
  from?: Extraction['from']
  reason: 'equal' | 'different' | 'no_answer' | 'unparsable_gold' | 'timeout' | 'error'
  ms: number
}

export interface Grader {
  /** Grades predictions against gold answers; order is kept. Never throws for what an answer holds. */
  grade(cases: GradeCase[]): Promise<Verdict[]>
  close(): Promise<void>
}
