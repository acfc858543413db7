/** 95 % confidence intervals of an accuracy. */

export interface Interval {
  mean: number
  low: number
  high: number
}

const Z = 1.96

/**
 * Of the mean over problems of each problem's share of right samples. With one sample a problem: Wilson's score
 * interval. With more: mean +- 1.96 s / sqrt(n), s the standard deviation of the shares over the n problems, so that
 * samples of one problem do not count as independent; where they are all alike, so that s tells nothing, Wilson's of n
 * problems. NaN where there is no problem.
 */
export function accuracyInterval(shares: readonly number[], samples: number): Interval {
  const n = shares.length
  const mean = shares.reduce((sum, share) => sum + share, 0) / n
  if (n === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN }
  if (samples === 1) return wilson(mean, n)
  if (shares.every((share) => share === shares[0])) return wilson(shares[0]!, n)
  const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / Math.max(1, n - 1)
  const half = Z * Math.sqrt(variance / n)
  return { mean, low: Math.max(0, mean - half), high: Math.min(1, mean + half) }
}

/** Interval of a share of n; Wilson (1927): the p for which |mean - p| <= z sqrt(p (1 - p) / n). */
export function wilson(mean: number, n: number): Interval {
  const z2 = Z * Z
  const centre = (mean + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z / (1 + z2 / n)) * Math.sqrt((mean * (1 - mean)) / n + z2 / (4 * n * n))
  return { mean, low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}
