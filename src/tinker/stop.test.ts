import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAtId, cutAtString, planStop } from './stop.js'

describe('planStop', () => {
  it('sends ids where there are any, and leaves the strings to be cut here', () => {
    expect(planStop([7, 8], ['</a>'])).toEqual({ stop: [7, 8], cut: ['</a>'] })
    expect(planStop([], ['</a>'])).toEqual({ stop: ['</a>'], cut: ['</a>'] })
    expect(planStop([], [])).toEqual({ stop: [], cut: [] })
  })
})

describe('cutAtId', () => {
  it('keeps the id', () => {
    expect(cutAtId(Int32Array.of(1, 2, 9, 3, 9), [9, 3])).toBe(3)
    expect(cutAtId(Int32Array.of(1, 2), [9])).toBeUndefined()
  })
})

describe('cutAtString', () => {
  const cut = (text: string, stops: string[]) => cutAtString(text.length, (n) => text.slice(0, n), stops)

  it('ends with the token that completes the first string', () => {
    expect(cut('x</a>y</b>', ['</b>', '</a>'])).toBe(5)
    expect(cut('xyz', ['</a>'])).toBeUndefined()
    expect(cut('', ['a'])).toBeUndefined()
  })

  it('is the shortest prefix that has one of the strings', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 })
    const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 }), {
      maxLength: 3,
    })
    fc.assert(
      fc.property(letters, stops, (text, strings) => {
        const naive = Array.from({ length: text.length + 1 }, (_, n) => n).find((n) =>
          strings.some((stop) => text.slice(0, n).includes(stop)),
        )
        expect(cut(text, strings)).toBe(naive)
      }),
    )
  })
})
