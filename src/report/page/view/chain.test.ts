import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeSlices, segments, stance, stepsOf } from './chain.js'

const slice = (start: number | null, end: number | null) => ({ start, end, piece: 0, verdicts: [] })

describe('segments', () => {
  it('cuts overlapping slices where the first ends', () => {
    const found = segments(10, [slice(5, 9), slice(1, 6), slice(null, null)])
    expect(found.map(({ start, end, slice: own }) => [start, end, own !== null])).toEqual([
      [0, 1, false],
      [1, 6, true],
      [6, 9, true],
      [9, 10, false],
    ])
  })

  it('covers a text once, whatever the slices say', () => {
    const slices = fc.array(fc.tuple(fc.integer({ min: -3, max: 30 }), fc.integer({ min: -3, max: 30 })))
    fc.assert(
      fc.property(fc.nat(20), slices, (length, ends) => {
        const found = segments(
          length,
          ends.map(([start, end]) => slice(start, end)),
        )
        expect(found.map(({ start }) => start)).toEqual(
          [0, ...found.map(({ end }) => end)].slice(0, found.length),
        )
        expect(found.at(-1)?.end ?? 0).toBe(length)
      }),
    )
  })
})

describe('placeSlices', () => {
  it('finds slices in the text, and keeps those that are not there', () => {
    const shown = ['2+3=5', 'elsewhere', ''].map((text) => ({ shown: text, verdicts: [] }))
    expect(placeSlices('1+1=2\n2+3=5', shown).map(({ start, end }) => [start, end])).toEqual([
      [6, 11],
      [null, null],
      [null, null],
    ])
  })
})

describe('stance', () => {
  it('tells what verdicts say together', () => {
    const of = (...said: ('YES' | 'NO' | null)[]) => stance(said.map((verdict) => ({ verdict })))
    expect([of('YES', null), of('NO'), of('NO', 'YES'), of(null), of()]).toEqual([
      'yes',
      'no',
      'split',
      'unread',
      'unread',
    ])
  })
})

describe('stepsOf', () => {
  it('reads the steps of a prompt', () => {
    const prompt =
      'Check it.\nStep k: what you found\nProblem: 1+2\nStep 1: 1+2=3\n\nStep 2: 3\nmore\nStep 3: \\boxed{3}<|im_end|>\nmodel'
    expect(stepsOf(prompt)).toEqual([
      { number: 1, text: '1+2=3' },
      { number: 2, text: '3\nmore' },
      { number: 3, text: '\\boxed{3}' },
    ])
  })
})
