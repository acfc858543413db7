/** Cross-play. */

/** Snapshots of both roles against each other, as sparring arena left it. */
export interface ArenaAnswer {
  setter: string
  taker: string
  /** What earns the taker a point. */
  point: string
  /** Rounds whose snapshots played; 0 is the start. */
  rounds: number[]
  /** cells[i][j]: the taker of rounds[i] on the tasks of the setter of rounds[j]; 95 % intervals. */
  cells: { score: number | null; low: number | null; high: number | null; n: number }[][]
  /** Over rounds; the taker of the first has 1000. */
  elo: { setter: EloRating[]; taker: EloRating[] }
}

export interface EloRating {
  elo: number
  low: number
  high: number
}
