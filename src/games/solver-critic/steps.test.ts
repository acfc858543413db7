import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { numbered, sidesOf, splitSteps } from './steps.js'

describe('splitSteps', () => {
  it('cuts lines', () => {
    const text = 'Half of 48 is 48/2 = 24.\n\n  So 48+24 = 72.\r\n\\boxed{72}\n'
    expect(splitSteps(text, 'lines', 40)).toEqual([
      'Half of 48 is 48/2 = 24.',
      'So 48+24 = 72.',
      '\\boxed{72}',
    ])
  })

  it('cuts chains of equations into links', () => {
    expect(splitSteps('(7-3)*2+5=4*2+5=8+5=13 \\boxed{13}', 'links', 40)).toEqual([
      '(7-3)*2+5=4*2+5',
      '4*2+5=8+5',
      '8+5=13 \\boxed{13}',
    ])
    expect(splitSteps('9-7=2 \\boxed{2}', 'links', 40)).toEqual(['9-7=2 \\boxed{2}'])
    expect(splitSteps('no equation here', 'links', 40)).toEqual(['no equation here'])
  })

  it('finds one step in nothing', () => {
    for (const text of ['', ' \n \n']) expect(splitSteps(text, 'links', 40)).toEqual([''])
  })

  it('puts what is too much into the last step', () => {
    expect(splitSteps('a\nb\nc\nd', 'lines', 2)).toEqual(['a', 'b\nc\nd'])
  })

  it('keeps every letter and never exceeds its limit', () => {
    const line = fc.string({ unit: fc.constantFrom('1', '+', '=', 'a', '{', '}', ' ') })
    const bare = (text: string) => text.replace(/\s/g, '')
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.integer({ min: 1, max: 5 }), (lines, most) => {
        const text = lines.join('\n')
        const steps = splitSteps(text, 'lines', most)
        expect(steps.length).toBeLessThanOrEqual(most)
        expect(bare(steps.join(''))).toBe(bare(text))
        expect(splitSteps(text, 'links', 40).length).toBeGreaterThanOrEqual(1)
      }),
    )
  })
})

describe('sidesOf', () => {
  it('takes no sign that is part of another, nor one in braces', () => {
    expect(sidesOf('a<=b')).toEqual(['a<=b'])
    expect(sidesOf('a==b')).toEqual(['a==b'])
    expect(sidesOf('x=1 \\boxed{x=1}')).toEqual(['x', '1 \\boxed{x=1}'])
  })
})

describe('numbered', () => {
  it('counts from 1', () => {
    expect(numbered(['a', 'b'])).toBe('Step 1: a\nStep 2: b')
  })
})
