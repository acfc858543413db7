import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import {
  apply,
  canonical,
  evaluate,
  LIMIT,
  operations,
  parseExpression,
  solveQuestion,
} from './expression.js'
import { kinds } from './kinds.js'
import { slippedSteps, wrongResult } from './slips.js'
import { type Detail, printSteps, steps } from './steps.js'

const chain = (text: string, detail: Detail) => printSteps(steps(parseExpression(text)!, detail)!)
const details = fc.constantFrom<Detail>('plain', 'split')
const samples = fc
  .tuple(fc.constantFrom(...kinds), fc.integer())
  .map(([kind, seed]) => kind.sample(randomStream(seed, kind.text)))

describe('steps', () => {
  it.each([
    ['(7-3)*12+5', '(7-3)*12+5=4*12+5=48+5=53'],
    ['2+3*4', '2+3*4=2+12=14'],
    ['5-(3-7)', '5-(3-7)=5-(-4)=9'],
    ['8', '8'],
  ])('work %s out', (text, expected) => expect(chain(text, 'plain')).toBe(expected))

  it.each([
    ['14*23', '14*23=14*20+14*3=280+14*3=280+42=322'],
    ['5-14*23', '5-14*23=5-(14*20+14*3)=5-(280+14*3)=5-(280+42)=5-322=-317'],
    ['-14*23', '-14*23=-14*20-14*3=-280-14*3=-280-42=-322'],
    ['487+356', '487+356=487+300+56=787+56=843'],
    ['487-(-356)', '487-(-356)=487-(-300)+56=787+56=843'],
    ['47*8', '47*8=376'],
    ['48+37', '48+37=85'],
  ])('split %s', (text, expected) => expect(chain(text, 'split')).toBe(expected))

  it('keep the value from link to link, one operation a link', () => {
    fc.assert(
      fc.property(samples, details, (expression, detail) => {
        const links = steps(expression, detail)!
        for (const link of links) expect(evaluate(link.expression)).toBe(evaluate(expression))
        for (const text of printSteps(links).split('=')) expect(canonical(text)).toBe(text)
        const computing = links.filter((link) => link.step)
        expect(typeof links.at(-1)!.expression).toBe('number')
        if (detail === 'plain') {
          expect(computing.length).toBe(operations(expression))
          expect(links.length).toBe(computing.length + 1)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('leave no hard operation in a split chain', () => {
    fc.assert(
      fc.property(samples, (expression) => {
        for (const { step } of steps(expression, 'split')!) {
          if (step?.op !== '*') continue
          const significant = [step.left, step.right].map((v) => `${Math.abs(v)}`.replaceAll('0', '').length)
          expect(Math.min(...significant)).toBeLessThanOrEqual(1)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('are undefined beyond the bounds', () => {
    expect(steps(parseExpression('100*100-9999')!, 'plain')).toBeUndefined()
  })

  it('follow from a slip to the end', () => {
    const links = steps(parseExpression('(7-3)*12+5')!, 'plain', { index: 1, value: 46 })!
    expect(printSteps(links)).toBe('(7-3)*12+5=4*12+5=46+5=51')
  })
})

describe('slips', () => {
  it('make exactly one step and the final value wrong', () => {
    fc.assert(
      fc.property(samples, details, fc.integer(), (expression, detail, seed) => {
        const links = slippedSteps(expression, detail, randomStream(seed, 'slip'))!
        const values = links.map((link) => evaluate(link.expression))
        expect(values.filter((value, i) => i > 0 && value !== values[i - 1]).length).toBe(1)
        expect(values.at(-1)).not.toBe(evaluate(expression))
        expect(solveQuestion(printSteps(links).split('=').at(-1)!)).toBe(`${values.at(-1)}`)
      }),
      { numRuns: 1000 },
    )
  })

  it('spread over all steps of a chain', () => {
    const expression = parseExpression('(7-3)*12+5')!
    const stream = randomStream(1, 'spread')
    const where = Array.from({ length: 300 }, () => {
      const values = slippedSteps(expression, 'plain', stream)!.map((link) => evaluate(link.expression))
      return values.findIndex((value) => value !== 53)
    })
    for (const index of [1, 2, 3]) expect(where.filter((i) => i === index).length).toBeGreaterThan(60)
  })

  it('spare an expression that has no step', () => {
    expect(slippedSteps(8, 'plain', randomStream(1, 'none'))).toBeUndefined()
  })

  it('give wrong results within the bounds, near the truth or of the wrong sign', () => {
    const operand = fc.integer({ min: -99, max: 99 })
    fc.assert(
      fc.property(fc.constantFrom('+', '-', '*'), operand, operand, fc.integer(), (op, left, right, seed) => {
        const truth = apply(op, left, right)
        const wrong = wrongResult({ op, left, right }, randomStream(seed, 'wrong'))
        expect(wrong).not.toBe(truth)
        expect(Math.abs(wrong)).toBeLessThanOrEqual(LIMIT)
        const near = Math.max(10, Math.abs(left), Math.abs(right), 10 ** (`${Math.abs(truth)}`.length - 1))
        expect(wrong === -truth || Math.abs(wrong - truth) <= near).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})
