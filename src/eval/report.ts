/** What is said of the samples of one evaluation. Problems are the unit: every mean is over problems. */
import type { BenchmarkProblem } from './benchmarks/problems.js'
import { accuracyInterval } from './interval.js'
import { majorityRight, type Same } from './majority.js'
import { passAtK, usualKs } from './passk.js'

/** A graded sample without its text. */
export interface SampleRow {
  /** Index of the problem. */
  problem: number
  sample: number
  right: boolean
  extracted: string | null
  /** Of the grader. */
  reason: string
  tokens: number
  stop: string
}

/** A problem in numbers, as a results file lists it. */
export interface ProblemRow {
  id: string
  answer: string
  /** Samples, and how many of them are right. */
  n: number
  right: number
  level?: string
  subject?: string
}

type Answered = Pick<BenchmarkProblem, 'id' | 'answer' | 'level' | 'subject'>

export interface Measured {
  accuracy: number
  low: number
  high: number
}

export interface Report extends Measured {
  /** Problems. `accuracy` is the mean over them of the share of right samples: mean pass@1. */
  n: number
  samples: number
  /** Unbiased pass@k, mean over problems. */
  passAtK: ({ k: number } & Measured)[]
  /** maj@n, mean over problems; absent for one sample, and for code. */
  majority?: Measured
  /** Accuracy of the first, second ... sample of every problem: of each seed. */
  bySample: number[]
  levels: ({ name: string; n: number } & Measured)[]
  subjects: ({ name: string; n: number } & Measured)[]
  /** Shares of samples: reached the token limit; gave no answer to take. */
  truncatedFrac: number
  unansweredFrac: number
  /** Samples by the grader's reason. */
  reasons: Record<string, number>
  /** Problems whose true answer the grader cannot read. */
  unparsableGold: number
  tokens: { mean: number; p50: number; p95: number; total: number }
  /** Time of asking and grading, all sittings together. */
  seconds: number
}

/** Rows may come in any order; every problem must have the same number of them. */
export async function makeReport(
  problems: readonly Answered[],
  rows: readonly SampleRow[],
  seconds: number,
  same: Same | undefined,
): Promise<Report> {
  const samples = rows.length / problems.length
  const counted = countProblems(problems, rows)
  const tokens = rows.map((row) => row.tokens).sort((a, b) => a - b)
  const share = (holds: (row: SampleRow) => boolean) => rows.filter(holds).length / rows.length
  const total = tokens.reduce((sum, each) => sum + each, 0)
  return {
    n: problems.length,
    samples,
    ...accuracyOf(counted),
    passAtK: usualKs(samples).map((k) => ({ k, ...passOf(counted, k) })),
    ...(same && samples > 1 && { majority: await majorityOf(problems.length, rows, same) }),
    bySample: Array.from({ length: samples }, (_, sample) => {
      const right = rows.filter((row) => row.sample === sample && row.right)
      return right.length / problems.length
    }),
    levels: groups(counted, ({ level }) => level),
    subjects: groups(counted, ({ subject }) => subject),
    truncatedFrac: share(({ stop }) => stop === 'length'),
    unansweredFrac: share(({ extracted }) => extracted === null),
    reasons: countReasons(rows),
    unparsableGold: new Set(
      rows.filter(({ reason }) => reason === 'unparsable_gold').map(({ problem }) => problem),
    ).size,
    tokens: {
      mean: total / tokens.length,
      p50: percentile(tokens, 0.5),
      p95: percentile(tokens, 0.95),
      total,
    },
    seconds,
  }
}

export function countProblems(problems: readonly Answered[], rows: readonly SampleRow[]): ProblemRow[] {
  const counted = problems.map(({ id, answer, level, subject }): ProblemRow => {
    return {
      id,
      answer,
      n: 0,
      right: 0,
      ...(level !== undefined && { level }),
      ...(subject !== undefined && { subject }),
    }
  })
  for (const { problem, right } of rows) {
    counted[problem]!.n++
    if (right) counted[problem]!.right++
  }
  return counted
}

/** Mean over problems of pass@k, with its interval: Wilson's where k takes in all samples, so that each problem gives 0 or 1. */
export function passOf(problems: readonly ProblemRow[], k: number): Measured {
  const values = problems.map(({ n, right }) => passAtK(n, right, k))
  const one = k === problems[0]?.n
  const { accuracy, ...ends } = named(accuracyInterval(values, one ? 1 : 2))
  return { accuracy: k === 1 ? shareOf(problems) : accuracy, ...ends }
}

/** Right samples of all: where every problem has as many, the mean over problems, rounded once. */
function shareOf(problems: readonly ProblemRow[]): number {
  const sum = (key: 'right' | 'n') => problems.reduce((total, problem) => total + problem[key], 0)
  return sum('right') / sum('n')
}

function countReasons(rows: readonly SampleRow[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { reason } of rows) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}

function accuracyOf(problems: readonly ProblemRow[]): Measured {
  return passOf(problems, 1)
}

async function majorityOf(n: number, rows: readonly SampleRow[], same: Same): Promise<Measured> {
  const votes: SampleRow[][] = Array.from({ length: n }, () => [])
  for (const row of rows) votes[row.problem]!.push(row)
  const values: number[] = []
  for (const each of votes) values.push(await majorityRight(each, same))
  return named(accuracyInterval(values, values.every(Number.isInteger) ? 1 : 2))
}

/** Empty where the problems are all of one group. */
function groups(problems: readonly ProblemRow[], nameOf: (row: ProblemRow) => string | undefined) {
  const names = [...new Set(problems.map(nameOf))].filter((name) => name !== undefined)
  if (names.length < 2) return []
  const members = (name: string) => problems.filter((row) => nameOf(row) === name)
  return names
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((name) => ({ name, n: members(name).length, ...accuracyOf(members(name)) }))
}

function named({ mean, low, high }: { mean: number; low: number; high: number }): Measured {
  return { accuracy: mean, low, high }
}

/** Nearest rank: the least value that at least the share `p` of all values does not exceed. */
function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0
}
