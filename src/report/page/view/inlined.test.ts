import { describe, expect, it } from 'vitest'
import type { RolloutRow, RolloutsQuery } from '../../api/rollouts.js'
import { filterRows, metricsBetween } from './inlined.js'

const row = (line: number, more: Partial<RolloutRow> = {}): RolloutRow => ({
  round: 1,
  role: 'solver',
  line,
  group: 0,
  index: line,
  text: `answer ${line}`,
  question: null,
  tokens: 5,
  stop: 'eos',
  logprob: -1,
  reward: line / 10,
  advantage: 0,
  rate: null,
  outcome: null,
  trained: true,
  ...more,
})
const rows = [
  row(0),
  row(1, { round: 2, outcome: 'equal' }),
  row(2, { role: 'critic', question: 'How MANY?' }),
  row(3, { rate: 0.5 }),
]
const lines = (query: RolloutsQuery) => filterRows(rows, query).rows.map(({ line }) => line)

describe('filterRows', () => {
  it('orders by round, reward, or by lot', () => {
    expect(lines({})).toEqual([1, 0, 2, 3])
    expect(lines({ order: 'best' })).toEqual([3, 2, 1, 0])
    expect(lines({ order: 'worst' })).toEqual([0, 1, 2, 3])
    expect(lines({ order: 'random', seed: 4 })).toEqual(lines({ order: 'random', seed: 4 }))
    const drawn = [1, 2, 3, 4, 5, 6].map((seed) => String(lines({ order: 'random', seed })))
    expect(new Set(drawn).size).toBeGreaterThan(2)
  })

  it('narrows by everything that a query may say', () => {
    expect(lines({ from: 2 })).toEqual([1])
    expect(lines({ role: 'critic' })).toEqual([2])
    expect(lines({ outcome: 'equal' })).toEqual([1])
    expect(lines({ text: 'many' })).toEqual([2])
    expect(lines({ rate: [0.5, 0.6] })).toEqual([3])
    expect(lines({ rate: [0.4, 0.5] })).toEqual([])
    expect(lines({ reward: [0.1, 0.3], order: 'old' })).toEqual([2, 1])
    expect(lines({ trained: false })).toEqual([])
  })

  it('gives pages that together are the list', () => {
    const first = filterRows(rows, { limit: 3 })
    const second = filterRows(rows, { limit: 3, cursor: first.cursor! })
    expect([first.total, first.cursor, second.cursor]).toEqual([4, '3', null])
    expect([...first.rows, ...second.rows]).toEqual(filterRows(rows, {}).rows)
  })
})

describe('metricsBetween', () => {
  it('keeps the points of some rounds and the columns asked for', () => {
    const all = {
      from: [0, 1, 3],
      to: [0, 2, 4],
      columns: { a: { mean: [1, 2, 3], min: [0, 1, 2], max: [2, 3, 4] }, b: { mean: [1, 1, 1] } },
    }
    expect(metricsBetween(all, ['a', 'none'], 2, 3)).toEqual({
      from: [1, 3],
      to: [2, 4],
      columns: { a: { mean: [2, 3], min: [1, 2], max: [3, 4] } },
    })
  })
})
