/** Reference slices: p_ref of the method, cut from worked solutions exactly as completions are. */
import type { RandomStream } from '../../core/random.js'

/** A slice as it is shown, and the question it is about. */
export interface Reference {
  question: string
  shown: string
  /** Where the slice itself begins in what is shown. */
  from: number
}

/** A worked solution and the problem it solves. */
export interface Solution {
  question: string
  text: string
}

/** Solutions in a row that may be without slices. */
const PATIENCE = 100

/**
 * Draws references. Solutions are cut when they are first drawn from; of what a large file holds, a run needs little.
 */
export class References {
  readonly #slices = new Map<Solution, Reference[]>()

  /**
   * @param solutions of each problem, by the problem's number, or one pool for all.
   * @param cut slices of a solution, alone and as they are shown.
   */
  constructor(
    private readonly solutions: { of: readonly (readonly Solution[])[] } | { pool: readonly Solution[] },
    private readonly cut: (text: string) => { shown: string; text: string }[],
  ) {}

  /**
   * n references for a problem: of its own solutions without repetition as far as they reach, else with; of the pool
   * with repetition. A problem without solutions has none.
   */
  draw(problem: number, n: number, stream: RandomStream): Reference[] {
    if ('pool' in this.solutions) {
      const { pool } = this.solutions
      return Array.from({ length: n }, () => this.#ofPool(pool, stream)).flat()
    }
    const own = (this.solutions.of[problem] ?? []).flatMap((solution) => this.#of(solution))
    if (own.length === 0) return []
    if (own.length >= n) return stream.shuffle(own).slice(0, n)
    return Array.from({ length: n }, () => stream.pick(own))
  }

  /** A slice of a random solution; none where luck finds only solutions without any. */
  #ofPool(pool: readonly Solution[], stream: RandomStream): Reference[] {
    for (let attempt = 0; attempt < PATIENCE && pool.length > 0; attempt++) {
      const slices = this.#of(stream.pick(pool))
      if (slices.length > 0) return [stream.pick(slices)]
    }
    return []
  }

  #of(solution: Solution): Reference[] {
    const known = this.#slices.get(solution)
    if (known) return known
    const { question, text } = solution
    const slices = this.cut(text).map((slice) => ({
      question,
      shown: slice.shown,
      from: slice.shown.length - slice.text.length,
    }))
    this.#slices.set(solution, slices)
    return slices
  }
}
