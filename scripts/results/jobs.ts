/** Runs to play: rows by seeds, checked against their recipes and against what lies in their folders. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, messageOf } from '../../src/core/errors.js'
import { loadGame } from '../../src/games/index.js'
import { loadRecipe, type Recipe, recipeNames, resolvePath } from '../../src/runs/recipe.js'
import { checkUnchanged } from '../../src/runs/unchanged.js'
import { budgetOf, type Comparison, type Row } from './plan.js'
import { isOver, RunReader, type Trajectory } from './trajectory.js'

export interface Job {
  comparison: Comparison
  row: Row
  seed: number
  /** Of the run. */
  folder: string
  rounds: number
  /** Of `sparring train` that starts it. */
  args: string[]
  reader: RunReader
}

export interface Trial {
  /** Fewer rounds than planned, for a look at the script itself. */
  rounds?: number | undefined
  /** Settings of every run, over those of the plan. */
  set: readonly string[]
}

export interface JobState {
  trajectory: Trajectory | undefined
  over: boolean
}

/** A row that cannot be played, because something that it names is not there. */
export interface LeftOut {
  row: Row
  /** What is not there. */
  what: string
}

export async function rowsLeftOut(comparisons: readonly Comparison[]): Promise<LeftOut[]> {
  const left: LeftOut[] = []
  for (const row of comparisons.flatMap(({ rows }) => rows)) {
    const what = await whatIsMissing(row)
    if (what !== undefined) left.push({ row, what })
  }
  return left
}

async function whatIsMissing({ recipe: name, set = [] }: Row): Promise<string | undefined> {
  if (!recipeNames().includes(name)) return `the recipe ${name}`
  const { recipe, folder } = await loadRecipe(name, { set: [...set], loadGame })
  const models = Object.values(recipe.roles).map(({ model }) => model)
  const gone = models.find((model) => !existsSync(join(resolvePath(folder, model), 'config.json')))
  return gone === undefined ? undefined : `the model ${gone}`
}

/** Runs of the comparisons, the first seed of every row before the second of any. */
export function jobsOf(
  comparisons: readonly Comparison[],
  seeds: readonly number[],
  out: string,
  trial: Trial,
): Job[] {
  return seeds.flatMap((seed) =>
    comparisons.flatMap((comparison) =>
      comparison.rows
        .filter(({ runs }) => runs === undefined)
        .map((row) => jobOf(comparison, row, seed, out, trial)),
    ),
  )
}

function jobOf(comparison: Comparison, row: Row, seed: number, out: string, trial: Trial): Job {
  const folder = join(out, `${row.name}-seed${seed}`)
  const rounds = Math.min(row.rounds, trial.rounds ?? row.rounds)
  const set = [`anchors.every=${comparison.every}`, ...(row.set ?? []), ...trial.set]
  const args = [
    row.recipe,
    ...['--seed', String(seed), '--rounds', String(rounds), '--run', folder],
    ...set.flatMap((setting) => ['--set', setting]),
  ]
  return { comparison, row, seed, folder, rounds, args, reader: new RunReader(folder) }
}

/**
 * Throws ConfigError where the row's recipe cannot be played as planned, or where the folder holds a run of other
 * settings.
 */
export async function checkJob({ comparison, row, seed, folder, args }: Job): Promise<void> {
  const wanted = await loadRecipe(row.recipe, { ...flagsOf(args), loadGame }).catch((cause) => {
    throw new ConfigError(`The row ${row.name} cannot be played: ${messageOf(cause)}`, {
      ...(cause.hint !== undefined && { hint: cause.hint }),
      cause,
    })
  })
  if (comparison.budget !== undefined) checkConstantRates(wanted.recipe, row)
  const config = join(folder, 'config.json')
  if (!existsSync(config)) return
  const begun = (await loadRecipe(config, { loadGame })).recipe
  const other = (fault: string) =>
    new ConfigError(`${folder} was played with other settings: ${fault}`, {
      hint: `Delete it to have seed ${seed} of ${row.name} played anew, or name another folder with --out.`,
    })
  try {
    checkUnchanged(begun, wanted.recipe, folder)
  } catch (cause) {
    throw other(messageOf(cause))
  }
  if (begun.rounds !== wanted.recipe.rounds) {
    throw other(`it has ${begun.rounds} rounds in the place of ${wanted.recipe.rounds}.`)
  }
  if (begun.anchors.every !== wanted.recipe.anchors.every) {
    throw other(`it was measured every ${begun.anchors.every} rounds, not ${wanted.recipe.anchors.every}.`)
  }
}

/** A run that a budget ends has no last round for a schedule to fall towards. */
function checkConstantRates({ roles }: Recipe, { name, recipe }: Row): void {
  const falling = Object.entries(roles).find(([, { optim }]) => optim.schedule.shape !== 'constant')
  if (falling === undefined) return
  throw new ConfigError(
    `${name}: the learning rate of ${falling[0]} in ${recipe} falls over the rounds, and a budget ends the run.`,
    { hint: `Add roles.${falling[0]}.optim.schedule={shape: constant} to the row's settings.` },
  )
}

function flagsOf(args: readonly string[]): { seed: number; rounds: number; set: string[] } {
  const after = (flag: string) => args.flatMap((arg, i) => (args[i - 1] === flag ? arg : []))
  return { seed: Number(after('--seed')[0]), rounds: Number(after('--rounds')[0]), set: after('--set') }
}

export async function stateOf({ comparison, row, reader }: Job): Promise<JobState> {
  const trajectory = await reader.read()
  return { trajectory, over: trajectory !== undefined && isOver(trajectory, budgetOf(comparison, row)) }
}
