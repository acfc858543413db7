/** Curves of held-out accuracy: mean of the seeds within the band from the lowest to the highest. */
import { mean } from '../../src/games/grpo/advantages.js'
import { colors, lineChart, type Series } from '../../src/report/chart.js'
import type { Picture } from './plan.js'
import type { ComparisonResults, Result } from './summary.js'
import { standingAt, type Trajectory } from './trajectory.js'

/** Steps of a budget between points of a curve. */
const STEPS = 8

/** SVG; undefined where no row of the picture was played. */
export function drawPicture(
  { rows }: Picture,
  { results, comparison }: ComparisonResults,
): string | undefined {
  const drawn = rows.flatMap((name) => results.filter(({ row }) => row.name === name))
  if (drawn.length === 0) return undefined
  const { budget } = comparison
  const series = drawn.map((result, i): Series => {
    const curve = budget === undefined ? byRounds(result) : byPasses(result, budget)
    return { name: result.row.label, color: colors[i % colors.length]!, points: curve }
  })
  const axis = budget === undefined ? 'rounds' : 'token passes, millions'
  return lineChart('held-out accuracy at temperature 1, per cent', axis, series)
}

function byRounds({ outcomes }: Result): Series['points'] {
  const seeds = outcomes.map(({ trajectory }) => trajectory.readings)
  return seeds[0]!.map(({ step }, i) =>
    point(
      step,
      seeds.map((readings) => mean(readings[i]!.answers.sampled)),
    ),
  )
}

/** As far as every seed came. */
function byPasses({ outcomes }: Result, budget: number): Series['points'] {
  const reach = Math.min(...outcomes.map(({ trajectory }) => measured(trajectory)))
  const marks = Array.from({ length: STEPS + 1 }, (_, i) => (i / STEPS) * budget)
  const within = marks.filter((passes) => passes <= reach)
  const ends = reach < budget ? [...within, reach] : within
  return ends.map((passes) => {
    const seeds = outcomes.map(({ trajectory }) => standingAt(trajectory, passes).answers.sampled)
    return point(Number((passes / 1e6).toPrecision(3)), seeds.map(mean))
  })
}

function measured({ work, readings }: Trajectory): number {
  return work[readings.at(-1)!.step]!.passes
}

function point(x: number, accuracies: readonly number[]): Series['points'][number] {
  return { x, low: Math.min(...accuracies), mean: mean(accuracies), high: Math.max(...accuracies) }
}
