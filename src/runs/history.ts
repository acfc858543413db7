/** What the metrics so far say: values of a metric over rounds, and what a rollback undid. Pure functions of the lines. */
import type { MetricsLine } from './directory.js'

/** The round that the weights were taken back to after the round of this line, where an alarm did so. */
export const ROLLBACK_TO = 'rollback/to'
/** What learning rates are multiplied with since. */
export const ROLLBACK_RATE = 'rollback/lr_scale'

/** The lines that led to the weights of now: rounds that a rollback undid, and the one that it followed, are left out. */
export function lineage(history: readonly MetricsLine[]): MetricsLine[] {
  const kept: MetricsLine[] = []
  for (const line of history) {
    kept.push(line)
    const to = line[ROLLBACK_TO]
    if (typeof to === 'number') while (kept.length > 0 && kept.at(-1)!.step > to) kept.pop()
  }
  return kept
}

/** Numbers by which a metric was told, oldest first; rounds that did not tell it are passed over. */
export function valuesOf(lines: readonly MetricsLine[], name: string): number[] {
  return lines.map((line) => line[name]).filter((value) => typeof value === 'number')
}

/** The last `n` of them, or undefined where there are not so many. */
export function lastValues(lines: readonly MetricsLine[], name: string, n: number): number[] | undefined {
  const values: number[] = []
  for (let at = lines.length - 1; at >= 0 && values.length < n; at--) {
    const value = lines[at]![name]
    if (typeof value === 'number') values.push(value)
  }
  return values.length < n ? undefined : values.reverse()
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Lines with a measurement of the held-out problems, oldest first. */
export function heldoutLines(lines: readonly MetricsLine[]): MetricsLine[] {
  return lines.filter((line) => typeof line['heldout/accuracy'] === 'number')
}

/** The line of the greatest held-out accuracy, the latest where several are as good. */
export function bestAnchor(lines: readonly MetricsLine[]): MetricsLine | undefined {
  const accuracy = (line: MetricsLine) => Number(line['heldout/accuracy'])
  return heldoutLines(lines).reduce<MetricsLine | undefined>(
    (best, line) => (best === undefined || accuracy(line) >= accuracy(best) ? line : best),
    undefined,
  )
}

/** What learning rates are multiplied with after these rounds. */
export function rateScale(history: readonly MetricsLine[]): number {
  return valuesOf(history, ROLLBACK_RATE).at(-1) ?? 1
}

/** Rounds over which a gap compares rewards. */
const GAP_WINDOW = 5

/**
 * What the reward of a role has gained more than the anchor, since the start: (r - r_0) - (a - a_0), with r the mean of its
 * `reward/mean` over the last five rounds and r_0 over the first five, a the held-out accuracy of now and a_0 of the start.
 * Undefined where the last line has no measurement, or no reward was told yet.
 */
export function rewardGap(lines: readonly MetricsLine[], role: string): number | undefined {
  const now = lines.at(-1)?.['heldout/accuracy']
  const start = heldoutLines(lines)[0]?.['heldout/accuracy']
  const rewards = valuesOf(lines, `${role}/reward/mean`)
  if (typeof now !== 'number' || typeof start !== 'number' || rewards.length === 0) return undefined
  const gained = mean(rewards.slice(-GAP_WINDOW)) - mean(rewards.slice(0, GAP_WINDOW))
  return gained - (now - start)
}
