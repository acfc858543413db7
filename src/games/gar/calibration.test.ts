import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brierScore, calibrationError, type Forecast } from './calibration.js'

const forecast = (probability: number, outcome: 0 | 1): Forecast => ({ probability, outcome })

describe('calibration', () => {
  it('is perfect for what always comes true', () => {
    const sure = [forecast(1, 1), forecast(0, 0), forecast(1, 1)]
    expect([brierScore(sure), calibrationError(sure)]).toEqual([0, 0])
  })

  it('is as worked by hand', () => {
    const forecasts = [forecast(0.9, 1), forecast(0.9, 0), forecast(0.2, 0), forecast(0.25, 1)]
    expect(brierScore(forecasts)).toBeCloseTo((0.01 + 0.81 + 0.04 + 0.5625) / 4, 12)
    expect(calibrationError(forecasts)).toBeCloseTo(0.5 * 0.4 + 0.5 * (0.5 - 0.225), 12)
  })

  it('gives a half for ever a quarter, and no error to a coin', () => {
    const coin = [forecast(0.5, 1), forecast(0.5, 0)]
    expect([brierScore(coin), calibrationError(coin)]).toEqual([0.25, 0])
  })

  it('keeps to 0 .. 1, in any order', () => {
    const all = fc.array(
      fc.record({
        probability: fc.double({ min: 0, max: 1, noNaN: true }),
        outcome: fc.constantFrom<0 | 1>(0, 1),
      }),
      { minLength: 1 },
    )
    fc.assert(
      fc.property(all, (forecasts) => {
        for (const score of [brierScore, calibrationError]) {
          expect(score(forecasts)).toBeGreaterThanOrEqual(0)
          expect(score(forecasts)).toBeLessThanOrEqual(1)
          expect(score([...forecasts].reverse())).toBeCloseTo(score(forecasts), 9)
        }
      }),
    )
  })

  it('says nothing of nothing', () => {
    expect([brierScore([]), calibrationError([])]).toEqual([Number.NaN, Number.NaN])
  })
})
