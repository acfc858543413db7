/**
 * Makes docs/results.md: plays every run of results/plan.ts, one at a time, and writes the page and its pictures from
 * their files. Runs that are done are read, one that was begun goes on, so it can be killed and called again.
 *
 *   npm run results -- [--plan] [--only NAME,...] [--seeds 0,1,2] [--out runs/results] [--docs DIR]
 *
 * --plan prints the runs and how long they will take, and plays none. --only names rows or comparisons to play. --docs is
 * where the page goes, such as docs; without it, it goes to the runs. For a look at the script itself: --rounds N for
 * shorter runs, --budget N for another number of token passes, --every N for rounds between yardsticks, --set key=value
 * for every run.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportFailure } from '../src/cli/failure.js'
import { ConfigError, messageOf } from '../src/core/errors.js'
import { nearest } from '../src/core/nearest.js'
import { mean } from '../src/games/grpo/advantages.js'
import { points } from './lib/spread.js'
import { writeDocument } from './results/document.js'
import { type Planned, planLines } from './results/estimate.js'
import { checkJob, type Job, jobsOf, rowsLeftOut, stateOf, type Trial } from './results/jobs.js'
import { measureUnspoiled, noteMachine, readMaterial } from './results/material.js'
import { type Comparison, comparisons as plan } from './results/plan.js'
import { play } from './results/play.js'

interface Flags {
  plan: boolean
  only: string[]
  seeds: number[]
  out: string
  docs: string
  trial: Trial
  budget: number | undefined
  every: number | undefined
}

function readFlags(): Flags {
  const { values } = parse()
  const number = (flag: 'rounds' | 'budget' | 'every') => {
    const text = values[flag]
    return text === undefined ? undefined : wholeNumber(text, flag)
  }
  return {
    plan: values.plan,
    only: values.only === undefined ? [] : values.only.split(','),
    seeds: values.seeds.split(',').map((text) => wholeNumber(text, 'seeds')),
    out: values.out,
    docs: values.docs ?? values.out,
    trial: { rounds: number('rounds'), set: values.set },
    budget: number('budget'),
    every: number('every'),
  }
}

function parse() {
  try {
    return parseArgs({
      options: {
        plan: { type: 'boolean', default: false },
        only: { type: 'string' },
        seeds: { type: 'string', default: '0,1,2' },
        out: { type: 'string', default: 'runs/results' },
        docs: { type: 'string' },
        rounds: { type: 'string' },
        budget: { type: 'string' },
        every: { type: 'string' },
        set: { type: 'string', multiple: true, default: [] },
      },
    })
  } catch (cause) {
    throw new ConfigError(messageOf(cause), {
      hint: 'The head of scripts/results.ts lists the options.',
      cause,
    })
  }
}

function wholeNumber(text: string, flag: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new ConfigError(`--${flag} takes whole numbers, not "${text}".`)
}

async function main(flags: Flags): Promise<number> {
  const { seeds, out, docs, budget, every } = flags
  const comparisons = plan.map(
    (each): Comparison => ({
      ...each,
      ...(every !== undefined && { every }),
      ...(each.budget !== undefined && budget !== undefined && { budget }),
    }),
  )
  const leftOut = await rowsLeftOut(comparisons)
  for (const { row, what } of leftOut) console.log(`${row.name} is left out: ${what} is not there.`)
  const jobs = jobsOf(comparisons, seeds, out, flags.trial).filter(
    (job) => !leftOut.some(({ row }) => row === job.row),
  )
  const chosen = choose(jobs, flags.only)
  for (const job of chosen) await checkJob(job)
  console.log(planLines(await planned(chosen)).join('\n'))
  if (flags.plan) return 0

  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
  mkdirSync(out, { recursive: true })
  const failures = await playAll(chosen, out, ending.signal)
  if (ending.signal.aborted) {
    console.log('Ended early; the same command goes on.')
    return 130
  }
  for (const comparison of comparisons) {
    if (chosen.some((job) => job.comparison === comparison)) await measureUnspoiled(comparison, out)
  }
  const material = await readMaterial(comparisons, await planned(jobs), seeds, leftOut, out)
  mkdirSync(docs, { recursive: true })
  for (const [file, text] of Object.entries(writeDocument(material))) writeFileSync(join(docs, file), text)
  console.log(`Written: ${join(docs, 'results.md')}`)
  for (const phrase of material.absent) console.log(`  not in it: ${phrase}`)
  return failures > 0 || (flags.only.length === 0 && leftOut.length > 0) ? 1 : 0
}

async function planned(jobs: readonly Job[]): Promise<Planned[]> {
  const all: Planned[] = []
  for (const job of jobs) all.push({ job, state: await stateOf(job) })
  return all
}

/** Runs of the rows and comparisons that are named, or all. */
function choose(jobs: readonly Job[], wanted: readonly string[]): Job[] {
  if (wanted.length === 0) return [...jobs]
  const names = [...new Set(jobs.flatMap(({ comparison, row }) => [comparison.name, row.name]))]
  const unknown = wanted.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const guess = nearest(unknown, names)
    throw new ConfigError(`--only: there is no row and no comparison ${unknown}.`, {
      hint: guess === undefined ? `Names: ${names.join(', ')}.` : `Did you mean ${guess}?`,
    })
  }
  return jobs.filter(({ comparison, row }) => wanted.includes(comparison.name) || wanted.includes(row.name))
}

/** One behind the other; a run that fails does not keep the others from being played. Returns how many failed. */
async function playAll(jobs: readonly Job[], out: string, signal: AbortSignal): Promise<number> {
  let failures = 0
  for (const [i, job] of jobs.entries()) {
    if (signal.aborted) break
    if ((await stateOf(job)).over) continue
    noteMachine(out)
    const name = `[${i + 1}/${jobs.length}] ${job.row.name}, seed ${job.seed}`
    const started = performance.now()
    try {
      await play(job, signal)
    } catch (error) {
      failures++
      console.error(`${name}: ${messageOf(error)}`)
      continue
    }
    const { trajectory } = await stateOf(job)
    const { readings, work } = trajectory!
    const accuracy = points(mean(readings.at(-1)!.answers.sampled))
    const minutes = ((performance.now() - started) / 60_000).toFixed(1)
    console.log(`${name}: ${accuracy} after ${work.length - 1} rounds, ${minutes} min`)
  }
  return failures
}

try {
  process.exitCode = await main(readFlags())
} catch (error) {
  process.exitCode = reportFailure(error, { json: false, debug: false })
}
