/** What the document is written from, read out of the folder of runs. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import type { Measured } from '../../src/eval/report.js'
import { readResults } from '../../src/eval/results.js'
import { startCommand } from '../lib/runs.js'
import type { Material } from './document.js'
import { type Planned, rowsOf } from './estimate.js'
import type { LeftOut } from './jobs.js'
import { budgetOf, type Comparison, type Row, unspoiled } from './plan.js'
import { outcomeOf, resultOf } from './summary.js'

/** Machines that runs of a folder were played on; this one is added. */
export function noteMachine(out: string): void {
  const known = machinesOf(out)
  const model = cpus()[0]?.model.trim().replace(/\s+/g, ' ') ?? process.arch
  const here = `${model}, ${availableParallelism()} threads, Node ${process.version}`
  if (!known.includes(here)) writeFileSync(join(out, 'machines.json'), JSON.stringify([...known, here]))
}

function machinesOf(out: string): string[] {
  const path = join(out, 'machines.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []
}

/** Asks the model of before the cold start the problems of a comparison, unless it was asked before. */
export async function measureUnspoiled({ name, heldout }: Comparison, out: string): Promise<void> {
  const status = await startCommand([
    ...['eval', heldout.problems, '--model', unspoiled, '--out', join(out, `${name}-unspoiled.json`)],
    ...['--max-tokens', String(heldout.maxTokens)],
  ]).ended
  if (status !== 0) throw new Error(`The evaluation of ${unspoiled} ended with status ${status}.`)
}

async function readUnspoiled(
  { name }: Comparison,
  out: string,
): Promise<{ sampled: Measured; greedy: Measured } | undefined> {
  const sampled = await readResults(join(out, `${name}-unspoiled.json`))
  const greedy = await readResults(join(out, `${name}-unspoiled-game-greedy.json`))
  return sampled && greedy && { sampled: sampled.report, greedy: greedy.report }
}

/** `planned` holds every run of the comparisons, those that are not over as well. */
export async function readMaterial(
  comparisons: readonly Comparison[],
  planned: readonly Planned[],
  seeds: readonly number[],
  leftOut: readonly LeftOut[],
  out: string,
): Promise<Material> {
  const before: Record<string, { sampled: Measured; greedy: Measured }> = {}
  for (const comparison of comparisons) {
    const measured = await readUnspoiled(comparison, out)
    if (measured !== undefined) before[comparison.name] = measured
  }
  const resultsOf = (comparison: Comparison) =>
    comparison.rows.flatMap((row) => {
      const outcomes = runsOf(row, planned).flatMap(({ job, state }) =>
        state.over ? outcomeOf(job.seed, state.trajectory!, budgetOf(comparison, row)) : [],
      )
      return outcomes.length > 0 ? resultOf(row, outcomes) : []
    })
  return {
    comparisons: comparisons.map((comparison) => ({ comparison, results: resultsOf(comparison) })),
    unspoiled: before,
    seeds,
    machines: machinesOf(out),
    absent: [
      ...leftOut.map(({ row, what }) => `${row.label}: ${what} is not there`),
      ...rowsOf(planned).flatMap(([row, runs]) => {
        const open = runs.filter(({ state }) => !state.over).map(({ job }) => job.seed)
        return open.length > 0 ? [`${row.label}: seed ${open.join(', ')} not played to its end`] : []
      }),
    ],
  }
}

function runsOf(row: Row, planned: readonly Planned[]): Planned[] {
  return planned.filter(({ job }) => job.row.name === (row.runs ?? row.name))
}
