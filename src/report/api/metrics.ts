/** Numbers over rounds, as columns. */

export interface MetricsQuery {
  names: string[]
  from?: number
  to?: number
  /** Most points to give; 1000 where absent. */
  points?: number
}

/** Columns, one value a point. With more rounds than points, a point stands for several rounds. */
export interface MetricsAnswer {
  /** First and last round that each point stands for; equal where nothing was joined. */
  from: number[]
  to: number[]
  columns: Record<string, MetricColumn>
}

export interface MetricColumn {
  /** Of the rounds of the point that wrote the metric. */
  mean: (number | null)[]
  /** Absent where every point is one round. */
  min?: (number | null)[]
  max?: (number | null)[]
}

/** Measurements outside the game. */
export interface AnchorsAnswer {
  anchors: AnchorSeries[]
}

export interface AnchorSeries {
  /** Metric name, such as heldout/accuracy. */
  name: string
  /** Problems of a measurement, where the run says. */
  n: number | null
  points: { round: number; value: number; low: number; high: number }[]
}
