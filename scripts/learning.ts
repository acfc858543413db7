/**
 * Does it learn, and do its controls not? Plays recipes over seeds, one run behind the other, and prints held-out
 * accuracy before and after with mean and spread, and draws the curves. Runs that are finished already are read, not played again.
 *
 *   npm run learning -- [--recipes a,b,c] [--seeds 0,1,2] [--out runs/learning] [--check]
 *
 * --check fails unless every seed of pasodoble-tiny rises, by at least 12 points on average.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mean } from '../src/games/grpo/advantages.js'
import { colors, lineChart, type Series } from '../src/report/chart.js'
import type { MetricsLine } from '../src/runs/directory.js'
import { readMetrics, startCommand, valuesOf } from './lib/runs.js'
import { plusMinus, points, spreadOf } from './lib/spread.js'

const { values } = parseArgs({
  options: {
    recipes: {
      type: 'string',
      default: 'pasodoble-tiny,pasodoble-random-tiny,pasodoble-partial-random-tiny',
    },
    seeds: { type: 'string', default: '0,1,2' },
    out: { type: 'string', default: 'runs/learning' },
    check: { type: 'boolean', default: false },
  },
})

/** Metric lines of a finished run and the seconds it took, set-up and yardsticks included; played first where it is not there yet. */
async function play(recipe: string, seed: string): Promise<{ lines: MetricsLine[]; seconds: number }> {
  const run = join(values.out, `${recipe}-seed${seed}`)
  const record = join(run, 'seconds.json')
  if (!existsSync(record)) {
    rmSync(run, { recursive: true, force: true })
    const started = performance.now()
    const status = await startCommand(['train', '--no-report', recipe, '--seed', seed, '--run', run]).ended
    if (status !== 0) throw new Error(`${recipe} with seed ${seed} ended with status ${status}.`)
    writeFileSync(record, JSON.stringify((performance.now() - started) / 1000))
  }
  return { lines: await readMetrics(run), seconds: JSON.parse(readFileSync(record, 'utf8')) }
}

interface Change {
  sampled: number[]
  greedy: number[]
}

function ends(lines: MetricsLine[], metric: string): number[] {
  const readings = valuesOf(lines, metric)
  return [readings[0]!, readings.at(-1)!]
}

/** Held-out accuracy over rounds: mean of the seeds, and the band between the lowest and the highest. */
function curve(runs: MetricsLine[][]): Series['points'] {
  const readings = runs.map((lines) => lines.filter((line) => typeof line['heldout/accuracy'] === 'number'))
  return readings[0]!.map(({ step }, i) => {
    const accuracies = readings.map((of) => of[i]!['heldout/accuracy'] as number)
    return { x: step, low: Math.min(...accuracies), mean: mean(accuracies), high: Math.max(...accuracies) }
  })
}

const gains = new Map<string, Change[]>()
const curves: Series[] = []
console.log(
  '| recipe | seed | pass@1 before | after | greedy before | after | labels right before | after | minutes |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const recipe of values.recipes.split(',')) {
  const changes: Change[] = []
  const runs: MetricsLine[][] = []
  for (const seed of values.seeds.split(',')) {
    const { lines, seconds } = await play(recipe, seed)
    const change = {
      sampled: ends(lines, 'heldout/accuracy'),
      greedy: ends(lines, 'heldout/greedy'),
    }
    changes.push(change)
    runs.push(lines)
    const labels = ends(lines, 'labels/accuracy')
    console.log(
      `| ${recipe} | ${seed} | ${[...change.sampled, ...change.greedy, ...labels].map(points).join(' | ')} | ${(seconds / 60).toFixed(1)} |`,
    )
  }
  gains.set(recipe, changes)
  curves.push({ name: recipe, color: colors[curves.length % colors.length]!, points: curve(runs) })
}

console.log('\n| recipe | gain in pass@1, mean ± sd | gain in greedy, mean ± sd | seeds |')
console.log('|---|---|---|---|')
for (const [recipe, changes] of gains) {
  const gain = (key: keyof Change) => changes.map((change) => change[key][1]! - change[key][0]!)
  const cell = (key: keyof Change) => plusMinus(spreadOf(gain(key)))
  console.log(`| ${recipe} | ${cell('sampled')} | ${cell('greedy')} | ${changes.length} |`)
}

const chart = join(values.out, 'learning.svg')
writeFileSync(chart, lineChart('held-out accuracy at temperature 1, per cent', 'rounds', curves))
console.log(`\nThe curves are drawn in ${chart}.`)

if (values.check) {
  const rises = (gains.get('pasodoble-tiny') ?? []).map(({ sampled }) => sampled[1]! - sampled[0]!)
  if (rises.length === 0 || mean(rises) < 0.12 || rises.some((rise) => rise < 0)) {
    console.error(
      `pasodoble-tiny rose by ${rises.map(points).join(', ')} points; at least 12 on average are asked for.`,
    )
    process.exitCode = 1
  }
}
