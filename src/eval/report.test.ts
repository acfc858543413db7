import { describe, expect, it } from 'vitest'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import { accuracyInterval } from './interval.js'
import { countProblems, makeReport, passOf, type SampleRow } from './report.js'

const problem = (id: string, level: string, subject?: string): BenchmarkProblem => ({
  id,
  kind: 'maths',
  problem: '?',
  answer: '5',
  level,
  ...(subject !== undefined && { subject }),
})

const problems = [problem('a', '10'), problem('b', '2'), problem('c', '2')]

/** Rows from words: what was extracted, - for nothing, with tokens that count up. */
function rowsOf(...texts: string[]): SampleRow[] {
  let tokens = 0
  return texts.flatMap((text, at) =>
    text.split(' ').map((extracted, sample) => ({
      problem: at,
      sample,
      right: extracted === '5',
      extracted: extracted === '-' ? null : extracted,
      reason: extracted === '5' ? 'equal' : extracted === '-' ? 'no_answer' : 'different',
      tokens: ++tokens,
      stop: extracted === '-' ? 'length' : 'eos',
    })),
  )
}

const same = async (a: string, b: string) => a === b

describe('a report', () => {
  it('has problems as its unit', async () => {
    const rows = rowsOf('5 5 5 5', '5 3 3 -', '1 2 - -')
    const report = await makeReport(problems, rows.reverse(), 9, same)
    expect(report).toMatchObject({
      n: 3,
      samples: 4,
      bySample: [2 / 3, 1 / 3, 1 / 3, 1 / 3],
      truncatedFrac: 3 / 12,
      unansweredFrac: 3 / 12,
      reasons: { equal: 5, different: 4, no_answer: 3 },
      unparsableGold: 0,
      tokens: { mean: 6.5, p50: 6, p95: 12, total: 78 },
      subjects: [],
      seconds: 9,
    })
    expect(report.accuracy).toBeCloseTo((1 + 0.25 + 0) / 3, 12)
    const { low, high } = accuracyInterval([1, 0.25, 0], 4)
    expect([report.low, report.high]).toEqual([low, high])
    expect(report.passAtK.map(({ k, accuracy }) => [k, accuracy])).toEqual([
      [1, expect.closeTo(1.25 / 3, 12)],
      [2, expect.closeTo(1.5 / 3, 12)],
      [4, expect.closeTo(2 / 3, 12)],
    ])
    expect(report.majority!.accuracy).toBeCloseTo(1 / 3, 12)
  })

  it('lists levels by number, and no group that is the only one', async () => {
    const report = await makeReport(problems, rowsOf('5', '5', '3'), 1, same)
    expect(report.levels.map(({ name, n, accuracy }) => [name, n, accuracy])).toEqual([
      ['2', 2, 0.5],
      ['10', 1, 1],
    ])
    expect(report).not.toHaveProperty('majority')
  })

  it('counts problems whose true answer cannot be read once each', async () => {
    const rows = rowsOf('3 3', '5 5', '3 3').map((row) =>
      row.right ? row : { ...row, reason: 'unparsable_gold' },
    )
    expect((await makeReport(problems, rows, 1, same)).unparsableGold).toBe(2)
  })

  it("takes Wilson's interval where every problem gives 0 or 1", () => {
    const counted = countProblems(problems, rowsOf('5 5', '5 3', '3 3'))
    expect(passOf(counted, 2)).toMatchObject({ accuracy: expect.closeTo(2 / 3, 12) })
    const single = countProblems(problems, rowsOf('5', '5', '3'))
    expect(passOf(counted, 2).low).toBeCloseTo(passOf(single, 1).low, 12)
    expect(passOf(counted, 1).low).not.toBeCloseTo(passOf(single, 1).low, 3)
  })
})
