import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { takeInPasses } from './passes.js'

const items = [0, 1, 2, 3, 4, 5, 6]

describe('takeInPasses', () => {
  it('gives every item once a pass', () => {
    const row = takeInPasses(items, 0, 21, 3)
    for (const from of [0, 7, 14]) expect(row.slice(from, from + 7).sort()).toEqual(items)
    expect(row.slice(0, 7)).not.toEqual(row.slice(7, 14))
  })

  it('is one row, wherever it is entered', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(50), fc.nat(50), (first, n, seed) => {
        const row = takeInPasses(items, 0, first + n, seed)
        expect(takeInPasses(items, first, n, seed)).toEqual(row.slice(first))
      }),
    )
  })

  it('gives nothing of nothing', () => {
    expect(takeInPasses([], 3, 2, 0)).toEqual([])
  })
})
