import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { equations, plantError } from './plant.js'

const shown = (text: string) => equations(text).map(({ start, end }) => text.slice(start, end))

describe('equations', () => {
  it.each<[string, string[]]>([
    ['37+48=85', ['37+48=85']],
    [
      'We see that 3 * 4 = 12, so 12 - 5 = 7.',
      ['3 * 4 = 12, ', '12 - 5 = 7'].map((text) => text.replace(/, $/, '')),
    ],
    ['15+3=18 \\boxed{18}', ['15+3=18']],
    ['x = y + 1', []],
    ['there are 12 of 15', []],
    ['1+1=2\n2+2=4', ['1+1=2', '2+2=4']],
    ['', []],
  ])('of %j', (text, found) => {
    expect(shown(text)).toEqual(found)
  })
})

describe('plantError', () => {
  const number = fc.integer({ min: 0, max: 9999 })
  const step = fc
    .tuple(
      number,
      fc.constantFrom('+', '-', '*', ' + ', ' × '),
      number,
      number,
      fc.constantFrom('', ' so it is', '\n'),
    )
    .map(([a, op, b, c, end]) => `${a}${op}${b}=${c}${end}`)

  it('changes one equation and nothing else, and says how it was', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.integer(), (steps, seed) => {
        const text = steps.join(' and ')
        const planted = plantError(text, randomStream(seed, 'plant'))!
        expect(planted.changed).not.toBe(planted.original)
        const at = text.indexOf(planted.original)
        expect(at).toBeGreaterThanOrEqual(0)
        expect(text).toContain(planted.original)
        expect(planted.text).toContain(planted.changed)
        expect(planted.text.replace(planted.changed, planted.original)).toBe(text)
        expect(planted.original.startsWith(planted.redone)).toBe(true)
        expect(planted.changed.startsWith(planted.redone)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves what stands before the slice as it is', () => {
    for (let seed = 0; seed < 200; seed++) {
      const { text, redone } = plantError('46+56=102', randomStream(seed, 'context'), 5)!
      expect(text.startsWith('46+56')).toBe(true)
      expect(redone.startsWith('46+56')).toBe(true)
    }
    expect(plantError('46+56=102 so', randomStream(0, 'context'), 9)).toBeUndefined()
  })

  it('finds every kind of slip: one number, all its places, a term left out', () => {
    const texts = Array.from(
      { length: 200 },
      (_, seed) => plantError('7-3+7=4+7', randomStream(seed, 'kinds'))!.text,
    )
    expect(texts).toContain('8-3+8=4+8')
    expect(texts).toContain('7-3=4+7')
    expect(texts).toContain('7-3=4')
    expect(texts).toContain('7-3+7=4+8')
    expect(texts.every((text) => !text.includes('--'))).toBe(true)
  })

  it('has nothing to plant where there is no equation', () => {
    expect(plantError('Wait, let me think.', randomStream(0, 'none'))).toBeUndefined()
  })
})
