import { describe, expect, it } from 'vitest'
import { against, ago, bytes, count, duration, number, rounds, signed } from './format.js'

describe('numbers as they are shown', () => {
  it.each([
    [0, '0'],
    [0.12345, '0.123'],
    [-0.5, '−0.5'],
    [12.345, '12.35'],
    [123456, '123456'],
    [1e-8, '1.00e−8'],
    [Number.NaN, '–'],
    [null, '–'],
    [Number.POSITIVE_INFINITY, '∞'],
  ])('%s is %s', (value, shown) => expect(number(value)).toBe(shown))

  it('that are compared have the digits that tell them apart', () => {
    expect(against(0.016628, 0.017186)).toEqual(['0.0166', '0.0172'])
    expect(against(0.00004, 0.0001)).toEqual(['4.00e−5', '0.0001'])
    expect(against(0.10001, 0.1)).toEqual(['0.10001', '0.1'])
    expect(against(-0.5, 0)).toEqual(['−0.5', '0'])
    expect(against(null, 0.3)).toEqual(['–', '0.3'])
    expect(against(1234567, 3)).toEqual(['1.23e+6', '3'])
  })

  it('have signs, units and thin spaces', () => {
    expect([signed(0.5), signed(-1), signed(0)]).toEqual(['+0.5', '−1', '0'])
    expect([bytes(0), bytes(2_000_000)]).toEqual(['0 B', '2 MB'])
    expect(count(1234567)).toBe('1\u202f234\u202f567')
    expect([duration(42), duration(3600 + 120), duration(90)]).toEqual(['42 s', '1 h 2 min', '2 min'])
    expect([ago(0, 1000), ago(0, 120_000)]).toEqual(['now', '2 min ago'])
    expect([rounds(3, 3), rounds(3, 7)]).toEqual(['round 3', 'rounds 3–7'])
  })
})
