/** How many answers the grader judges in a second, on two processes, over the cases of its tests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../src/core/paths.js'
import type { GradeCase } from '../src/grader/grader.js'
import { createGrader } from '../src/grader/index.js'

export interface GraderResult {
  processes: number
  cases: number
  gradingsPerSecond: number
  /** Milliseconds a case, from the question to the verdict. */
  p50: number
  p99: number
}

/** Passes over all cases; the first only warms the processes up. */
const PASSES = 3

export async function measureGrader(): Promise<GraderResult> {
  const file = join(projectRoot(), 'src', 'grader', 'fixtures', 'cases.jsonl')
  const cases = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line): GradeCase => JSON.parse(line))
  const processes = 2
  const grader = createGrader({ workers: processes })
  await grader.grade(cases)
  const times: number[] = []
  const began = performance.now()
  for (let pass = 1; pass < PASSES; pass++) times.push(...(await grader.grade(cases)).map(({ ms }) => ms))
  const seconds = (performance.now() - began) / 1000
  await grader.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => Number(times[Math.floor(share * times.length)]!.toFixed(2))
  return {
    processes,
    cases: cases.length,
    gradingsPerSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
  }
}
