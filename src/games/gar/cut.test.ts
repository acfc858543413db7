import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { config } from './config.js'
import { cutPieces, evenlySpaced } from './cut.js'
import { References, type Solution } from './references.js'

const settings = (given: object = {}) => config.parse({ slicer: { min_tokens: 1, markers: [] }, ...given })
const cut = (text: string, truncated = false, given: object = {}) =>
  cutPieces(text, truncated, settings(given), (text) => text.length)
const texts = (...given: Parameters<typeof cut>) => cut(...given).map(({ text }) => text)

describe('cutPieces', () => {
  const text = '<think>one\ntwo\nthree</think>\\boxed{3}'

  it('takes the reasoning alone, in places of the completion', () => {
    expect(texts(text)).toEqual(['one\n', 'two\n', 'three'])
    for (const piece of cut(text)) expect(text.slice(piece.start, piece.end)).toBe(piece.text)
  })

  it('leaves out the last slice of what was cut off, unless the reasoning was whole', () => {
    expect(texts('one\ntwo\nthr', true)).toEqual(['one\n', 'two\n'])
    expect(texts('on', true)).toEqual([])
    expect(texts(text, true)).toEqual(['one\n', 'two\n', 'three'])
  })

  it('keeps the first slices of a partial trace, whole ones alone', () => {
    const partial = { variant: 'partial', partial_slices: 2 }
    expect(texts('one\ntwo\nthree', true, partial)).toEqual(['one\n', 'two\n'])
    expect(texts('one\ntwo', true, partial)).toEqual(['one\n'])
    expect(texts('one\ntwo', false, partial)).toEqual(['one\n', 'two'])
  })

  it('takes the whole reasoning where the solution is judged', () => {
    const [piece] = cut(text, false, { judge: 'solution' })
    expect(piece).toMatchObject({ text: 'one\ntwo\nthree', shown: 'one\ntwo\nthree', start: 7 })
    expect(cut('<think> </think>7', false, { judge: 'solution' })).toEqual([])
  })

  it('shows what stands before a slice as far as the settings say', () => {
    const slicer = { delimiter: '(?<==.*)(?==)', markers: [], min_tokens: 1, context: '[^=\\n]+$' }
    const shown = cut('5-4+6=1+6=7', false, { slicer }).map(({ shown }) => shown)
    expect(shown).toEqual(['5-4+6=1+6', '1+6=7'])
  })

  it.each(['', ' \n ', '<think></think>\\boxed{3}', '<think>\n</think>'])('finds nothing in %j', (text) => {
    expect(cut(text)).toEqual([])
  })

  it('takes an answer of one token as one slice', () => {
    expect(texts('7')).toEqual(['7'])
  })
})

it('evenlySpaced keeps first and last, in order and without repetition', () => {
  fc.assert(
    fc.property(fc.nat({ max: 40 }), fc.nat({ max: 20 }), (n, most) => {
      const items = Array.from({ length: n }, (_, i) => i)
      const chosen = evenlySpaced(items, most)
      expect(chosen).toHaveLength(most === 0 ? n : Math.min(n, most))
      expect(chosen).toEqual([...new Set(chosen)].sort((a, b) => a - b))
      if (most > 1 && n > 1) expect([chosen[0], chosen.at(-1)]).toEqual([0, n - 1])
    }),
  )
})

describe('References', () => {
  const solution = (question: string, ...slices: string[]): Solution => ({ question, text: slices.join('|') })
  const cutAll = (text: string) =>
    text.split('|').flatMap((text) => (text === '' ? [] : { text, shown: `~${text}` }))
  const own = [[solution('p', 'a', 'b'), solution('p', 'c')], [], [solution('q', '')]]
  const stream = () => randomStream(1, 'references')

  it("are the problem's own, without repetition as far as they reach", () => {
    const references = new References({ of: own }, cutAll)
    const drawn = references.draw(0, 3, stream())
    expect(drawn.map(({ shown }) => shown).sort()).toEqual(['~a', '~b', '~c'])
    expect(drawn[0]).toMatchObject({ question: 'p', from: 1 })
    expect(references.draw(0, 10, stream())).toHaveLength(10)
    expect(references.draw(0, 0, stream())).toEqual([])
  })

  it('are none where a problem has no solution, or one without slices', () => {
    const references = new References({ of: own }, cutAll)
    for (const problem of [1, 2, 3]) expect(references.draw(problem, 4, stream())).toEqual([])
    expect(new References({ pool: [] }, cutAll).draw(0, 4, stream())).toEqual([])
    expect(new References({ pool: [solution('q', '')] }, cutAll).draw(0, 2, stream())).toEqual([])
  })

  it('of a pool come with their own questions, whatever the problem is', () => {
    const pool = [solution('p', 'a'), solution('q', '', 'b')]
    const drawn = new References({ pool }, cutAll).draw(7, 40, stream())
    expect(drawn).toHaveLength(40)
    expect(new Set(drawn.map(({ question, shown }) => question + shown))).toEqual(new Set(['p~a', 'q~b']))
  })
})
