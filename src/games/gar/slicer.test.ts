import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultMarkers, protectedRanges, reasoningOf, type SlicerSettings, sliceText } from './slicer.js'

const settings: SlicerSettings = {
  delimiter: '\\n+',
  markers: defaultMarkers,
  min_tokens: 10,
  max_tokens: 40,
}
/** A token a character. */
const count = (text: string) => text.length
const cut = (text: string, given: Partial<SlicerSettings> = {}) =>
  sliceText(text, { ...settings, ...given }, count).map((slice) => slice.text)

const words = fc.constantFrom(
  ...defaultMarkers,
  'the',
  'sum',
  '12',
  'is.',
  '**So**',
  '- Then',
  '1. Case',
  '$$',
  'é',
  '\u{1F600}',
)
const gaps = fc.constantFrom(' ', '\n', '\n\n', '. ', '')
const blocks = fc.constantFrom(
  '$$a\nb\nc$$',
  '\\[ x = 1.\n Wait \\]',
  '```js\nlet a = 1. \n\nSo\n```',
  '$$',
  '```',
  '\\[',
)
const prose = fc
  .array(fc.tuple(fc.oneof({ weight: 6, arbitrary: words }, { weight: 1, arbitrary: blocks }), gaps), {
    maxLength: 60,
  })
  .map((parts) => parts.flat().join(''))
const lengths = fc.record({ min_tokens: fc.nat({ max: 60 }), max_tokens: fc.integer({ min: 1, max: 80 }) })

describe('sliceText', () => {
  it('joins to the text, to the character, in places that are told', () => {
    fc.assert(
      fc.property(fc.oneof(prose, fc.string({ unit: 'grapheme' })), lengths, (text, given) => {
        const slices = sliceText(text, { ...settings, ...given }, count)
        if (text.trim() === '') expect(slices).toEqual([])
        else expect(slices.map((slice) => slice.text).join('')).toBe(text)
        for (const { text: own, start, end } of slices) {
          expect(text.slice(start, end)).toBe(own)
          expect(own.trim()).not.toBe('')
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('never cuts inside a formula, a code block or a character', () => {
    fc.assert(
      fc.property(prose, lengths, (text, given) => {
        const cuts = sliceText(text, { ...settings, ...given }, count).map(({ start }) => start)
        for (const [from, to] of protectedRanges(text)) {
          expect(cuts.filter((at) => at > from && at < to)).toEqual([])
        }
        for (const at of cuts)
          expect(text.slice(at - 1, at + 1)).not.toMatch(/^[\uD800-\uDBFF][\uDC00-\uDFFF]$/)
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps to the longest length, but for what may not be cut and for a short end', () => {
    fc.assert(
      fc.property(prose, lengths, (text, given) => {
        const slices = sliceText(text, { ...settings, ...given }, count)
        slices.forEach(({ text: slice }, i) => {
          const most = i === slices.length - 1 ? 1.25 * given.max_tokens : given.max_tokens
          const longest = Math.max(...protectedRanges(slice).map(([from, to]) => to - from), 0)
          const space = /^\s*/.exec(slice)![0].length + /\s*$/.exec(slice)![0].length
          expect(slice.length - space).toBeLessThanOrEqual(Math.max(most, longest, 2))
        })
      }),
      { numRuns: 1000 },
    )
  })

  it('ends a slice of its least length before a new thought, and only there', () => {
    const text = 'The sum is 12.\nand more\nWait, it is 13.\nSo what\nTherefore 14 is it.\nand on'
    expect(cut(text)).toEqual([
      'The sum is 12.\nand more\n',
      'Wait, it is 13.\n',
      'So what\nTherefore 14 is it.\nand on',
    ])
  })

  it('knows a marker behind list and bold marks, and as a whole word alone', () => {
    const lines = (line: string) => cut(`Something first\n${line} something`).length
    for (const line of ['- Wait,', '1. First', '**Therefore**', '## Step 2:', '  So', "Let's", 'Let me']) {
      expect([line, lines(line)]).toEqual([line, 2])
    }
    for (const line of ['Sometimes', 'Nowhere', 'wait', 'Firstly', 'and So']) {
      expect([line, lines(line)]).toEqual([line, 1])
    }
  })

  it('breaks what is too long at sentences, then at spaces, then anywhere', () => {
    expect(cut('One is one. Two is two. Three is three.', { max_tokens: 24 })).toEqual([
      'One is one. Two is two. ',
      'Three is three.',
    ])
    expect(cut('one two three four', { max_tokens: 8, min_tokens: 0 })).toEqual([
      'one two ',
      'three ',
      'four',
    ])
    expect(cut('abcdefghij', { max_tokens: 4, min_tokens: 0 })).toEqual(['abcd', 'efgh', 'ij'])
  })

  it('joins a short end to the slice before it, up to a quarter beyond the length', () => {
    const of = (last: number) => cut(`${'a'.repeat(39)}\n${'b'.repeat(last)}`).length
    expect([of(9), of(10)]).toEqual([1, 2])
    expect(cut(`${'a'.repeat(39)}\n${'b'.repeat(9)}`, { max_tokens: 39, min_tokens: 10 })).toHaveLength(2)
  })

  it('cuts at other delimiters: the links of a chain', () => {
    const chain = { delimiter: '\\n|(?<==.*)(?==)', markers: [], min_tokens: 1, max_tokens: 64 }
    expect(cut('5-4+6=1+6=7 \\boxed{7}', chain)).toEqual(['5-4+6=1+6', '=7 \\boxed{7}'])
    expect(cut('5-4+6', chain)).toEqual(['5-4+6'])
    expect(cut('5-4=1\n\n1+6=7\n', chain)).toEqual(['5-4=1\n\n', '1+6=7\n'])
  })

  it.each(['', ' ', '\n\n', '\t \n'])('finds no slice in %j', (text) => {
    expect(cut(text)).toEqual([])
  })

  it('takes a text of one token as one slice', () => {
    expect(cut('7')).toEqual(['7'])
  })
})

describe('reasoningOf', () => {
  it.each([
    ['<think>a b</think>c', 'a b', 7],
    ['a b</think>c', 'a b', 0],
    ['<think>a b', 'a b', 7],
    ['a b', 'a b', 0],
    ['</think>c', '', 0],
    ['a</think><think>b</think>', 'a', 0],
    ['', '', 0],
  ])('of %j is %j', (completion, text, start) => {
    expect(reasoningOf(completion)).toEqual({ text, start })
  })
})
