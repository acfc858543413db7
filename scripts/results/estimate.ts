/** The plan in lines, with how long it will take. */
import { mean } from '../../src/games/grpo/advantages.js'
import type { Job, JobState } from './jobs.js'
import { budgetOf, type Row } from './plan.js'

/** Set-up, yardsticks and checkpoints come on top of the rounds. */
const AROUND_ROUNDS = 1.3

export interface Planned {
  job: Job
  state: JobState
}

/** Minutes of a whole run of each row: of its runs that are over, else the plan's guess. */
export function minutesByRow(planned: readonly Planned[]): Map<string, number> {
  return new Map(
    rowsOf(planned).map(([row, runs]) => {
      const over = runs.filter(({ state }) => state.over).map(({ state }) => minutesSpent(state))
      return [row.name, over.length > 0 ? mean(over) : row.minutes]
    }),
  )
}

/** Runs by row, in the order of the plan. */
export function rowsOf(planned: readonly Planned[]): [Row, Planned[]][] {
  const rows = [...new Set(planned.map(({ job }) => job.row))]
  return rows.map((row) => [row, planned.filter(({ job }) => job.row === row)])
}

function minutesSpent({ trajectory }: JobState): number {
  return ((trajectory?.work.at(-1)?.seconds ?? 0) / 60) * AROUND_ROUNDS
}

/** Minutes until all are over. */
export function minutesLeft(planned: readonly Planned[]): number {
  const minutes = minutesByRow(planned)
  const left = planned
    .filter(({ state }) => !state.over)
    .map(({ job, state }) => Math.max(0, minutes.get(job.row.name)! - minutesSpent(state)))
  return left.reduce((sum, each) => sum + each, 0)
}

export function planLines(planned: readonly Planned[]): string[] {
  const minutes = minutesByRow(planned)
  const lines = rowsOf(planned).map(([row, runs]) => {
    const { comparison, rounds } = runs[0]!.job
    const budget = budgetOf(comparison, row)
    const until = budget === undefined ? `${rounds} rounds` : `${budget / 1e6} M passes`
    const seeds = runs.map(({ job, state }) => `${job.seed} ${wordFor(state)}`).join(', ')
    return [
      row.name.padEnd(22),
      row.recipe.padEnd(32),
      until.padEnd(13),
      `${minutes.get(row.name)!.toFixed(1).padStart(4)} min each`,
      ` seeds ${seeds}`,
    ].join(' ')
  })
  const done = planned.filter(({ state }) => state.over).length
  const left = minutesLeft(planned)
  const time =
    left < 60 ? `${left.toFixed(0)} min` : `${Math.floor(left / 60)} h ${Math.round(left % 60)} min`
  return [...lines, `${planned.length} runs, ${done} done, about ${time} to go`]
}

function wordFor({ over, trajectory }: JobState): string {
  if (over) return 'done'
  return trajectory === undefined ? 'to play' : `at round ${trajectory.work.length - 1}`
}
