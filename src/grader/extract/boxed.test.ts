import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lastBoxed } from './boxed.js'

describe('lastBoxed', () => {
  it.each([
    ['plain', 'so \\boxed{42}.', '42'],
    ['framed', '\\fbox{1230}', '1230'],
    ['nested braces', '\\boxed{\\frac{1}{\\sqrt{2}}}', '\\frac{1}{\\sqrt{2}}'],
    ['last of several', '\\boxed{1} then \\boxed{2}', '2'],
    ['box in a box', '\\boxed{\\boxed{8\\sqrt{6}}}', '8\\sqrt{6}'],
    ['escaped braces', '\\boxed{\\{1, 2\\}}', '\\{1, 2\\}'],
    ['unbalanced escaped brace', '\\boxed{\\{1}', '\\{1'],
    ['after a line break', 'a\\\\\\boxed{3}', '3'],
    ['space before the brace', '\\boxed {3}', '3'],
    ['unfinished box before', '\\boxed{1 and then \\boxed{2}', '2'],
    ['stray closing brace', '} } \\boxed{7}', '7'],
    ['stray opening brace', '{ { \\boxed{7}', '7'],
    ['text after', '\\boxed{277} ... 99', '277'],
    ['empty', '\\boxed{}', ''],
  ])('%s', (_, text, content) => expect(lastBoxed(text)).toBe(content))

  it.each([
    ['none', 'the answer is 42'],
    ['never closed', 'start \\boxed{never closes'],
    ['no brace', '\\boxed 7'],
    ['taken back', 'So \\boxed{42}. Wait, let me redo this: \\boxed{'],
    ['other command', '\\boxedtext{3}'],
    ['escaped command', '\\\\boxed{3}'],
  ])('nothing: %s', (_, text) => expect(lastBoxed(text)).toBeUndefined())

  it('finds any balanced content, wherever it stands', () => {
    const balanced = fc.letrec<{ text: string }>((tie) => ({
      text: fc.oneof(
        { maxDepth: 5 },
        fc.string({ unit: fc.constantFrom(...'ab1 +=,') }),
        fc.tuple(tie('text'), tie('text')).map(([a, b]) => `${a}{${b}}`),
      ),
    })).text
    fc.assert(
      fc.property(balanced, balanced, balanced, (before, content, after) => {
        expect(lastBoxed(`${before}\\boxed{${content}}${after}`)).toBe(content)
      }),
    )
  })

  it('never throws and takes time linear in the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('\\boxed{', '\\fbox', '{', '}', '\\', 'x') }), (text) => {
        expect(['string', 'undefined']).toContain(typeof lastBoxed(text))
      }),
    )
    const began = performance.now()
    lastBoxed('\\boxed{'.repeat(200_000))
    expect(performance.now() - began).toBeLessThan(2000)
  })
})
