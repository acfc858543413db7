import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExact, sameOutput, sameValue } from './compare.js'

describe('sameOutput', () => {
  it.each([
    ['7', '7\n'],
    ['1 2  \n3\n\n', '1 2\n3'],
    ['1   2', '1 2'],
    ['1.50', '1.5'],
    ['+5 -0.0', '5 0'],
    ['1e3', '1000'],
    ['a\r\nb', 'a\nb'],
    ['', '\n'],
  ])('%j is %j', (a, b) => expect([sameOutput(a, b), sameOutput(b, a)]).toEqual([true, true]))

  it.each([
    ['1 2', '12'],
    ['1\n2', '1 2'],
    ['1\n\n2', '1\n2'],
    ['011', '11'],
    ['0.3333333', '0.33333333'],
    ['9007199254740993', '9007199254740992'],
    ['-1', '1'],
    ['yes', 'YES'],
    ['nan', 'NaN'],
    ['1e5', '1e6'],
    ['.', '0'],
  ])('%j is not %j', (a, b) => expect([sameOutput(a, b), sameOutput(b, a)]).toEqual([false, false]))

  it('knows every spelling of a decimal', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(9), (digits, zeros) => {
        expect(sameOutput(`${digits}.${'0'.repeat(zeros)}`, `${digits}`)).toBe(true)
        expect(sameOutput(`${digits}e${zeros}`, `${digits * 10n ** BigInt(zeros)}`)).toBe(true)
        expect(sameOutput(`${digits}`, `${digits + 1n}`)).toBe(false)
      }),
    )
  })
})

describe('sameValue', () => {
  const tuple = (...v: unknown[]) => ({ $: 'tuple', v })

  it.each([
    ['tuples and lists', [tuple(1, 2), [3]], [[1, 2], [3]]],
    ['an integral float and an integer', 2, 2.0],
    ['floats within the tolerance', 0.30000000000000004, 0.3],
    ['large floats within the tolerance', 1234567.1, 1234567.2],
    ['a dictionary with integer keys', { $: 'dict', v: [[1, 'a']] }, { 1: 'a' }],
    ['undefined and null', { $: 'undefined' }, null],
    ['a BigInt and a double of the same value', parseExact('100000000000000000000'), 1e20],
    ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
  ])('equal: %s', (_, actual, expected) => expect(sameValue(actual, expected)).toBe(true))

  it.each([
    ['a truth value and a number', true, 1],
    ['a number and its text', '1', 1],
    ['floats beyond the tolerance', 0.30001, 0.3],
    ['near integers', 1000000001, 1000000000],
    ['integers beyond doubles', parseExact('9007199254740993'), parseExact('9007199254740992')],
    ['lists of other length', [1, 2], [1]],
    ['a list and its prefix', [1], [1, 2]],
    ['a missing key', {}, { a: 1 }],
    ['a key too many', { a: 1, b: 2 }, { a: 1 }],
    ['an object of the solution', { $: 'object', v: 'AlwaysEqual' }, 1],
    ['an object of the solution and an empty one', { $: 'object', v: 'X' }, {}],
    ['a set', { $: 'set', v: [1] }, [1]],
    ['not a number', { $: 'float', v: 'NaN' }, 0],
    ['null and zero', null, 0],
    ['a list and an object', [], {}],
  ])('different: %s', (_, actual, expected) => expect(sameValue(actual, expected)).toBe(false))

  it('holds of every JSON value and its own text, and of no number and its successor', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(value).includes('"$"'))
        expect(sameValue(parseExact(JSON.stringify(value)), value)).toBe(true)
        expect(sameValue([value, 1], [value, 2])).toBe(false)
      }),
    )
  })
})

describe('parseExact', () => {
  it('keeps long integers, and digits in texts as they are', () => {
    expect(parseExact('[12345678901234567890, "12345678901234567890", 1.2345678901234567890, 5]')).toEqual([
      12345678901234567890n,
      '12345678901234567890',
      1.2345678901234567,
      5,
    ])
  })

  it('does not work out endless integers', () => {
    expect(parseExact('9'.repeat(100_000))).toMatchObject({ $: 'bigint' })
  })
})
