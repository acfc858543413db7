import { describe, expect, it } from 'vitest'
import { ConfigError, DataError } from '../core/errors.js'
import { compare } from './compare.js'
import { type Changes, protocolFor, protocolOf } from './protocols.js'
import type { Report } from './report.js'
import type { ResultsHead } from './results.js'

interface Made {
  benchmark?: string
  protocol?: string
  changes?: Changes
  model?: string
}

/** Results with `right` of n samples for each problem. */
function results(right: number[], n: number, made: Made = {}): ResultsHead {
  const { benchmark = 'gsm8k', protocol = 'pasodoble', changes = {}, model = 'm' } = made
  const game = (problem: string) => ({ messages: [{ role: 'user' as const, content: problem }] })
  return {
    sparring: '1',
    settings: {
      benchmark: { name: benchmark, kind: 'maths', problems: right.length },
      data: { source: 'x', files: [], unfit: 0, repeated: 0, sha256: benchmark },
      model: { name: model },
      protocol: protocolFor(protocolOf(protocol, game, changes), new Set(['maths'])),
    },
    notes: [],
    report: {} as Report,
    problems: right.map((count, i) => ({ id: `${i}`, answer: '5', n, right: count })),
  }
}

describe('a comparison', () => {
  it('is paired by problem, with an interval over problems', () => {
    const result = compare(results([0, 2, 4, 4], 4), results([4, 4, 3, 4], 4, { model: 'other' }))
    expect(result).toMatchObject({ n: 4, only: { a: 0, b: 0 }, better: 2, worse: 1, differing: [] })
    // Differences 1, 0.5, -0.25, 0
    expect(result.difference).toBeCloseTo(1.25 / 4, 12)
    const deviation = Math.sqrt((0.6875 ** 2 + 0.1875 ** 2 + 0.5625 ** 2 + 0.3125 ** 2) / 3)
    expect(result.high - result.difference).toBeCloseTo((1.96 * deviation) / 2, 12)
    // Of the sums +-4 +-2 +-1 at least 5 in size: 5, 7, -5, -7
    expect([result.p, result.test]).toEqual([0.5, 'sign flips, exact'])
    expect(result.changed.map(({ id, a, b }) => [id, a, b])).toEqual([
      ['0', '0/4', '4/4'],
      ['1', '2/4', '4/4'],
      ['2', '4/4', '3/4'],
    ])
  })

  it("is McNemar's test for single samples, and takes different numbers of samples", () => {
    expect(compare(results([0, 1], 1), results([1, 1], 1)).test).toBe('McNemar, exact')
    const result = compare(results([3, 6], 6), results([1, 0], 2))
    expect([result.a, result.b, result.difference]).toEqual([0.75, 0.25, -0.5])
  })

  it('has an interval of some width where all problems changed alike', () => {
    for (const [a, b] of [
      [0, 0],
      [0, 4],
      [4, 1],
    ] as const) {
      const { difference, low, high } = compare(results([a, a], 4), results([b, b], 4))
      expect(difference).toBe((b - a) / 4)
      expect(high - low).toBeGreaterThan(0.4)
      expect(low <= difference && difference <= high).toBe(true)
    }
  })

  it('is of the problems that both have', () => {
    const result = compare(results([1, 1, 0], 1), results([1, 0], 1))
    expect(result).toMatchObject({ n: 2, only: { a: 1, b: 0 }, a: 1, b: 0.5 })
    const other = results([1], 1)
    other.problems[0]!.id = 'z'
    expect(() => compare(results([1], 1), other)).toThrow(DataError)
  })

  it("is of the user's own problems by what they ask, however their file is named", () => {
    const own = (benchmark: string, problem: string) => {
      const made = results([1], 1, { benchmark })
      made.problems[0]!.problem = problem
      return made
    }
    expect(compare(own('a.jsonl', '2 + 3?'), own('./copy/a.jsonl', '2 + 3?')).n).toBe(1)
    expect(() => compare(own('a.jsonl', '2 + 3?'), own('a.jsonl', '1 + 4?'))).toThrow(
      /The problem 0 asks one thing in one file and another in the other\./,
    )
    expect(() => compare(own('a.jsonl', '2 + 3?'), own('gsm8k', '2 + 3?'))).toThrow(ConfigError)
  })

  it('tells in what else the two differ', () => {
    const b = results([1], 1, { changes: { maxTokens: 100 }, model: 'other' })
    expect(compare(results([1], 1), b).differing).toEqual(['protocol.maxTokens 100 instead of 6144'])
  })

  it('is refused across benchmarks, graders and answers', () => {
    const a = results([1], 1)
    expect(() => compare(a, results([1], 1, { benchmark: 'math500' }))).toThrow(ConfigError)
    expect(() => compare(a, results([1], 1, { protocol: 'gar' }))).toThrow(/graded by different rules/)
    const other = results([1], 1)
    other.problems[0]!.answer = '6'
    expect(() => compare(a, other)).toThrow(/The problem 0 has the answer 5 in one file and 6 in the other\./)
  })
})
