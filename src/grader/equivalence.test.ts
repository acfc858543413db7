import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isEquivalent } from './equivalence.js'
import { readAnswer } from './notation/read.js'

describe('isEquivalent', () => {
  it.each([
    ['5', '5.0'],
    ['0.4', '.4'],
    ['+5', '5'],
    ['-0', '0'],
    ['033', '33'],
    ['−5', '-5'],
    ['１２', '12'],
    ['7425000', '7,425,000'],
    ['1000.99', '$1,000.99$'],
    ['1000000', '1 000 000'],
    ['32349', '32,\\! 349'],
    ['14916', '14{,}916'],
    ['1/2', '\\frac{1}{2}'],
    ['\\dfrac{1}{2}', '\\tfrac12'],
    ['\\frac{2}{4}', '0.5'],
    ['-\\frac{1}{2}', '\\frac{-1}{2}'],
    ['\\frac{1}{-2}', '-0.5'],
    ['\\frac 1 2', '1/2'],
    ['\\frac{1}2', '0.5'],
    ['2\\frac{3}{4}', '11/4'],
    ['2 3/4', '2.75'],
    ['-3 \\frac{1}{2}', '-7/2'],
    ['28\\%', '28%'],
    ['28.0%', '28\\%'],
    ['6.02 \\times 10^{23}', '6.02E23'],
    ['3.2e-5', '3.2 \\times 10^{-5}'],
    ['780', '7.8\\cdot 10^2'],
    ['\\boxed{42}', '42'],
    ['\\text{(A)}', 'A'],
    ['(5)', '5'],
    ['$x^2 + 1$', 'x^{2}+1'],
    ['5\\text{ cm}', '5 cm'],
    ['42.', '42'],
    ['\\left( 3, \\frac{\\pi}{2} \\right)', '(3,\\frac{\\pi}2)'],
    ['(1,\\frac{9}{2})', '(1, 4.5)'],
    ['1, 2', '1,2'],
    ['\\{1,2,3\\}', '\\{3,2,1\\}'],
    ['\\{1,1,2\\}', '\\{1,2\\}'],
    ['{1, 0.5}', '\\{\\frac12, 1\\}'],
    ['(1,2),(3,4)', '(1, 2), (3, 4.0)'],
    ['\\left(0,1\\right]', '(0, 1]'],
  ])('%s = %s', (gold, prediction) => {
    expect(isEquivalent(gold, prediction)).toBe(true)
    expect(isEquivalent(prediction, gold)).toBe(true)
  })

  it.each([
    ['0.33', '\\frac{1}{3}'],
    ['9007199254740993', '9007199254740992'],
    ['1234', '12,34'],
    ['1000', '1,00,0'],
    ['5', '-5'],
    ['1 2', '12'],
    ['1.5', '1 .5'],
    ['21/2', '2 1/2'],
    ['2\\frac{5}{4}', '13/4'],
    ['1/0', '2/0'],
    ['(0,9)', '[0,9)'],
    ['(1,2]', '[1,2)'],
    ['(1,2)', '(2,1)'],
    ['1,2,3', '1,2'],
    ['357', '3,5,7'],
    ['01', '0,1'],
    ['1234', '1, 234'],
    ['\\{1,2\\}', '\\{1,3\\}'],
    ['x', 'X'],
    ['1', '1e500'],
    ['1', '10^{10^{10}}'],
    ['x^23', 'x^{2}3'],
    ['', ''],
    ['$$', ''],
    ['1', ''],
    ['n1/2', '1/2'],
    ['l["","tx"]', 'x'],
    ['constructor', '__proto__'],
  ])('%s is not %s', (gold, prediction) => {
    expect(isEquivalent(gold, prediction)).toBe(false)
    expect(isEquivalent(prediction, gold)).toBe(false)
  })

  it.each(['\\frac1.', '\\frac{1}2.', '\\frac12.', '\\frac 0.5 2'])(
    'reads or refuses %s, and does not throw',
    (text) => {
      expect(typeof isEquivalent('1', text)).toBe('boolean')
    },
  )

  const numbers = fc.tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), fc.integer({ min: 0, max: 6 }))
  const spell = ([n, places]: [bigint, number]) => {
    const digits = `${n < 0n ? -n : n}`.padStart(places + 1, '0')
    const whole = digits.slice(0, digits.length - places)
    const sign = n < 0n ? '-' : ''
    const decimal = places > 0 ? `.${digits.slice(-places)}` : ''
    const power = 10n ** BigInt(places)
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
    return [
      `${sign}${whole}${decimal}`,
      `${sign}${grouped}${decimal}`,
      `$${sign}\\frac{${digits}}{${power}}$`,
      `${n * 3n}/${power * 3n}`,
      `${sign}${whole}${decimal} \\times 10^{0}`,
      `${sign}${digits}e-${places}`,
    ]
  }

  it('holds exactly between equal numbers, however they are spelled', () => {
    fc.assert(
      fc.property(numbers, numbers, fc.nat(5), fc.nat(5), (a, b, i, j) => {
        expect(isEquivalent(spell(a)[i]!, spell(a)[j]!)).toBe(true)
        const same = a[0] * 10n ** BigInt(b[1]) === b[0] * 10n ** BigInt(a[1])
        expect(isEquivalent(spell(a)[i]!, spell(b)[j]!)).toBe(same)
      }),
      { numRuns: 1000 },
    )
  })

  const noise = fc.string({
    unit: fc.constantFrom(
      ...'0123456789.,-+*/^_(){}[] \\$%xeE',
      '\\frac',
      '\\left',
      '\\text{',
      '\\{',
      '\\}',
      ', ',
    ),
  })

  it('is symmetric, and true of a text and itself unless that is empty', () => {
    fc.assert(
      fc.property(noise, noise, (a, b) => {
        expect(isEquivalent(a, b)).toBe(isEquivalent(b, a))
        expect(isEquivalent(a, a)).toBe(readAnswer(a) !== undefined)
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    ['digits', '9'.repeat(50_000)],
    ['periods', `${'.'.repeat(100_000)}x`],
    ['parentheses', '('.repeat(100_000)],
    ['balanced parentheses', `${'('.repeat(4_000)}1${')'.repeat(4_000)}`],
    ['fractions', '\\frac{'.repeat(50_000)],
    ['texts', '\\text{'.repeat(50_000)],
    ['spaces', `1${' '.repeat(100_000)}2`],
    ['commas', ', '.repeat(100_000)],
    ['short list', '1,'.repeat(4_999)],
    ['powers', `1e${'9'.repeat(300)}`],
    ['tower', '9^{'.repeat(3_000)],
    ['control word', `\\${'a'.repeat(200_000)}`],
  ])('does not hang on many %s', (_, text) => {
    const began = performance.now()
    isEquivalent(text, `${text}0`)
    isEquivalent('1', text)
    expect(performance.now() - began).toBeLessThan(3000)
  })
})
