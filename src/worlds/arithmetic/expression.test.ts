import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  apply,
  canonical,
  type Expression,
  evaluate,
  LIMIT,
  operations,
  parseExpression,
  print,
  solveQuestion,
} from './expression.js'

const expressions = fc.letrec<{ tree: Expression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: -99, max: 999 }),
    fc.record({ op: fc.constantFrom('+', '-', '*'), left: tie('tree'), right: tie('tree') }),
  ),
})).tree

describe('print and parseExpression', () => {
  it('read back the tree that was printed', () => {
    fc.assert(
      fc.property(expressions, (expression) => {
        const text = print(expression)
        fc.pre(text.length <= 100)
        expect(parseExpression(text)).toEqual(expression)
      }),
    )
  })

  it('write no parentheses that could be left out', () => {
    fc.assert(
      fc.property(expressions, (expression) => {
        const text = print(expression)
        for (const [open, close] of pairs(text)) {
          const inside = text.slice(open + 1, close)
          const without = text.slice(0, open) + inside + text.slice(close + 1)
          if (text.length <= 100) expect(parseExpression(without)).not.toEqual(expression)
        }
      }),
    )
  })

  it('accept spaces and needless parentheses', () => {
    expect(canonical(' ( 7 - 3 ) * (12) + 5 ')).toBe('(7-3)*12+5')
    expect(canonical('((-4))*2')).toBe('-4*2')
  })

  it.each([
    ['empty', ''],
    ['missing operand', '3+'],
    ['two operators', '3+-4'],
    ['sign before parentheses', '-(3+4)'],
    ['unbalanced', '(3+4'],
    ['closing only', '3+4)'],
    ['number split by a space', '1 2'],
    ['leading zero', '07+1'],
    ['negative zero', '-0'],
    ['decimal', '1.5+2'],
    ['number above the limit', '10000'],
    ['division', '8/2'],
    ['power', '2^3'],
    ['implicit product', '2(3+4)'],
    ['equation', '3+4=7'],
    ['words', 'three'],
    ['newline', '3+\n4'],
    ['unicode minus', '3−4'],
    ['too long', Array(60).fill('1').join('+')],
    ['too deep', `${'('.repeat(9)}1${')'.repeat(9)}`],
  ])('reject %s', (_, text) => {
    expect(parseExpression(text)).toBeUndefined()
    expect(solveQuestion(text)).toBeUndefined()
  })

  it('never throw, whatever the text', () => {
    const anything = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789+-*() ') }))
    fc.assert(
      fc.property(anything, (text) => {
        const answer = solveQuestion(text)
        if (answer !== undefined) expect(answer).toMatch(/^(0|-?[1-9]\d{0,3})$/)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('evaluate', () => {
  it('agrees with JavaScript where the bounds hold', () => {
    fc.assert(
      fc.property(expressions, (expression) => {
        const value = evaluate(expression)
        if (value !== undefined) expect(value).toBe(Function(`return ${print(expression)}`)() + 0)
      }),
    )
  })

  it('refuses a number beyond the limit, at the end or on the way', () => {
    expect(solveQuestion('99*101')).toBe(`${LIMIT}`)
    expect(solveQuestion('100*100')).toBeUndefined()
    expect(solveQuestion('100*100-9999')).toBeUndefined()
    expect(solveQuestion('-9999-1')).toBeUndefined()
  })

  it('has no negative zero', () => {
    expect(Object.is(apply('*', -3, 0), 0)).toBe(true)
    expect(solveQuestion('-3*0')).toBe('0')
  })
})

it('operations counts operators', () => {
  fc.assert(
    fc.property(expressions, (expression) => {
      const text = print(expression).replace(/(^|\()-/g, '$1')
      expect(operations(expression)).toBe(text.replace(/[^+*-]/g, '').length)
    }),
  )
})

/** Positions of matching parentheses. */
function pairs(text: string): [number, number][] {
  const open: number[] = []
  const found: [number, number][] = []
  for (const [i, character] of [...text].entries()) {
    if (character === '(') open.push(i)
    if (character === ')') found.push([open.pop()!, i])
  }
  return found
}
