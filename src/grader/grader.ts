/** Decides whether an answer is right. */
export interface Verdict {
  equal: boolean
  /** What was taken from the prediction, null when nothing was. */
  extracted: string | null
  reason: 'equal' | 'different' | 'no_answer' | 'unparsable_gold' | 'timeout' | 'error'
  ms: number
}

export interface Grader {
  /** Grades free-text predictions (the last balanced \boxed is taken) against gold answers; order is kept. Never throws for what an answer holds. */
  grade(cases: { gold: string; prediction: string }[]): Promise<Verdict[]>
  close(): Promise<void>
}
