/** What the seeds of a row come to. */
import { accuracyInterval, type Interval } from '../../src/eval/interval.js'
import { mean } from '../../src/games/grpo/advantages.js'
import { type Range, rangeOf, type Spread, spreadOf } from '../lib/spread.js'
import type { Comparison, Row } from './plan.js'
import { type Answers, type Standing, standingAt, standingAtEnd, type Trajectory } from './trajectory.js'

export interface Outcome {
  seed: number
  trajectory: Trajectory
  before: Answers
  /** At the budget, or at the end of its rounds. */
  after: Standing
  /** Share of true labels in the first and in the last rounds that tell, up to `after`; absent where none does. */
  labels?: { first: number; last: number }
}

/** Of one kind of answers, sampled or greedy. */
export interface Change {
  /** Mean over seeds, with the 95 % interval over problems of each problem's mean over seeds. */
  before: Interval
  after: Interval
  /** After minus before, over seeds. */
  gain: Spread
}

export interface Result {
  row: Row
  outcomes: Outcome[]
  sampled: Change
  greedy: Change
  /** Other work on the machine makes a run longer and never shorter, so the middle one says most. */
  seconds: Range
}

/** Rounds whose labels are taken together: one alone has few. */
const LABEL_ROUNDS = 5

/** Of a run that is over. */
export function outcomeOf(seed: number, trajectory: Trajectory, budget: number | undefined): Outcome {
  const after = budget === undefined ? standingAtEnd(trajectory) : standingAt(trajectory, budget)
  const told = trajectory.labels
    .filter(({ step }) => step <= Math.max(1, after.round))
    .map(({ right }) => right)
  return {
    seed,
    trajectory,
    before: trajectory.readings[0]!.answers,
    after,
    ...(told.length > 0 && {
      labels: { first: mean(told.slice(0, LABEL_ROUNDS)), last: mean(told.slice(-LABEL_ROUNDS)) },
    }),
  }
}

/** Outcomes must not be empty. */
export function resultOf(row: Row, outcomes: Outcome[]): Result {
  const change = (kind: keyof Answers): Change => {
    const before = outcomes.map((outcome) => outcome.before[kind])
    const after = outcomes.map((outcome) => outcome.after.answers[kind])
    return {
      before: overSeeds(before),
      after: overSeeds(after),
      gain: spreadOf(after.map((shares, i) => mean(shares) - mean(before[i]!))),
    }
  }
  const seconds = rangeOf(outcomes.map(({ after }) => after.work.seconds))
  return { row, outcomes, sampled: change('sampled'), greedy: change('greedy'), seconds }
}

/** Accuracy after, by seed. */
export const accuracies = ({ outcomes }: Result, kind: keyof Answers) =>
  outcomes.map(({ after }) => mean(after.answers[kind]))

/** All seeds answer the same problems: what chance there is in the choice of problems, they share. */
function overSeeds(seeds: readonly (readonly number[])[]): Interval {
  const shares = seeds[0]!.map((_, problem) => mean(seeds.map((of) => of[problem]!)))
  const single = seeds.length === 1 && shares.every(Number.isInteger)
  return accuracyInterval(shares, single ? 1 : 2)
}

export interface ComparisonResults {
  comparison: Comparison
  /** In the order of the rows; those without a finished run are left out. */
  results: Result[]
}
