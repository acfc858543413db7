/** Addresses of the answers, and what one holds that says no. */
import type { HistogramQuery } from './histogram.js'
import type { JudgingQuery } from './judging.js'
import type { MetricsQuery } from './metrics.js'
import type { RolloutRef, RolloutsQuery } from './rollouts.js'

/** What an answer with a status of 400 or above holds. */
export interface ApiError {
  error: string
  hint: string | null
}

/** Addresses of the answers. The single-file report keys the JSON that it carries by them. */
export const address = {
  runs: (): string => '/api/runs',
  run: (run: string): string => at(run),
  metrics: (run: string, query: MetricsQuery): string => `${at(run)}/metrics${search(query)}`,
  anchors: (run: string): string => `${at(run)}/anchors`,
  histogram: (run: string, query: HistogramQuery): string => `${at(run)}/histogram${search(query)}`,
  judging: (run: string, query: JudgingQuery = {}): string => `${at(run)}/judging${search(query)}`,
  rollouts: (run: string, query: RolloutsQuery = {}): string => `${at(run)}/rollouts${search(query)}`,
  rollout: (run: string, ref: RolloutRef): string => `${at(run)}/rollout${search(refOf(ref))}`,
  match: (run: string, ref: RolloutRef): string => `${at(run)}/match${search(refOf(ref))}`,
  /** Null where no tournament was played. */
  arena: (run: string): string => `${at(run)}/arena`,
  compare: (runs: readonly string[]): string => `/api/compare${search({ runs })}`,
  /** Rounds after `since` are told at once, so that none is missed between an answer and the stream. */
  events: (run?: string, since?: number): string => `/api/events${search({ run, since })}`,
}

function at(run: string): string {
  return `/api/runs/${encodeURIComponent(run)}`
}

/** Values of an array are separated by commas, each encoded for itself. */
function search(query: object): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => {
    if (value === undefined) return []
    const text = Array.isArray(value)
      ? value.map((each) => encodeURIComponent(each)).join(',')
      : encodeURIComponent(value)
    return [`${key}=${text}`]
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Of a row of a list, too, which holds more. */
const refOf = ({ round, role, line }: RolloutRef) => ({ round, role, line })
