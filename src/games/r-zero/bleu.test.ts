import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bleu, clusterSizes, profile } from './bleu.js'

const score = (candidate: string, reference: string) => bleu(profile(candidate), profile(reference))
const text = fc
  .array(fc.constantFrom('2', '13', '+', '*', '(', ')', 'cat', 'dog'), { maxLength: 12 })
  .map((all) => all.join(' '))

describe('bleu', () => {
  it('cuts words, numbers and signs', () => {
    expect(profile('12*(x+3)').length).toBe(7)
    expect(profile('How many cats?').length).toBe(4)
  })

  it('is the classic of the paper: clipped counts', () => {
    // 2 of the 7 "the" count; no pair of them stands in the reference.
    const expected = (2 / 7) ** 0.25 * (0.1 / 6) ** 0.25 * (0.1 / 5) ** 0.25 * (0.1 / 4) ** 0.25
    expect(score('the the the the the the the', 'the cat is on the mat')).toBeCloseTo(expected, 12)
  })

  it('multiplies the precisions of 1 to 4 tokens', () => {
    // a b c d x against a b c d y: 4/5, 3/4, 2/3, 1/2.
    expect(score('a b c d x', 'a b c d y')).toBeCloseTo(
      (4 / 5) ** 0.25 * (3 / 4) ** 0.25 * (2 / 3) ** 0.25 * 0.5 ** 0.25,
      12,
    )
  })

  it('punishes what is too short, and only that', () => {
    expect(score('a b c d', 'a b c d e f g h')).toBeCloseTo(Math.exp(-1), 12)
    expect(score('a b c d', 'a b c d')).toBe(1)
  })

  it('is 1 of a text and itself, however short, and lies between 0 and 1', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(score(a, a)).toBeCloseTo(a === '' ? 0 : 1, 12)
        expect(score(a, b)).toBeGreaterThanOrEqual(0)
        expect(score(a, b)).toBeLessThanOrEqual(1 + 1e-12)
      }),
    )
    expect(score('7', '')).toBe(0)
  })
})

describe('clusterSizes', () => {
  it('puts a batch of one question into one cluster, and unlike questions into their own', () => {
    expect(clusterSizes(Array(6).fill('3+4*5'), 0.5)).toEqual([6, 6, 6, 6, 6, 6])
    expect(clusterSizes(['3+4*5', 'How many cats are there?', '(9-2)-6'], 0.5)).toEqual([1, 1, 1])
    expect(clusterSizes([], 0.5)).toEqual([])
  })

  it('joins paraphrases', () => {
    const questions = [
      'Tom has 3 apples and buys 4 more apples. How many apples has Tom now?',
      'Tom has 3 apples and buys 5 more apples. How many apples has Tom now?',
      'Find the derivative of x at 2.',
    ]
    expect(clusterSizes(questions, 0.5)).toEqual([2, 2, 1])
  })

  it('joins by the mean distance over pairs', () => {
    // a to b and b to c are near, a to c is far: c stays out, since (near + far) / 2 is over the limit.
    const [a, b, c] = ['p q r s t u v w', 'p q r s t u x y', 'k l r s t u x y']
    const d = (x: string, y: string) => 1 - (score(x, y) + score(y, x)) / 2
    const limit = (Math.max(d(a!, b!), d(b!, c!)) + (d(a!, c!) + Math.max(d(a!, b!), d(b!, c!))) / 2) / 2
    expect(d(b!, c!)).toBeLessThan(limit)
    expect(clusterSizes([a!, b!, c!], limit).sort()).toEqual([1, 2, 2])
  })

  it('does not depend on the order, and finds no cluster below 1 nor above all', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('1+2', '1+2+3', '9*9*(8-1)', 'How many?', ''), { maxLength: 8 }),
        (texts) => {
          const sizes = clusterSizes(texts, 0.5)
          expect(clusterSizes([...texts].reverse(), 0.5).reverse()).toEqual(sizes)
          for (const size of sizes) expect(size).toBeGreaterThanOrEqual(1)
          for (const [i, a] of texts.entries()) {
            expect(sizes[i]).toBeGreaterThanOrEqual(texts.filter((b) => a === b).length)
          }
        },
      ),
    )
  })
})
