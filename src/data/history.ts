/**
 * The history H of PasoDoble's diversity reward (arXiv 2511.11881, methods 1.3 of the released code): the sets of token
 * ids of the last questions, first in first out.
 */
export interface HistoryState {
  capacity: number
  /** Sorted unique ids of each question, oldest first. */
  questions: number[][]
}

export class QuestionHistory {
  readonly #capacity: number
  #questions: Int32Array[] = []

  /** @param capacity questions remembered, at least 1. The released code keeps 100. */
  constructor(capacity = 100) {
    this.#capacity = capacity
  }

  /** |H|. */
  get size(): number {
    return this.#questions.length
  }

  /** Remembers a question by its token ids; the oldest beyond the capacity is forgotten. */
  push(ids: ArrayLike<number>): void {
    this.#questions.push(tokenSet(ids))
    if (this.#questions.length > this.#capacity) this.#questions.shift()
  }

  /** #{h in H : J(q, h) > tauSim}, for the question with these token ids. A similarity of exactly tauSim is none. */
  duplicates(ids: ArrayLike<number>, tauSim: number): number {
    const question = tokenSet(ids)
    return this.#questions.filter((remembered) => jaccard(question, remembered) > tauSim).length
  }

  toJSON(): HistoryState {
    return { capacity: this.#capacity, questions: this.#questions.map((ids) => [...ids]) }
  }

  static fromJSON({ capacity, questions }: HistoryState): QuestionHistory {
    const history = new QuestionHistory(capacity)
    for (const ids of questions) history.push(ids)
    return history
  }
}

/** J(a, b) = |a ∩ b| / |a ∪ b| of sorted arrays of unique ids; 1 for two empty ones. */
export function jaccard(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let shared = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = a[i]! - b[j]!
    if (difference === 0) shared++
    if (difference <= 0) i++
    if (difference >= 0) j++
  }
  const union = a.length + b.length - shared
  return union === 0 ? 1 : shared / union
}

function tokenSet(ids: ArrayLike<number>): Int32Array {
  return Int32Array.from(new Set(Array.from(ids))).sort()
}
