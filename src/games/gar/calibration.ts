/** Does a probability mean what it says? */
import { mean } from '../grpo/advantages.js'

/** A predicted probability and what came true. */
export interface Forecast {
  probability: number
  outcome: 0 | 1
}

const BINS = 10

/** Mean of (p - y)²: 0 is perfect, 0.25 is what p = 1/2 always gets. NaN of nothing. */
export function brierScore(forecasts: readonly Forecast[]): number {
  return mean(forecasts.map(({ probability, outcome }) => (probability - outcome) ** 2))
}

/**
 * Expected calibration error: sum over ten bins of p of equal width of (share of forecasts in the bin) x
 * |mean of p - mean of y|, in [0, 1]. NaN of nothing.
 */
export function calibrationError(forecasts: readonly Forecast[]): number {
  if (forecasts.length === 0) return Number.NaN
  const bins = Array.from({ length: BINS }, (): Forecast[] => [])
  for (const forecast of forecasts) {
    bins[Math.min(BINS - 1, Math.floor(forecast.probability * BINS))]!.push(forecast)
  }
  return bins
    .filter((bin) => bin.length > 0)
    .reduce((sum, bin) => {
      const gap = mean(bin.map(({ probability }) => probability)) - mean(bin.map(({ outcome }) => outcome))
      return sum + (bin.length / forecasts.length) * Math.abs(gap)
    }, 0)
}
