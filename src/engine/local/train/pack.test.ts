import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { causalMask, pack, planMicroBatches } from './pack.js'

const runs = { seed: 1, numRuns: 60 }
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)

describe('planMicroBatches', () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 20 })
  const budget = fc.integer({ min: 1, max: 60 })
  const forPlans = (check: (plan: number[][], lengths: number[], budget: number) => void) =>
    fc.assert(
      fc.property(lengths, budget, (l, b) => check(planMicroBatches(l, b), l, b)),
      runs,
    )

  it('places every sequence once, the longest first, and makes no empty batch', () => {
    forPlans((plan, lengths) => {
      const order = plan.flat()
      expect([...order].sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i))
      expect(order.map((i) => lengths[i]!)).toEqual([...lengths].sort((a, b) => b - a))
      expect(plan.every((batch) => batch.length > 0)).toBe(true)
    })
  })

  it('keeps to the budget, except for a sequence that is longer by itself', () => {
    forPlans((plan, lengths, budget) => {
      for (const batch of plan)
        expect(batch.length === 1 || sum(batch.map((i) => lengths[i]!)) <= budget).toBe(true)
    })
  })

  it('begins a batch only where the next sequence would not have fitted', () => {
    forPlans((plan, lengths, budget) => {
      for (const [k, batch] of plan.slice(1).entries())
        expect(sum(plan[k]!.map((i) => lengths[i]!)) + lengths[batch[0]!]!).toBeGreaterThan(budget)
    })
  })
})

describe('pack', () => {
  const batch = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
    kvHeads: fc.integer({ min: 1, max: 3 }),
    group: fc.integer({ min: 1, max: 3 }),
  })
  const forBatches = (
    check: (packed: ReturnType<typeof pack>, lengths: number[], heads: number, kvHeads: number) => void,
  ) =>
    fc.assert(
      fc.property(batch, ({ lengths, kvHeads, group }) => {
        const sequences = lengths.map((length, b) => ({
          tokens: Int32Array.from({ length }, (_, t) => 100 * b + t),
        }))
        check(pack(sequences, kvHeads * group, kvHeads), lengths, kvHeads * group, kvHeads)
      }),
      runs,
    )

  it('lays sequences one behind another, positions counting from 0 in each', () => {
    forBatches((packed, lengths) => {
      const rows = lengths.flatMap((length, b) => Array.from({ length }, (_, t) => ({ b, t })))
      expect(packed.tokens).toBe(sum(lengths))
      expect(packed.sequences).toBe(lengths.length)
      expect(packed.longest).toBe(Math.max(...lengths))
      expect([...packed.ids]).toEqual(rows.map(({ b, t }) => 100 * b + t))
      expect([...packed.positions]).toEqual(rows.map(({ t }) => BigInt(t)))
      expect(packed.starts).toEqual(lengths.map((_, b) => sum(lengths.slice(0, b))))
    })
  })

  it('puts token t of sequence b and head h into row ((b, h), t) of the padded form', () => {
    forBatches((packed, lengths, heads, kvHeads) => {
      for (const [table, count] of [
        [packed.packQuery, heads],
        [packed.packKey, kvHeads],
      ] as const) {
        const expected = lengths.flatMap((length, b) =>
          Array.from({ length }, (_, t) =>
            Array.from({ length: count }, (_, h) => (b * count + h) * packed.longest + t),
          ).flat(),
        )
        expect([...table]).toEqual(expected)
      }
    })
  })

  it('moves rows there and back: a permutation but for padding, which points at some row as well', () => {
    forBatches((packed, lengths, heads, kvHeads) => {
      const { tokens, longest } = packed
      for (const [padTable, packTable, count] of [
        [packed.padQuery, packed.packQuery, heads],
        [packed.padKey, packed.packKey, kvHeads],
      ] as const) {
        expect(packTable).toHaveLength(tokens * count)
        expect(padTable).toHaveLength(lengths.length * count * longest)
        expect(packTable.every((place, row) => padTable[place] === row)).toBe(true)
        expect(padTable.every((row) => row >= 0 && row < tokens * count)).toBe(true)
      }
    })
  })

  it('marks as real the query rows that hold a token, and no others', () => {
    forBatches(({ real, packQuery }) => {
      const places = new Set(packQuery)
      expect(real.every((mark, place) => mark === Number(places.has(place)))).toBe(true)
    })
  })
})

describe('causalMask', () => {
  it('lets every query of a group see the keys up to its own, and gives the others no weight', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 9 }), (group, longest) => {
        const mask = causalMask(group, longest)
        expect(mask).toHaveLength(group * longest * longest)
        for (const [i, value] of mask.entries()) {
          const [query, key] = [Math.floor(i / longest) % longest, i % longest]
          if (key <= query) expect(value).toBe(0)
          // In float32, whatever the scores: exp(score + value - largest score) is 0.
          else expect(Math.fround(Math.exp(value + 1e6))).toBe(0)
        }
      }),
      runs,
    )
  })
})
