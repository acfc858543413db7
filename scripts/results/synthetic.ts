/** Results made up for tests of words, tables and pictures. */
import type { Comparison, Row } from './plan.js'
import { outcomeOf, type Result, resultOf } from './summary.js'
import type { Trajectory } from './trajectory.js'

export const row = (name: string, given: Partial<Row> = {}): Row => ({
  name,
  label: `the ${name}`,
  recipe: `${name}-tiny`,
  rounds: 2,
  minutes: 1,
  labels: 'none',
  about: `what ${name} does`,
  ...given,
})

/** Of the first `right` of 100 problems. */
const shares = (right: number) => Array.from({ length: 100 }, (_, i) => Number(i < right))

/** Two rounds of a thousand passes and so many seconds each; right answers at the start and at the end. */
export function trajectory([before, after]: readonly [number, number], seconds = 1): Trajectory {
  const reading = (step: number, right: number) => ({
    step,
    answers: { sampled: shares(right), greedy: shares(right) },
  })
  return {
    rounds: 2,
    work: [0, 1, 2].map((round) => ({
      passes: 1000 * round,
      sampled: 100 * round,
      trained: 50 * round,
      seconds: seconds * round,
    })),
    readings: [reading(0, before), reading(2, after)],
    labels: [1, 1, 1, 1, 1, 2, 2, 2, 2, 2].map((step) => ({ step, right: step === 1 ? 0.25 : 0.75 })),
  }
}

/** A row whose seeds rise or fall as told, in right answers of 100. */
export function result(
  of: Row,
  seeds: readonly (readonly [number, number])[],
  { seconds = 1, budget }: { seconds?: number; budget?: number } = {},
): Result {
  return resultOf(
    of,
    seeds.map((each, seed) => outcomeOf(seed, trajectory(each, seconds), budget)),
  )
}

export const comparison = (rows: readonly Row[], given: Partial<Comparison> = {}): Comparison => ({
  name: 'made-up',
  title: 'Made up',
  intro: 'Some rows.',
  every: 2,
  reference: rows[0]!.name,
  heldout: { problems: 'arithmetic', maxTokens: 8 },
  rows,
  claims: [],
  pictures: [{ name: 'made-up', rows: rows.map(({ name }) => name) }],
  ...given,
})
