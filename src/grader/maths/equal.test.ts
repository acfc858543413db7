import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readAnswer } from '../notation/read.js'
import { equalValues } from './equal.js'
import type { Node } from './node.js'

const read = (text: string): Node => {
  const [node] = readAnswer(text)?.readings ?? []
  if (node === undefined) throw new Error(`${text} cannot be read`)
  return node
}
const equal = (a: string, b: string) => equalValues(read(a), read(b), 1e-6)

describe('equalValues', () => {
  it.each([
    ['exact fractions', '\\frac{1}{3}+\\frac{1}{6}', '\\frac12'],
    ['powers beyond doubles', '2^{200}-1', '1606938044258990275541962092341162602522202993782792835301375'],
    ['factorials', '20!/18!', '380'],
    ['binomials', '\\binom{100}{3}', '161700'],
    ['polynomials', '(x+y)^5', 'x^5+5x^4y+10x^3y^2+10x^2y^3+5xy^4+y^5'],
    ['rational functions', '\\frac{1}{x-1}-\\frac{1}{x+1}', '\\frac{2}{x^2-1}'],
    ['pi as a number of its own', '\\frac{2\\pi}{4}', '\\frac{\\pi}{2}'],
    ['Gaussian numbers', '(1+2i)(3-i)', '5+5i'],
    ['whole exponents', '2^{n+1}+2^n', '3\\cdot 2^n'],
    ['factorials of variables', '(n+1)!', '(n+1)n!'],
    ['nested roots', '\\sqrt{5+2\\sqrt6}', '\\sqrt2+\\sqrt3'],
    ['cube roots of negative numbers', '\\sqrt[3]{-8}', '-2'],
    ['logarithms', '\\log_4 8', '\\frac32'],
    ['logarithms to the base 10, where that is meant', '\\log 1000', '3'],
    ['angles in degrees', '\\sin 30^\\circ', '\\frac12'],
    ['trigonometric identities', '\\sin 3x', '3\\sin x-4\\sin^3 x'],
    ['hyperbolic functions', '\\cosh^2 x-\\sinh^2 x', '1'],
    ['Euler', 'e^{i\\pi}+1', '0'],
    ['unknown functions', 'f(x+x)-f(2x)+1', '1'],
    ['finite sums', '\\sum_{k=1}^{9} k^3', '2025'],
    ['infinite sums that converge slowly', '\\sum_{n=1}^{\\infty}\\frac{1}{n^2}', '\\frac{\\pi^2}{6}'],
    ['alternating sums', '\\sum_{n=1}^{\\infty}\\frac{(-1)^{n+1}}{n}', '\\ln 2'],
    ['integrals', '\\int_0^{\\pi}\\sin x\\,dx', '2'],
    ['integrals without end', '\\int_{-\\infty}^{\\infty}e^{-x^2}dx', '\\sqrt\\pi'],
    ['limits', '\\lim_{x\\to 0}\\frac{\\sin x}{x}', '1'],
    ['a decimal of enough digits', '\\sqrt2', '1.41421356'],
  ])('knows %s', (_, a, b) => {
    expect(equal(a, b)).toBe(true)
    expect(equal(b, a)).toBe(true)
  })

  it.each([
    ['numbers that only doubles confuse', '9007199254740993', '9007199254740992'],
    ['tiny numbers', '\\frac{1}{2^{99}}', '\\frac{1}{2^{98}}'],
    ['tiny irrational numbers', '\\frac{\\sqrt2}{2004!}', '\\frac{\\sqrt2}{2006!}'],
    ['near integers', 'e^{\\pi\\sqrt{163}}', '262537412640768744'],
    ['a root beside a whole number', '\\sqrt{10^{20}+1}', '10^{10}'],
    ['a small shift of a function', '\\sin x + 10^{-10}', '\\sin x'],
    ['a Taylor polynomial', '\\sin x', 'x-\\frac{x^3}{6}+\\frac{x^5}{120}'],
    ['the sign under an absolute value', '|x|', 'x'],
    ['the sign far from zero', '|x-50|', '50-x'],
    ['a function that vanishes at whole numbers', '\\sin(\\pi x)', '0'],
    ['a divergent sum', '\\sum_{n=1}^{\\infty}\\frac1n', '9.7877'],
    ['a divergent integral', '\\int_0^1\\frac{1}{x}dx', '23'],
    ['a rounded decimal', '\\frac13', '0.333'],
    ['a decimal beside one that ends', '\\frac18', '0.1250001'],
    ['letters of another size', 'X', 'x'],
    ['unknown functions of other values', 'f(2)', 'f(3)'],
    ['towers too high to be worked out', '10^{10^{10}}', '10^{10^{10}}+1'],
  ])('is not deceived by %s', (_, a, b) => {
    expect(equal(a, b)).toBe(false)
    expect(equal(b, a)).toBe(false)
  })

  const polynomial = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 5 })
  const expanded = (c: number[]) => c.map((each, i) => `(${each})x^{${i}}`).join('+')
  const horner = (c: number[]) => c.reduceRight((inner, each) => `(${each})+x\\left(${inner}\\right)`, '0')

  it('tells polynomials apart exactly, however they are written', () => {
    const value = (c: number[]) => JSON.stringify([...c, 0, 0, 0, 0].slice(0, 5))
    fc.assert(
      fc.property(polynomial, polynomial, (a, b) => {
        expect(equal(expanded(a), horner(a))).toBe(true)
        expect(equal(expanded(a), horner(b))).toBe(value(a) === value(b))
      }),
      { numRuns: 300 },
    )
  })
})
