/** Curves without their noise. */

/**
 * Exponential moving average, `keep` of the old at every value (0 is none, below 1); corrected for its start, so that the
 * first value is itself. Gaps stay gaps and change nothing.
 */
export function smoothed(values: readonly (number | null)[], keep: number): (number | null)[] {
  if (keep <= 0) return [...values]
  let mean = 0
  let weight = 0
  return values.map((value) => {
    if (value === null) return null
    mean = keep * mean + (1 - keep) * value
    weight = keep * weight + (1 - keep)
    return mean / weight
  })
}
