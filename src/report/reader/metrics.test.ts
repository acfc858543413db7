import { appendFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { MetricsIndex } from './metrics.js'

function indexOf(lines: Record<string, unknown>[]): MetricsIndex {
  const index = new MetricsIndex('nowhere')
  for (const line of lines) index.add(line)
  return index
}

const cell = fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { nil: undefined })

describe('MetricsIndex', () => {
  it('puts every round into one point, with the lowest, mean and highest of what it wrote', () => {
    fc.assert(
      fc.property(
        fc.array(cell, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 1, max: 50 }),
        (values, points) => {
          const index = indexOf(values.map((a, i) => ({ step: 3 * i, ...(a !== undefined && { a }), b: i })))
          const { from, to, columns } = index.query({ names: ['a', 'b'], points })
          expect(from).toHaveLength(Math.min(points, values.length))
          const covered = from.flatMap((first, i) =>
            values.flatMap((_, k) => (3 * k >= first && 3 * k <= to[i]! ? k : [])),
          )
          expect(covered).toEqual(values.map((_, k) => k))
          for (const [i, first] of from.entries()) {
            const own = values.filter(
              (value, k) => value !== undefined && 3 * k >= first && 3 * k <= to[i]!,
            ) as number[]
            const mean = columns.a?.mean[i] ?? null
            if (own.length === 0) {
              expect(mean).toBeNull()
              continue
            }
            expect(mean).toBeCloseTo(own.reduce((sum, value) => sum + value, 0) / own.length, -1)
            if (columns.a?.min) expect(columns.a.min[i]).toBeCloseTo(Math.min(...own), -1)
            if (columns.a?.max) expect(columns.a.max[i]).toBeCloseTo(Math.max(...own), -1)
          }
        },
      ),
    )
  })

  it('gives single rounds where there is room, cut to the range asked for, and knows only what was written', () => {
    const index = indexOf([{ step: 0 }, { step: 1, a: 1 }, { step: 2, a: null }, { step: 3, a: 4 }])
    expect(index.query({ names: ['a', 'nothing', 'a'], from: 1, to: 2 })).toEqual({
      from: [1, 2],
      to: [1, 2],
      columns: { a: { mean: [1, null] } },
    })
    expect(index.query({ names: ['a'], from: 9 })).toEqual({ from: [], to: [], columns: { a: { mean: [] } } })
    expect(index.describe([])).toEqual([{ name: 'a', role: null, count: 3, last: 4 }])
    expect([index.written('a', 0), index.written('a', 2), index.value('a', 2)]).toEqual([
      undefined,
      null,
      Number.NaN,
    ])
  })

  it('takes rounds that were played again as they were last', () => {
    const index = indexOf([1, 2, 3].map((step) => ({ step, a: step, b: step })))
    index.add({ step: 2, a: 20 })
    expect(index.query({ names: ['a', 'b'] })).toEqual({
      from: [1, 2],
      to: [1, 2],
      columns: { a: { mean: [1, 20] }, b: { mean: [1, null] } },
    })
  })

  it('is empty again once the file was cut, and counts lines without a round as damage', async () => {
    const folder = realpathSync(temporaryFolder())
    const file = join(folder, 'metrics.jsonl')
    const index = new MetricsIndex(folder)
    appendFileSync(file, '{"step":0,"a":1}\n{"a":2}\n{"step":-1}\n{"step":1.5}\n')
    await index.read()
    expect([index.rows, index.tail.damaged, index.lastRound]).toEqual([1, 3, 0])
  })

  it('tells the role of a metric by its name', () => {
    const index = indexOf([{ step: 1, 'solver/loss': 1, 'solver_x/loss': 2, 'time/round_s': 3 }])
    const roles = index.describe(['solver', 'proposer']).map(({ name, role }) => [name, role])
    expect(roles).toEqual([
      ['solver/loss', 'solver'],
      ['solver_x/loss', null],
      ['time/round_s', null],
    ])
  })
})
