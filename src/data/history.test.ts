import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jaccard, QuestionHistory } from './history.js'

const ids = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 12 })
const range = (n: number) => Array.from({ length: n }, (_, i) => i)

/** J by definition, on sets. */
function reference(a: number[], b: number[]): number {
  const union = new Set([...a, ...b])
  const shared = [...union].filter((id) => a.includes(id) && b.includes(id))
  return union.size === 0 ? 1 : shared.length / union.size
}

describe('QuestionHistory', () => {
  it('counts as the definition says, whatever order and repetition the ids have', () => {
    fc.assert(
      fc.property(
        fc.array(ids, { maxLength: 8 }),
        ids,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (asked, q, tau) => {
          const history = new QuestionHistory(100)
          for (const each of asked) history.push(each)
          expect(history.duplicates(q, tau)).toBe(asked.filter((each) => reference(q, each) > tau).length)
          expect(history.size).toBe(asked.length)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('does not count a similarity of exactly the threshold', () => {
    const history = new QuestionHistory()
    history.push(range(5))
    expect(jaccard(range(4), range(5))).toBe(0.8)
    expect(history.duplicates(range(4), 0.8)).toBe(0)
    expect(history.duplicates(range(5), 0.8)).toBe(1)
    expect(history.duplicates(range(5), 1)).toBe(0)
  })

  it('holds two empty questions for the same, and an empty one for different from any other', () => {
    const history = new QuestionHistory()
    history.push([])
    expect(history.duplicates([], 0.8)).toBe(1)
    expect(history.duplicates([1], 0)).toBe(0)
  })

  it('is empty at first and forgets the oldest beyond its capacity', () => {
    const history = new QuestionHistory(2)
    expect(history.size).toBe(0)
    expect(history.duplicates([1], 0)).toBe(0)
    for (const id of [1, 2, 3]) history.push([id])
    expect(history.size).toBe(2)
    expect([1, 2, 3].map((id) => history.duplicates([id], 0.8))).toEqual([0, 1, 1])
  })

  it('survives JSON and goes on the same', () => {
    fc.assert(
      fc.property(fc.array(ids), fc.array(ids), ids, (before, after, question) => {
        const history = new QuestionHistory(5)
        for (const each of before) history.push(each)
        const copy = QuestionHistory.fromJSON(JSON.parse(JSON.stringify(history)))
        for (const each of after) {
          history.push(each)
          copy.push(each)
        }
        expect(JSON.stringify(copy)).toBe(JSON.stringify(history))
        expect(copy.duplicates(question, 0.5)).toBe(history.duplicates(question, 0.5))
      }),
    )
  })
})
