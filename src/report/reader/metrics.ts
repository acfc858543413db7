/**
 * The lines of metrics.jsonl as columns: one typed array a metric, NaN where a round did not write it, and infinity where
 * it wrote null, which stands for a number that was not finite.
 */
import type { MetricColumn, MetricsAnswer, MetricsQuery } from '../api/metrics.js'
import type { MetricInfo } from '../api/run.js'
import { type Follower, Tail } from './tail.js'

const POINTS = 1000
export const MOST_POINTS = 20_000

export class MetricsIndex implements Follower {
  /** Rows: lines of the file, round 0 included. */
  rows = 0
  /** How often the file was found cut or replaced. */
  resets = 0
  readonly tail: Tail
  #steps = new Int32Array(256)
  #columns = new Map<string, Float64Array>()

  constructor(root: string) {
    this.tail = new Tail(root, 'metrics.jsonl')
  }

  read(): Promise<boolean> {
    return this.tail.read(this)
  }

  add({ step, ...metrics }: Record<string, unknown>): void {
    if (typeof step !== 'number' || !Number.isInteger(step) || step < 0) {
      this.tail.damaged++
      return
    }
    // A round that is there twice was played again.
    while (this.rows > 0 && this.#steps[this.rows - 1]! >= step) this.#drop()
    if (this.rows === this.#steps.length) this.#grow()
    const row = this.rows++
    this.#steps[row] = step
    for (const [name, value] of Object.entries(metrics)) {
      if (typeof value === 'number') this.#column(name)[row] = value
      else if (value === null) this.#column(name)[row] = Number.POSITIVE_INFINITY
    }
  }

  clear(): void {
    if (this.rows > 0) this.resets++
    this.rows = 0
    this.#columns = new Map()
  }

  get names(): string[] {
    return [...this.#columns.keys()]
  }

  /** Round of the last row; -1 where there is none. */
  get lastRound(): number {
    return this.rows === 0 ? -1 : this.#steps[this.rows - 1]!
  }

  round(row: number): number {
    return this.#steps[row]!
  }

  /** Row of a round, or -1. */
  rowOf(round: number): number {
    const row = this.#firstFrom(round)
    return row < this.rows && this.#steps[row] === round ? row : -1
  }

  /** NaN where the row has no number for the metric. */
  value(name: string, row: number): number {
    return this.written(name, row) ?? Number.NaN
  }

  /** As written: null for what was not finite, undefined where the row says nothing. */
  written(name: string, row: number): number | null | undefined {
    const value = this.#columns.get(name)?.[row]
    if (value === undefined || Number.isNaN(value)) return undefined
    return Number.isFinite(value) ? value : null
  }

  sum(name: string): number {
    const column = this.#columns.get(name)
    let sum = 0
    for (let row = 0; column && row < this.rows; row++) if (Number.isFinite(column[row])) sum += column[row]!
    return sum
  }

  /** @param roles names of roles that metric names may begin with. */
  describe(roles: readonly string[]): MetricInfo[] {
    return [...this.#columns].map(([name, column]) => {
      let count = 0
      let last = Number.NaN
      for (let row = 0; row < this.rows; row++) {
        if (Number.isNaN(column[row]!)) continue
        count++
        last = column[row]!
      }
      const first = name.slice(0, name.indexOf('/'))
      return { name, role: roles.includes(first) ? first : null, count, last: rounded(last) }
    })
  }

  query({ names, from = 0, to = Number.MAX_SAFE_INTEGER, points = POINTS }: MetricsQuery): MetricsAnswer {
    const begin = this.#firstFrom(from)
    const end = this.#firstFrom(to + 1)
    const rows = end - begin
    const most = Math.min(rows, Math.max(1, points), MOST_POINTS)
    const cuts = Array.from(
      { length: most + 1 },
      (_, i) => begin + Math.round((i * rows) / Math.max(1, most)),
    )
    const known = [...new Set(names)].filter((name) => this.#columns.has(name))
    return {
      from: cuts.slice(0, -1).map((row) => this.#steps[row]!),
      to: cuts.slice(1).map((row) => this.#steps[row - 1]!),
      columns: Object.fromEntries(
        known.map((name) => [name, bucketed(this.#columns.get(name)!, cuts, most === rows)]),
      ),
    }
  }

  /** First row whose round is not below `round`. */
  #firstFrom(round: number): number {
    let low = 0
    let high = this.rows
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#steps[middle]! < round) low = middle + 1
      else high = middle
    }
    return low
  }

  #column(name: string): Float64Array {
    const known = this.#columns.get(name)
    if (known) return known
    const column = new Float64Array(this.#steps.length).fill(Number.NaN)
    this.#columns.set(name, column)
    return column
  }

  #drop(): void {
    this.rows--
    for (const column of this.#columns.values()) column[this.rows] = Number.NaN
  }

  #grow(): void {
    const steps = new Int32Array(2 * this.#steps.length)
    steps.set(this.#steps)
    this.#steps = steps
    for (const [name, column] of this.#columns) {
      const larger = new Float64Array(steps.length).fill(Number.NaN)
      larger.set(column)
      this.#columns.set(name, larger)
    }
  }
}

/** Mean, lowest and highest of the rows between neighbouring cuts. */
function bucketed(column: Float64Array, cuts: readonly number[], isWhole: boolean): MetricColumn {
  const mean: (number | null)[] = []
  const min: (number | null)[] = []
  const max: (number | null)[] = []
  for (let i = 1; i < cuts.length; i++) {
    let [sum, count, low, high] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let row = cuts[i - 1]!; row < cuts[i]!; row++) {
      const value = column[row]!
      if (!Number.isFinite(value)) continue
      sum += value
      count++
      if (value < low) low = value
      if (value > high) high = value
    }
    mean.push(rounded(sum / count))
    min.push(rounded(low))
    max.push(rounded(high))
  }
  return isWhole ? { mean } : { mean, min, max }
}

/** Seven digits, which is more than a chart can show and half of what JSON would write; null where not finite. */
export function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(7)) : null
}
