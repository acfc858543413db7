/** Where the page's data comes from: the server of `sparring ui`, or what a single-file report carries. */
import type { ArenaAnswer } from '../../api/arena.js'
import type { HistogramAnswer, HistogramQuery } from '../../api/histogram.js'
import type { JudgingAnswer } from '../../api/judging.js'
import type { LiveEvent } from '../../api/live.js'
import type { Match } from '../../api/match.js'
import type { AnchorsAnswer, MetricsAnswer, MetricsQuery } from '../../api/metrics.js'
import type { Rollout, RolloutRef, RolloutsAnswer, RolloutsQuery } from '../../api/rollouts.js'
import type { Comparison, RunDetail, RunsAnswer } from '../../api/run.js'

export interface Source {
  /** What is left out, where the data is a part of the run; null for a live server. */
  readonly note: string | null
  /** The only run, of a report. */
  readonly only: string | null
  runs(): Promise<RunsAnswer>
  run(run: string): Promise<RunDetail>
  metrics(run: string, query: MetricsQuery): Promise<MetricsAnswer>
  anchors(run: string): Promise<AnchorsAnswer>
  histogram(run: string, query: HistogramQuery): Promise<HistogramAnswer>
  judging(run: string): Promise<JudgingAnswer>
  rollouts(run: string, query: RolloutsQuery): Promise<RolloutsAnswer>
  rollout(run: string, ref: RolloutRef): Promise<Rollout>
  match(run: string, ref: RolloutRef): Promise<Match>
  /** Null where the run has no tournament. */
  arena(run: string): Promise<ArenaAnswer | null>
  compare(runs: readonly string[]): Promise<Comparison>
  /** Hears what happens, of all runs and of one; the function that ends it. */
  listen(run: string | undefined, hear: (event: LiveEvent) => void): () => void
}

/** An answer that could not be had, with what to do next where that is known. */
export class SourceError extends Error {
  readonly hint: string | null
  readonly status: number

  constructor(message: string, hint: string | null, status: number) {
    super(message)
    this.hint = hint
    this.status = status
  }
}
