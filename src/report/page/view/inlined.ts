/** What a single-file report carries, and how it answers from it. */
import type { ArenaAnswer } from '../../api/arena.js'
import type { HistogramAnswer } from '../../api/histogram.js'
import type { JudgingAnswer } from '../../api/judging.js'
import type { Match } from '../../api/match.js'
import type { AnchorsAnswer, MetricsAnswer } from '../../api/metrics.js'
import type { RolloutRef, RolloutRow, RolloutsAnswer, RolloutsQuery } from '../../api/rollouts.js'
import type { RunDetail } from '../../api/run.js'

export interface Inlined {
  run: RunDetail
  /** Every metric, thinned. */
  metrics: MetricsAnswer
  anchors: AnchorsAnswer
  /** By `of`, and the role where it is of one. */
  histograms: Record<string, HistogramAnswer>
  judging: JudgingAnswer | null
  arena: ArenaAnswer | null
  /** Sampled rollouts, every one of them in a match below. */
  rows: RolloutRow[]
  matches: Match[]
  /** What was left out to keep the file small. */
  note: string | null
}

export const histogramKey = (of: string, role?: string): string => (role ? `${of} ${role}` : of)

export const sameRef = (a: RolloutRef, b: RolloutRef): boolean =>
  a.round === b.round && a.role === b.role && a.line === b.line

/** Every rollout of a match that can be looked at alone. */
export function rolloutsOf(match: Match) {
  return [
    ...(match.birth ? [match.birth.proposal] : []),
    ...match.answers,
    ...match.revisions,
    ...match.critiques.map(({ rollout }) => rollout),
    ...[...match.chains.flatMap(({ slices }) => slices), ...match.references].flatMap(({ verdicts }) =>
      verdicts.map(({ rollout }) => rollout),
    ),
  ]
}

/** Points that lie in some rounds. */
export function metricsBetween(
  all: MetricsAnswer,
  names: readonly string[],
  from = 0,
  to = Infinity,
): MetricsAnswer {
  const kept = all.from.flatMap((first, i) => (all.to[i]! >= from && first <= to ? i : []))
  const pick = <T>(values: readonly T[]) => kept.map((i) => values[i]!)
  const columns = names.flatMap((name) => {
    const column = all.columns[name]
    if (column === undefined) return []
    const { mean, min, max } = column
    return [[name, { mean: pick(mean), ...(min && max && { min: pick(min), max: pick(max) }) }] as const]
  })
  return { from: pick(all.from), to: pick(all.to), columns: Object.fromEntries(columns) }
}

/** The rows that a query asks for; the cursor is the place of the next one. */
export function filterRows(rows: readonly RolloutRow[], query: RolloutsQuery): RolloutsAnswer {
  const inRounds = rows.filter(({ round }) => round >= (query.from ?? 0) && round <= (query.to ?? Infinity))
  const found = inRounds.filter((row) => matches(row, query)).sort(comparison(query))
  const at = Number(query.cursor ?? 0)
  const next = at + (query.limit ?? 50)
  const rounds = new Set(inRounds.map(({ round }) => round)).size
  return {
    rows: found.slice(at, next),
    total: found.length,
    cursor: next < found.length ? String(next) : null,
    coverage: { read: rounds, of: rounds },
    roles: [...new Set(inRounds.map(({ role }) => role))],
    outcomes: [...new Set(inRounds.flatMap(({ outcome }) => outcome ?? []))].sort(),
  }
}

function matches(row: RolloutRow, query: RolloutsQuery): boolean {
  const text = query.text?.toLowerCase()
  const within = (value: number | null, ends: [number, number] | undefined) =>
    ends === undefined || (value !== null && value >= ends[0] && value < ends[1])
  return (
    (query.role === undefined || row.role === query.role) &&
    (query.outcome === undefined || row.outcome === query.outcome) &&
    (query.stop === undefined || row.stop === query.stop) &&
    (query.trained === undefined || row.trained === query.trained) &&
    within(row.reward, query.reward) &&
    within(row.rate, query.rate) &&
    within(row.advantage, query.advantage) &&
    within(row.tokens, query.tokens) &&
    (!text || `${row.question ?? ''}\n${row.text}`.toLowerCase().includes(text))
  )
}

function comparison({ order = 'new', seed = 0 }: RolloutsQuery): (a: RolloutRow, b: RolloutRow) => number {
  const place = (a: RolloutRow, b: RolloutRow) => a.line - b.line
  const worst = (row: RolloutRow) => row.reward ?? 0
  if (order === 'best') return (a, b) => worst(b) - worst(a) || b.round - a.round || place(a, b)
  if (order === 'worst') return (a, b) => worst(a) - worst(b) || b.round - a.round || place(a, b)
  if (order === 'old') return (a, b) => a.round - b.round || place(a, b)
  if (order === 'random') return (a, b) => scatter(a, seed) - scatter(b, seed) || place(a, b)
  return (a, b) => b.round - a.round || place(a, b)
}

/** A number that looks drawn, the same for the same rollout and seed. */
function scatter({ round, role, line }: RolloutRow, seed: number): number {
  let hash = 2166136261 ^ seed
  for (const character of `${round} ${role} ${line}`) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 16777619)
  }
  return Math.imul(hash ^ (hash >>> 15), 2246822519) >>> 0
}
