import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseProposal } from './parse.js'

const whole = 'hm </think> <problem> 1+1? </problem> <answer>\\boxed{3}, no: \\boxed{2}</answer>'

describe('parseProposal', () => {
  it('takes the problem after the thinking and the last box', () => {
    expect(parseProposal(whole, true)).toEqual({ question: '1+1?', answer: '2' })
  })

  it('takes the first problem after the last closing of thought', () => {
    const text =
      '<problem>a</problem></think><problem>b</problem></think><problem>c</problem><problem>d</problem>'
    expect(parseProposal(text, true).question).toBe('c')
  })

  it('finds no question before the thinking has closed', () => {
    expect(parseProposal('<problem>1+1?</problem>\\boxed{2}', true)).toEqual({ question: '', answer: '2' })
    expect(parseProposal('<problem>1+1?</problem></think>', true).question).toBe('')
  })

  it('reads the whole text of a model that does not think', () => {
    expect(parseProposal('<problem>1+1?</problem>\\boxed{2}', false).question).toBe('1+1?')
  })

  it('finds the answer anywhere, with braces in it, but not in a box that never closes', () => {
    expect(parseProposal('\\boxed{\\frac{1}{2}} so far', true).answer).toBe('\\frac{1}{2}')
    expect(parseProposal('\\boxed{3', true).answer).toBe('')
    expect(parseProposal('\\boxed{ }', true).answer).toBe('')
    expect(parseProposal('so it is 7', true).answer).toBe('')
  })

  it.each([
    ['nothing', ''],
    ['an open problem', '</think><problem>1+1?'],
    ['a close before the open', '</think></problem>1+1?<problem>'],
    ['an empty problem', '</think><problem>\n</problem>'],
    ['control characters', '</think>\u0000\u001b[2J<problem\u0000>1</problem>'],
  ])('is empty for %s', (_, text) => {
    expect(parseProposal(text, true)).toEqual({ question: '', answer: '' })
  })

  it('reads back what was written, whatever stands around it', () => {
    const plain = fc.string().filter((text) => !/[<{}\\]/.test(text))
    fc.assert(
      fc.property(plain, plain, plain, (before, problem, answer) => {
        const text = `${before}</think>${before}<problem>${problem}</problem>${before}\\boxed{${answer}}`
        expect(parseProposal(text, true)).toEqual({ question: problem.trim(), answer: answer.trim() })
      }),
    )
  })

  it('never throws and stays linear on pieces repeated without end', () => {
    const piece = fc.constantFrom(
      '</think>',
      '<problem>',
      '</problem>',
      '\\boxed{',
      '{',
      '}',
      '\\',
      'x',
      '\u0000',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        const { question, answer } = parseProposal(pieces.join(''), true)
        expect(typeof question + typeof answer).toBe('stringstring')
      }),
    )
    const started = performance.now()
    for (const text of ['<problem>', '\\boxed{', '</think><problem>', '{'])
      parseProposal(text.repeat(100_000), true)
    expect(performance.now() - started).toBeLessThan(3000)
  })
})
