/** Two evaluations of the same problems, compared problem by problem. */
import { ConfigError, DataError } from '../core/errors.js'
import { benchmarkNames } from './benchmarks/registry.js'
import { accuracyInterval } from './interval.js'
import { signFlipTest } from './paired.js'
import type { ProblemRow } from './report.js'
import type { ResultsHead } from './results.js'
import { differences, type EvalSettings } from './settings.js'

export interface Comparison {
  benchmark: string
  /** Problems that both have. */
  n: number
  /** Problems that only one has. */
  only: { a: number; b: number }
  /** Accuracy on the common problems. */
  a: number
  b: number
  /** Mean over problems of accuracy b - accuracy a, with its 95 % interval. */
  difference: number
  low: number
  high: number
  /** Chance of a difference at least as large, were a and b alike. */
  p: number
  test: 'McNemar, exact' | 'sign flips, exact'
  /** Problems that b has more often right than a, and less often. */
  better: number
  worse: number
  /** Settings in which the two differ beside the model, one phrase each: b's instead of a's. */
  differing: string[]
  /** Problems by how much they changed, most first; those that did not are left out. */
  changed: { id: string; a: string; b: string; difference: number }[]
}

const Z = 1.96

/** Throws ConfigError where the two are of different benchmarks or graders, DataError where they share no problem. */
export function compare(a: ResultsHead, b: ResultsHead): Comparison {
  const [first, second] = [a.settings, b.settings]
  if (!sameSet(first, second)) {
    throw new ConfigError(`One file is of ${first.benchmark.name}, the other of ${second.benchmark.name}.`, {
      hint: 'Compare two evaluations of the same benchmark.',
    })
  }
  const differing = differences(first, second).filter((phrase) => !/^(another )?model\./.test(phrase))
  const grader = differing.find((phrase) => /^(another )?protocol\.grader\b/.test(phrase))
  if (grader !== undefined) {
    throw new ConfigError(`The two were graded by different rules: ${grader}.`, {
      hint: 'Evaluate one of them anew under the settings of the other.',
    })
  }
  const pairs = pair(a.problems, b.problems, isOwn(first) || isOwn(second))
  if (pairs.length === 0) {
    throw new DataError('The two evaluations have no problem in common.', {
      hint: 'Problems are told by their ids.',
    })
  }
  const n = pairs.length
  const values = pairs.map(([left, right]) => right.right / right.n - left.right / left.n)
  const total = (side: 0 | 1, key: 'right' | 'n') => pairs.reduce((sum, each) => sum + each[side][key], 0)
  const accuracy = (side: 0 | 1) => total(side, 'right') / total(side, 'n')
  const single = pairs.every((each) => each.every((row) => row.n === 1))
  return {
    benchmark: first.benchmark.name,
    n,
    only: { a: a.problems.length - n, b: b.problems.length - n },
    a: accuracy(0),
    b: accuracy(1),
    ...differenceOf(values),
    p: signFlipTest(pairs.map(([left, right]) => right.right * left.n - left.right * right.n)),
    test: single ? 'McNemar, exact' : 'sign flips, exact',
    better: values.filter((value) => value > 0).length,
    worse: values.filter((value) => value < 0).length,
    differing,
    changed: pairs
      .map(([left, right], i) => {
        return { id: left.id, a: shares(left), b: shares(right), difference: values[i]! }
      })
      .filter(({ difference }) => difference !== 0)
      .sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference)),
  }
}

/**
 * Mean +- 1.96 s / sqrt(n). Where all are alike, so that s tells nothing: Wilson's interval of n problems for their size,
 * with their sign; to both sides where it is 0.
 */
function differenceOf(values: readonly number[]): { difference: number; low: number; high: number } {
  const n = values.length
  const first = values[0]!
  if (values.every((value) => value === first)) {
    const { low, high } = accuracyInterval(Array(n).fill(Math.abs(first)), 1)
    if (first === 0) return { difference: 0, low: -high, high }
    return first > 0 ? { difference: first, low, high } : { difference: first, low: -high, high: -low }
  }
  const difference = values.reduce((sum, value) => sum + value, 0) / n
  const variance = values.reduce((sum, value) => sum + (value - difference) ** 2, 0) / (n - 1)
  const half = Z * Math.sqrt(variance / n)
  return { difference, low: difference - half, high: difference + half }
}

/** The user's own files are told by their problems, a set by its name. */
function sameSet(a: EvalSettings, b: EvalSettings): boolean {
  const named = a.benchmark.name === b.benchmark.name
  return named || a.data.sha256 === b.data.sha256 || (isOwn(a) && isOwn(b))
}

function isOwn({ benchmark }: EvalSettings): boolean {
  return !benchmarkNames.includes(benchmark.name)
}

function shares({ right, n }: ProblemRow): string {
  return `${right}/${n}`
}

/**
 * Throws ConfigError where a problem has another answer in the one file than in the other, or, with `texts`, asks
 * something else there.
 */
function pair(
  a: ResultsHead['problems'],
  b: ResultsHead['problems'],
  texts: boolean,
): [ProblemRow, ProblemRow][] {
  const others = new Map(b.map((row) => [row.id, row]))
  return a.flatMap((row): [ProblemRow, ProblemRow][] => {
    const other = others.get(row.id)
    if (other === undefined) return []
    const differs =
      other.answer !== row.answer
        ? `has the answer ${row.answer} in one file and ${other.answer} in the other`
        : texts && other.problem !== row.problem
          ? 'asks one thing in one file and another in the other'
          : undefined
    if (differs === undefined) return [[row, other]]
    throw new ConfigError(`The problem ${row.id} ${differs}.`, {
      hint: 'The two were made from different data; evaluate one of them anew.',
    })
  })
}
