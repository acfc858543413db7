import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ExtractionOptions, extractAnswer } from './index.js'

const found = (text: string, options?: ExtractionOptions) => {
  const extraction = extractAnswer(text, options)
  return extraction && [extraction.text, extraction.from]
}

describe('extractAnswer', () => {
  it.each<[string, string, string]>([
    ['so \\boxed{\\frac{1}{2}}.', '\\frac{1}{2}', 'boxed'],
    ['\\boxed{1} and \\boxed{2}', '1, 2', 'boxed'],
    ['\\boxed{3}, hmm, actually \\boxed{5}', '5', 'boxed'],
    ['exactly \\boxed{\\sqrt2}, or \\boxed{\\approx 1.414}', '\\sqrt2', 'boxed'],
    ['$x=\\boxed{1}$ or $x=\\boxed{2}$', '1, 2', 'boxed'],
    ['\\boxed 7', '7', 'boxed'],
    ['\\framebox{7}', '7', 'boxed'],
    ['\\\\boxed{7}', '7', 'boxed'],
    ['\\boxed{there are 18 of them}', '18', 'boxed'],
    ['\\boxed{3} <answer>4</answer>', '4', 'answer_tag'],
    ['<answer>so \\boxed{4}</answer>', '4', 'answer_tag'],
    ['steps 1 to 9\n#### 1,234', '1,234', 'hashes'],
    ['The answer is 42. I hope it is correct.', '42', 'phrase'],
    ['**Final Answer:** $x^2+1$', '$x^2+1$', 'phrase'],
    ['The answer is 18 (9 eggs times $2).', '18', 'phrase'],
    ['the answer is not 42, it is 43', '43', 'phrase'],
    ['The answer is minus 2.', '-2', 'phrase'],
    ['Thus $x \\ge 5$ is the solution.', 'x \\ge 5', 'maths'],
    ['He pays 3 dollars for 12 eggs', '12', 'number'],
    ['x^2+1', 'x^2+1', 'whole'],
    ['No solution', 'No solution', 'whole'],
    ['<think>\\boxed{1}</think> It is \\boxed{2}.', '2', 'boxed'],
    ['<think>\\boxed{1}</think>', '1', 'boxed'],
  ])('%s', (text, answer, from) => expect(found(text)).toEqual([answer, from]))

  it.each([
    ['nothing', ''],
    ['an empty box', '\\boxed{} 5'],
    ['an answer taken back', 'It is \\boxed{5}. No: \\boxed{'],
    ['a denial', 'The answer is certainly not 5, whatever else may be said of it in these many words.'],
    ['a bound', 'So in any case and for all that was said before the number must be at least 5'],
  ])('takes nothing from %s', (_, text) => expect(found(text)).toBeUndefined())

  it.each<[string, string | undefined]>([
    ['The answer is (C).', 'C'],
    ['It is not C; the answer is A.', 'A'],
    ['The answer is A because B is wrong.', 'A'],
    ['I think it is B.', 'B'],
    ['D. It cannot be A.', 'D'],
    ['Answer: **c**', 'C'],
    ['\\boxed{\\text{(B)}}', '\\text{(B)}'],
    ['The answer is A or B.', undefined],
    ['A, B, C, D', undefined],
    ["The answer isn't B.", undefined],
  ])('of a multiple choice: %s', (text, letter) => {
    expect(extractAnswer(text, { asked: 'choice' })?.text).toBe(letter)
  })

  it('keeps to the methods and their order', () => {
    const text = 'The answer is 1. \\boxed{2} #### 3'
    expect(found(text)).toEqual(['2', 'boxed'])
    expect(found(text, { extract: ['hashes', 'boxed'] })).toEqual(['3', 'hashes'])
    expect(found(text, { extract: ['phrase'] })).toEqual(['1', 'phrase'])
    expect(found('the answer is 1', { extract: ['boxed', 'last_box'] })).toBeUndefined()
    expect(found('\\boxed{1} and \\boxed{2}', { extract: ['last_box'] })).toEqual(['2', 'last_box'])
  })

  it('takes time linear in the text', () => {
    const pieces = [
      '\\boxed 7 ',
      '(',
      ' ',
      '9',
      '1, ',
      'not ',
      'A ',
      '$5 ',
      '**',
      '<answer>',
      '#### ',
      'answer is ',
      "n't ",
    ]
    for (const piece of pieces) {
      const text = piece.repeat(200_000 / piece.length)
      for (const asked of ['value', 'choice', 'words'] as const) {
        const began = performance.now()
        extractAnswer(text, { asked })
        expect(performance.now() - began, `${piece} ${asked}`).toBeLessThan(3000)
      }
    }
  })

  it('never throws', () => {
    const marks = [
      '\\boxed{',
      '}',
      '<answer>',
      '</answer>',
      '</think>',
      '####',
      'answer is',
      '$',
      '**',
      ' 5',
      ' or ',
      ', ',
      'not ',
      '.',
    ]
    fc.assert(
      fc.property(
        fc.string({ unit: fc.oneof(fc.constantFrom(...marks), fc.string({ maxLength: 3 })) }),
        (text) => {
          for (const asked of ['value', 'choice', 'words'] as const) extractAnswer(text, { asked })
        },
      ),
    )
  })
})
