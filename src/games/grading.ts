/** Comparisons of a round, collected so that the grader is called once for all of them. */
import type { GradeCase, Grader, Verdict } from '../grader/grader.js'

export interface Comparisons {
  /** Adds cases; what comes back gives their verdicts, in their order, once `grade` is done. */
  add(cases: readonly GradeCase[]): () => Verdict[]
  grade(grader: Grader): Promise<void>
}

export function comparisons(): Comparisons {
  const all: GradeCase[] = []
  let verdicts: Verdict[] = []
  return {
    add(cases) {
      const from = all.length
      all.push(...cases)
      return () => verdicts.slice(from, from + cases.length)
    },
    async grade(grader) {
      if (all.length > 0) verdicts = await grader.grade(all)
    },
  }
}

/** Every text against one gold answer. */
export function against(gold: string, texts: readonly { text: string }[]): GradeCase[] {
  return texts.map(({ text }) => ({ gold, prediction: text }))
}
