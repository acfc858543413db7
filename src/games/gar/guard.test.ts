import { describe, expect, it } from 'vitest'
import { freshGuard, type Guard, watch } from './guard.js'

const settings = { guard_rounds: 20, guard_margin: 0.05 }
const guardAfter = (rates: readonly number[], given = settings): Guard =>
  rates.reduce((guard, rate) => watch(guard, rate, given), freshGuard({ lambda3: 1 }))
const times = (n: number, rate: number) => Array.from({ length: n }, () => rate)

describe('the guard', () => {
  it.each([0, 0.04, 0.96, 1])('halves lambda3 after 20 rounds in a row at a share of YES of %d', (rate) => {
    expect(guardAfter(times(19, rate))).toEqual({ lambda3: 1, constant: 19 })
    expect(guardAfter(times(20, rate))).toEqual({ lambda3: 0.5, constant: 0 })
    expect(guardAfter(times(60, rate)).lambda3).toBe(0.125)
  })

  it.each([0.05, 0.5, 0.95])('leaves it where verdicts differ: %d', (rate) => {
    expect(guardAfter(times(100, rate))).toEqual({ lambda3: 1, constant: 0 })
  })

  it('counts from the start again after a round with different verdicts', () => {
    expect(guardAfter([...times(19, 0), 0.5, ...times(19, 0)])).toEqual({ lambda3: 1, constant: 19 })
  })

  it('passes over rounds without verdicts, and rests when it is off', () => {
    expect(guardAfter([...times(10, 0), Number.NaN, ...times(10, 0)]).lambda3).toBe(0.5)
    expect(guardAfter(times(100, 0), { ...settings, guard_rounds: 0 }).lambda3).toBe(1)
  })
})
