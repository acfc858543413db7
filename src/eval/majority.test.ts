import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { majorityRight, type Vote } from './majority.js'

const votes = (text: string): Vote[] =>
  text
    .split(' ')
    .map((extracted) => ({ extracted: extracted === '-' ? null : extracted, right: extracted === '5' }))

describe('the majority vote', () => {
  const asNumbers = async (a: string, b: string) => Number(a) === Number(b)

  it.each([
    ['5 5 3', 1],
    ['5 3 3', 0],
    ['5 3', 0.5],
    ['5 3 4', 1 / 3],
    ['5 - -', 1],
    ['- - -', 0],
    ['3 3 4', 0],
    ['5 5 3 3.0', 0.5],
    ['5 5 3 3.0 3.00', 0],
    ['5 5 5 3 4', 1],
  ])('%s', async (text, expected) => {
    expect(await majorityRight(votes(text), asNumbers)).toBeCloseTo(expected, 12)
  })

  it('compares answers only where that could matter', async () => {
    let asked = 0
    const same = async () => ++asked > 1e9
    await majorityRight(votes('5 5 5 3 4'), same)
    await majorityRight(votes('1 2 3 4'), same)
    expect(asked).toBe(0)
    await majorityRight(votes('5 5 3 4'), same)
    expect(asked).toBe(1)
  })

  it('does not depend on the order of the samples', async () => {
    const some = fc.array(fc.constantFrom('5', '3', '3.0', '4', '-'), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(some, async (all) => {
        const there = await majorityRight(votes(all.join(' ')), asNumbers)
        expect(await majorityRight(votes([...all].reverse().join(' ')), asNumbers)).toBeCloseTo(there, 12)
      }),
    )
  })
})
