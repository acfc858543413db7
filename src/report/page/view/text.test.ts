import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginning, plain, stretches } from './text.js'

describe('stretches', () => {
  it('names what cannot be seen and leaves the rest', () => {
    expect(stretches('a\u0000b\u202ec\n\td')).toEqual([
      { text: 'a', mark: false },
      { text: 'NUL', mark: true },
      { text: 'b', mark: false },
      { text: 'RLO', mark: true },
      { text: 'c\n\td', mark: false },
    ])
    expect(plain('\u007f\u0085\u200b\ufeff\ud800')).toBe('DELU+0085ZWSPBOMU+D800')
  })

  it('leaves whole characters of any plane', () => {
    expect(plain('naïve 数学 שלום 🙂')).toBe('naïve 数学 שלום 🙂')
  })

  it('lets nothing through that controls, or reorders what stands around it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plain(text)).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}|\p{Cs}/u)
      }),
    )
  })
})

describe('beginning', () => {
  it('does not cut a character', () => {
    expect(beginning('ab🙂', 3)).toBe('ab')
    expect(beginning('ab🙂', 4)).toBe('ab🙂')
    expect(beginning('abc', 2)).toBe('ab')
  })
})
