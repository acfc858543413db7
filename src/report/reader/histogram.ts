/** How values are spread, round by round. */

import type { HistogramAnswer, HistogramQuery } from '../api/histogram.js'
import type { Coverage } from '../api/rollouts.js'
import type { MetricsIndex } from './metrics.js'
import { answersOf, bandOf, type Config, roleOf } from './parts.js'
import type { File, RolloutStore } from './store.js'

const COLUMNS = 200
export const MOST_COLUMNS = 2000
const BINS = 20

interface Run {
  config: Config
  metrics: MetricsIndex
  store: RolloutStore
}

export async function histogram(run: Run, query: HistogramQuery): Promise<HistogramAnswer> {
  const band = query.of === 'pass_rate' ? bandOf(run.config) : null
  const role = query.role ?? roleOf(run.config, 'author') ?? roleOf(run.config, 'answerer') ?? ''
  if (query.of === 'pass_rate' && run.config.game !== 'r-zero') {
    const counted = passRates(run.metrics, query)
    if (counted) return { role, filter: 'rate', ...counted, band }
  }
  const filter = query.of === 'pass_rate' ? 'rate' : query.of
  const rounds = run.store.within(query.from, query.to)
  const coverage = await run.store.read(rounds, role)
  const files = [...run.store.files(rounds.reverse(), role)].filter(({ block }) => block.rows > 0)
  const value = ({ block }: File, row: number) =>
    filter === 'tokens' ? block.tokens(row) : block.number(row, filter)
  const edges =
    filter === 'rate' && run.config.game === 'r-zero'
      ? shareEdges(answersOf(run.config) ?? BINS)
      : niceEdges(files, value)
  return { role, filter, edges, ...count(files, value, edges, query.columns), band, coverage }
}

/** From pass_rate/pK, which the games count themselves; undefined where the run has none. */
function passRates(metrics: MetricsIndex, { from, to, columns = COLUMNS }: HistogramQuery) {
  const names: string[] = []
  while (metrics.names.includes(`pass_rate/p${names.length}`)) names.push(`pass_rate/p${names.length}`)
  if (names.length < 2) return undefined
  const rows: number[] = []
  for (let row = 0; row < metrics.rows; row++) {
    const round = metrics.round(row)
    const isWithin = round >= (from ?? 0) && round <= (to ?? round)
    if (isWithin && !Number.isNaN(metrics.value(names[0]!, row))) rows.push(row)
  }
  const groups = grouped(rows, columns)
  return {
    edges: shareEdges(names.length - 1),
    from: groups.map((group) => metrics.round(group[0]!)),
    to: groups.map((group) => metrics.round(group.at(-1)!)),
    counts: groups.map((group) =>
      names.map((name) => group.reduce((sum, row) => sum + (metrics.value(name, row) || 0), 0)),
    ),
    coverage: { read: rows.length, of: rows.length } satisfies Coverage,
  }
}

/** A bin for each of the shares 0/n .. n/n, which lies in its middle. */
function shareEdges(n: number): number[] {
  return Array.from({ length: n + 2 }, (_, k) => (k - 0.5) / n)
}

/** About twenty bins around round numbers, from the least value to the largest. */
function niceEdges(files: readonly File[], value: (file: File, row: number) => number): number[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const file of files) {
    for (let row = 0; row < file.block.rows; row++) {
      const x = value(file, row)
      if (!Number.isFinite(x)) continue
      if (x < low) low = x
      if (x > high) high = x
    }
  }
  if (!(high >= low)) return [-0.5, 0.5]
  const step = high === low ? 1 : niceStep((high - low) / BINS)
  const first = Math.round(low / step)
  const bins = Math.round(high / step) - first + 1
  return Array.from({ length: bins + 1 }, (_, k) => Number(((first + k - 0.5) * step).toPrecision(12)))
}

/** The least of 1, 2 and 5 times a power of ten that is not below the value. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((digit) => digit * power >= value) ?? 10) * power
}

function count(
  files: readonly File[],
  value: (file: File, row: number) => number,
  edges: readonly number[],
  columns: number | undefined,
) {
  const step = edges[1]! - edges[0]!
  const last = edges.length - 2
  const groups = grouped(files, columns)
  return {
    from: groups.map((group) => group[0]!.round),
    to: groups.map((group) => group.at(-1)!.round),
    counts: groups.map((group) => {
      const counts = new Array<number>(last + 1).fill(0)
      for (const file of group) {
        for (let row = 0; row < file.block.rows; row++) {
          const bin = Math.floor((value(file, row) - edges[0]!) / step)
          if (bin >= 0) counts[Math.min(bin, last)]!++
        }
      }
      return counts
    }),
  }
}

/** Neighbours in groups of nearly equal size, `most` at most. */
export function grouped<T>(items: readonly T[], most = COLUMNS): T[][] {
  const groups = Math.min(items.length, Math.max(1, most), MOST_COLUMNS)
  const cut = (i: number) => Math.round((i * items.length) / groups)
  return Array.from({ length: groups }, (_, i) => items.slice(cut(i), cut(i + 1)))
}
