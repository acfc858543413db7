import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BigRun, ROLLOUTS_A_ROUND } from '../../../test/support/big-run.js'
import type { HistogramQuery } from '../api/histogram.js'
import type { RolloutRow, RolloutsQuery } from '../api/rollouts.js'
import { Library } from './library.js'
import { best } from './list.js'
import type { RunReader } from './run.js'

const ROUNDS = 30
let folder: string
let run: RunReader

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sparring-test-'))
  BigRun.write(join(folder, 'big'), { rounds: ROUNDS })
  run = (await (await Library.at(folder)).open('big'))!
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Every page, asked for again where not all was read at first. */
async function all(query: RolloutsQuery): Promise<RolloutRow[]> {
  const rows: RolloutRow[] = []
  for (let cursor: string | undefined; ; ) {
    const answer = await run.rollouts({ ...query, ...(cursor && { cursor }) })
    if (query.text === undefined && answer.coverage.read < answer.coverage.of) continue
    rows.push(...answer.rows)
    if (answer.cursor === null) return rows
    cursor = answer.cursor
  }
}

const key = ({ round, role, line }: RolloutRow) => `${round} ${role} ${line}`

describe('listRollouts', () => {
  it('gives every rollout once, page by page, the newest first', async () => {
    const rows = await all({ limit: 200 })
    expect(new Set(rows.map(key)).size).toBe(ROUNDS * ROLLOUTS_A_ROUND)
    expect(rows).toHaveLength(ROUNDS * ROLLOUTS_A_ROUND)
    const rounds = rows.map(({ round }) => round)
    expect(rounds).toEqual([...rounds].sort((a, b) => b - a))
    const old = await all({ limit: 200, order: 'old', role: 'proposer', from: 3, to: 4 })
    expect([...new Set(old.map(({ round }) => round))]).toEqual([3, 4])
  })

  it('lists behind each bin of a histogram what the bin counts', async () => {
    const histograms: HistogramQuery[] = [
      ...(['reward', 'advantage', 'tokens'] as const).map((of) => ({ of, role: 'proposer' })),
      { of: 'reward', role: 'solver' },
    ]
    for (const query of histograms) {
      let answer = await run.histogram({ ...query, columns: 3 })
      while (answer.coverage.read < answer.coverage.of) answer = await run.histogram({ ...query, columns: 3 })
      const { role, filter, edges, from, to, counts } = answer
      for (const [column, bins] of counts.entries()) {
        for (const [bin, count] of bins.entries()) {
          const range: [number, number] = [edges[bin]!, edges[bin + 1]!]
          const listed = await run.rollouts({
            role,
            from: from[column]!,
            to: to[column]!,
            [filter]: range,
            limit: 1,
          })
          expect({ query, bin, n: listed.total }).toEqual({ query, bin, n: count })
        }
      }
      const sum = counts.flat().reduce((total, count) => total + count, 0)
      expect(sum).toBe(ROUNDS * (role === 'proposer' ? 16 : 84))
    }
  })

  it('orders by reward, and draws the same for the same seed', async () => {
    const rewards = (await all({ role: 'proposer', order: 'best', limit: 200 })).map(({ reward }) => reward!)
    expect(rewards).toEqual([...rewards].sort((a, b) => b - a))
    const worst = await run.rollouts({ role: 'proposer', order: 'worst', limit: 5 })
    expect(worst.rows.map(({ reward }) => reward)).toEqual([0, 0, 0, 0, 0])
    const draw = async (seed: number) =>
      (await all({ order: 'random', seed, from: 1, to: 5, limit: 100 })).map(key)
    const first = await draw(1)
    expect(await draw(1)).toEqual(first)
    expect(await draw(2)).not.toEqual(first)
    expect(new Set(first)).toEqual(new Set(await draw(2)))
  })

  it('filters by role, outcome, whether it was trained on, and pass rate of the question', async () => {
    const valid = await all({ role: 'proposer', outcome: 'valid', limit: 200 })
    expect(valid.length).toBeGreaterThan(50)
    expect(new Set(valid.map(({ outcome }) => outcome))).toEqual(new Set(['valid']))
    const trained = await all({ role: 'solver', trained: true, from: 2, to: 2, limit: 200 })
    // Exactly the answers to the valid questions of the round.
    expect(trained).toHaveLength(6 * valid.filter(({ round }) => round === 2).length)
    const half = await all({ role: 'solver', rate: [0.49, 0.51], limit: 200 })
    expect(new Set(half.map(({ rate }) => rate))).toEqual(new Set([0.5]))
    expect((await run.rollouts({ outcome: 'no such' })).total).toBe(0)
    expect((await run.rollouts({ role: '../proposer' })).rows).toEqual([])
  })

  it('finds texts in prompts, completions and questions, whatever their capitals', async () => {
    const question = (await run.rollouts({ role: 'proposer', from: 7, to: 7 })).rows[3]!.question!
    const found = await all({ text: question })
    expect(found.filter(({ role }) => role === 'solver').length).toBeGreaterThanOrEqual(6)
    for (const row of found) expect(`${row.question}${row.text}`).toContain(question)
    const shouted = await all({ text: 'FROM THE LEFT to', role: 'solver', from: 7, to: 7 })
    expect(shouted).toHaveLength(84)
    expect(await all({ text: '"\\boxed' })).toEqual([])
    expect((await all({ text: '\\boxed{', role: 'proposer', from: 1, to: 1 })).length).toBe(16)
  })

  it('leaves out of later pages what was played since the first', async () => {
    const { cursor } = await run.rollouts({ limit: 10 })
    expect(cursor).toBe(`${ROUNDS}.10`)
    const { rows } = await run.rollouts({ limit: 3, cursor: '5.0' })
    expect(rows[0]!.round).toBe(5)
    expect((await run.rollouts({ limit: 3, cursor: 'nonsense' })).rows).toHaveLength(3)
  })
})

describe('best', () => {
  it('is what sorting everything would give', () => {
    const number = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ noNaN: true }))
    fc.assert(
      fc.property(fc.array(number, { maxLength: 60 }), fc.nat(60), (values, most) => {
        const n = Math.min(most, values.length)
        const sorted = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]! || a - b)
        expect(best(Float64Array.from(values), n)).toEqual(sorted.slice(0, n))
      }),
    )
  })
})
