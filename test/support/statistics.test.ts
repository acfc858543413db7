import { describe, expect, it } from 'vitest'
import { chiSquareP, upperGamma } from './statistics.js'

describe('chi-square test', () => {
  it('gives the tail probabilities of the printed tables', () => {
    for (const [freedom, statistic, tail] of [
      [1, 3.841459, 0.05],
      [2, 9.21034, 0.01],
      [10, 18.307038, 0.05],
      [10, 3.940299, 0.95],
      [50, 86.660815, 0.001],
    ] as const) {
      expect(upperGamma(freedom / 2, statistic / 2)).toBeCloseTo(tail, 6)
    }
  })

  it('accepts what was expected and refuses what was not', () => {
    expect(chiSquareP([250, 251, 499], [0.25, 0.25, 0.5])).toBeGreaterThan(0.9)
    expect(chiSquareP([320, 251, 429], [0.25, 0.25, 0.5])).toBeLessThan(1e-5)
    expect(chiSquareP([999, 1], [1, 0])).toBe(0)
  })
})
