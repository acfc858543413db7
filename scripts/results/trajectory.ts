/** A run as its folder tells it: what had been spent after each round, and how accurate the model was then. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EvalRecord } from '../../src/eval/evaluate.js'
import { mean } from '../../src/games/grpo/advantages.js'
import { loadGame } from '../../src/games/index.js'
import { folderName } from '../../src/runs/checkpoint.js'
import { loadRecipe } from '../../src/runs/recipe.js'
import { readMetrics } from '../lib/runs.js'
import { addWork, noWork, type RoleCost, roleCosts, roundWork, type Work } from './work.js'

/** Right or not (or the share of right samples), by problem. */
export interface Answers {
  sampled: readonly number[]
  greedy: readonly number[]
}

export interface Trajectory {
  /** Rounds that the run was started with. */
  rounds: number
  /** Work of all rounds up to each; its index is the round. */
  work: Work[]
  /** Yardsticks, by round. */
  readings: { step: number; answers: Answers }[]
  /** Share of true labels, in the rounds that tell. */
  labels: { step: number; right: number }[]
}

/** Reads a run again and again while it is played, without counting a round twice. */
export class RunReader {
  readonly #run: string
  readonly #spent: Work[] = []
  #costs: Record<string, RoleCost> | undefined

  constructor(run: string) {
    this.#run = run
  }

  /** Undefined before the first line of metrics.jsonl. */
  async read(): Promise<Trajectory | undefined> {
    const lines = await readMetrics(this.#run)
    if (lines.length === 0) return undefined
    const loaded = await loadRecipe(join(this.#run, 'config.json'), { loadGame })
    this.#costs ??= await roleCosts(loaded)
    const work: Work[] = []
    const readings: Trajectory['readings'] = []
    for (const line of lines) {
      const { step } = line
      this.#spent[step] ??= await roundWork(this.#run, step, this.#costs)
      const seconds = line['time/round_s'] ?? 0
      work[step] = addWork(work[step - 1] ?? noWork, { ...this.#spent[step], seconds })
      if (typeof line['heldout/accuracy'] === 'number')
        readings.push({ step, answers: await readAnswers(this.#run, step) })
    }
    const labels = lines.flatMap((line) => {
      const right = line['labels/accuracy']
      return typeof right === 'number' ? [{ step: line.step, right }] : []
    })
    return { rounds: loaded.recipe.rounds, work, readings, labels }
  }
}

/** The held-out answers after a round; samples of a problem stand one behind the other. */
async function readAnswers(run: string, round: number): Promise<Answers> {
  const path = join(run, 'rollouts', `round-${folderName(round)}`, 'heldout.jsonl')
  const lines = (await readFile(path, 'utf8')).trim().split('\n')
  const records = lines.map((line) => JSON.parse(line) as EvalRecord & { sampling: keyof Answers })
  const shares = (sampling: keyof Answers) => {
    const problems: number[][] = []
    for (const record of records) {
      if (record.sampling !== sampling) continue
      if (record.sample === 0) problems.push([])
      problems.at(-1)!.push(Number(record.right))
    }
    return problems.map(mean)
  }
  return { sampled: shares('sampled'), greedy: shares('greedy') }
}

/** A run at one point of its way. */
export interface Standing {
  /** Rounds done; a fraction where the budget ended within a round. */
  round: number
  work: Work
  answers: Answers
  /** False where the run ended before the budget did. */
  reached: boolean
}

/** At the end of a run, as far as it was measured. */
export function standingAtEnd({ work, readings }: Trajectory): Standing {
  const { step, answers } = readings.at(-1)!
  return { round: step, work: work[step]!, answers, reached: true }
}

/**
 * After so many token passes: accuracy lies between the yardsticks before and after, as far from each as the work does;
 * work and rounds lie likewise between two rounds. The end of the run where it was over earlier.
 */
export function standingAt(trajectory: Trajectory, passes: number): Standing {
  const { work, readings } = trajectory
  const after = readings.findIndex(({ step }) => work[step]!.passes >= passes)
  if (after < 0) return { ...standingAtEnd(trajectory), reached: false }
  if (after === 0) return { round: 0, work: work[0]!, answers: readings[0]!.answers, reached: true }
  const [from, to] = [readings[after - 1]!, readings[after]!]
  const share = between(work[from.step]!.passes, work[to.step]!.passes, passes)
  const next = work.findIndex((spent) => spent.passes >= passes)
  const within = between(work[next - 1]!.passes, work[next]!.passes, passes)
  return {
    round: next - 1 + within,
    work: addWork(work[next - 1]!, addWork(work[next]!, work[next - 1]!, -1), within),
    answers: {
      sampled: mix(from.answers.sampled, to.answers.sampled, share),
      greedy: mix(from.answers.greedy, to.answers.greedy, share),
    },
    reached: true,
  }
}

const between = (from: number, to: number, value: number) => (value - from) / (to - from)

const mix = (from: readonly number[], to: readonly number[], share: number) =>
  from.map((value, i) => value + share * (to[i]! - value))

/** Whether a run has all that a comparison wants of it: its budget measured, or all its rounds. */
export function isOver({ rounds, work, readings }: Trajectory, budget: number | undefined): boolean {
  const last = readings.at(-1)
  if (last === undefined) return false
  return last.step === rounds || (budget !== undefined && work[last.step]!.passes >= budget)
}
