/** The tournament of a run's snapshots as the page shows it. */

/** A player of the tournament: a role as it was after a round. */
export interface ArenaPlayer {
  role: string
  round: number
}

export interface Rating extends ArenaPlayer {
  elo: number
  low: number
  high: number
}

/** Cell [i][j]: how row i fared against column j, 0 .. 1; null where they did not meet. */
export interface ArenaAnswer {
  rows: ArenaPlayer[]
  columns: ArenaPlayer[]
  scores: (number | null)[][]
  games: (number | null)[][]
  ratings: Rating[]
  /** What a score is. */
  meaning: string
}
