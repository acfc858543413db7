import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Schedule, scheduledRate, scheduleSchema } from './schedule.js'

const rates = (schedule: Partial<Schedule>, rounds: number, peak = 1) =>
  Array.from({ length: rounds }, (_, round) =>
    scheduledRate(peak, scheduleSchema.parse(schedule), round, rounds),
  )

describe('scheduledRate', () => {
  it('is constant by default', () => {
    expect(scheduleSchema.parse(undefined)).toEqual({ shape: 'constant', warmup: 0, floor: 0 })
    expect(rates({}, 3, 1e-6)).toEqual([1e-6, 1e-6, 1e-6])
  })

  it('rises in equal steps to the peak, then falls in a line to the floor', () => {
    const line = rates({ shape: 'linear', warmup: 0.4, floor: 0.5 }, 5)
    expect(line).toEqual([0.5, 1, 1, 0.75, 0.5])
  })

  it('falls along half a cosine', () => {
    const line = rates({ shape: 'cosine' }, 5)
    const expected = [1, (1 + Math.SQRT1_2) / 2, 0.5, (1 - Math.SQRT1_2) / 2, 0]
    line.forEach((rate, i) => {
      expect(rate).toBeCloseTo(expected[i]!, 12)
    })
  })

  it('stays between 0 and the peak, and never below the floor after the warm-up', () => {
    const schedules = fc.record({
      shape: fc.constantFrom('constant', 'linear', 'cosine'),
      warmup: fc.double({ min: 0, max: 0.99, noNaN: true }),
      floor: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(schedules, fc.integer({ min: 1, max: 40 }), (schedule, rounds) => {
        rates(schedule, rounds).forEach((rate, round) => {
          expect(rate).toBeLessThanOrEqual(1)
          expect(rate).toBeGreaterThanOrEqual(0)
          if (round >= Math.round(schedule.warmup * rounds))
            expect(rate).toBeGreaterThanOrEqual(schedule.floor - 1e-12)
        })
      }),
    )
  })
})
