/** Means over seeds, how far seeds spread, and what may be said of a difference between them. */
import { mean, std } from '../../src/games/grpo/advantages.js'

export interface Spread {
  mean: number
  /** Standard deviation over the values, n - 1 below the variance; 0 of one. */
  sd: number
  /** Half the width of the 95 % interval of the mean (Student's t); infinite for one value. */
  half: number
  values: readonly number[]
}

export function spreadOf(values: readonly number[]): Spread {
  const sd = std(values)
  const half =
    values.length < 2 ? Number.POSITIVE_INFINITY : t95(values.length - 1) * (sd / Math.sqrt(values.length))
  return { mean: mean(values), sd, half, values }
}

/** The middle value, and how far the others lie from it. */
export interface Range {
  median: number
  least: number
  most: number
}

export function rangeOf(values: readonly number[]): Range {
  const sorted = [...values].sort((a, b) => a - b)
  const [below, above] = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!]
  return { median: (below + above) / 2, least: sorted[0]!, most: sorted.at(-1)! }
}

/** Mean of a minus mean of b, with half the width of its 95 % interval (Welch 1947). */
export function difference(a: readonly number[], b: readonly number[]): { mean: number; half: number } {
  const [va, vb] = [a, b].map((values) => std(values) ** 2 / values.length) as [number, number]
  const gap = mean(a) - mean(b)
  if (a.length < 2 || b.length < 2) return { mean: gap, half: Number.POSITIVE_INFINITY }
  if (va + vb === 0) return { mean: gap, half: 0 }
  const freedom = (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1))
  return { mean: gap, half: t95(Math.max(1, Math.floor(freedom))) * Math.sqrt(va + vb) }
}

/** Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom. */
const quantiles = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]

/** That of ten degrees serves for more as well: seeds are few, and it errs to the wide side. */
function t95(freedom: number): number {
  return quantiles[Math.min(freedom, quantiles.length) - 1]!
}

/** A share in per cent, or a difference of shares in points. */
export const points = (share: number) => (100 * share).toFixed(1)

/** Mean ± standard deviation, in points. */
export const plusMinus = ({ mean, sd }: Spread) => `${points(mean)} ± ${points(sd)}`
