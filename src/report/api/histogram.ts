/** How numbers of rollouts are spread, over rounds. */
import type { Coverage } from './rollouts.js'
import type { Band } from './run.js'

export interface HistogramQuery {
  /** `pass_rate` of proposed questions; `reward`, `advantage` or `tokens` of a role's rollouts. */
  of: 'pass_rate' | 'reward' | 'advantage' | 'tokens'
  /** Needed for all but `pass_rate`. */
  role?: string
  from?: number
  to?: number
  /** Most columns (groups of rounds); 200 where absent. */
  columns?: number
}

export interface HistogramAnswer {
  /** Role whose rollouts are counted, and the filter that lists those of a bin. */
  role: string
  filter: 'rate' | 'reward' | 'advantage' | 'tokens'
  /**
   * Bin i holds values with edges[i] <= value < edges[i+1]. Values that are likely (shares of so many answers, round
   * numbers) lie in the middle of bins: the first edge may be below 0 and the last above 1.
   */
  edges: number[]
  /** First and last round of each column. */
  from: number[]
  to: number[]
  /** counts[column][bin]. */
  counts: number[][]
  band: Band | null
  coverage: Coverage
}
