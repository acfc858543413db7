/** Everything one run plays with, opened from its recipe: the engine, a policy for each role, the grader, the yardsticks. */
import { join } from 'node:path'
import { ConfigError } from '../core/errors.js'
import { randomStream } from '../core/random.js'
import type { AdamParams, Engine, FrozenPolicy, MemoryPlan, Policy } from '../engine/engine.js'
import type { EvalProblem } from '../eval/evaluate.js'
import type { AnyGame, GameContext, Role, Workload, World } from '../games/game.js'
import { scheduledRate } from '../games/schedule.js'
import type { Grader } from '../grader/grader.js'
import type { Emit } from './events.js'
import type { LeveledProblem } from './levels.js'
import type { EngineSurroundings, Parts } from './parts.js'
import {
  type HeldoutRecipe,
  type LevelsRecipe,
  type LoadedRecipe,
  type Recipe,
  type RoleRecipe,
  resolveModel,
  resolvePath,
} from './recipe.js'

export interface Match {
  recipe: Recipe
  game: AnyGame
  engine: Engine
  roles: Record<string, Role>
  /** By role; a role that another one's policy plays has none here. */
  policies: Record<string, Policy>
  grader: Grader
  world: World | undefined
  heldout: Heldout | undefined
  levels: Levels | undefined
  memory: MemoryPlan
  /** Resolves a path of the run file. */
  path(relative: string): string
  /** Folder of the model that a role of its own began with. */
  start(role: string): string
  close(): Promise<void>
}

export interface Heldout {
  recipe: HeldoutRecipe
  problems: EvalProblem[]
}

export interface Levels {
  recipe: LevelsRecipe
  /** By level, easiest first; levels that are no numbers in the order of the file. */
  problems: LeveledProblem[]
}

/** Where a game does not say what it needs. */
const usualWorkload: Workload = { trainTokens: 16_384, longestSequence: 1024, sampleRows: 64 }

export async function openMatch(
  loaded: LoadedRecipe,
  parts: Parts,
  around?: EngineSurroundings,
): Promise<Match> {
  const { recipe, game, folder } = loaded
  const path = (relative: string) => resolvePath(folder, relative)
  const { heldout, levels, world } = recipe.anchors
  const problems = heldout && (await loadHeldout(heldout, parts, path))
  const leveled = levels && (await parts.leveledProblems(pathOrWorld(levels.problems, path), levels.n))
  const engine = await parts.openEngine(recipe.engine, around)
  checkTemperatures(engine, loaded)
  const start = (name: string) =>
    resolveModel(folder, recipe.roles[name]!.model, recipe.engine.kind === 'local')
  const policies: Record<string, Policy> = {}
  const open: { close(): Promise<void> }[] = [engine]
  const close = async () => {
    for (const part of open.reverse()) await part.close().catch(() => {})
  }
  try {
    const grader = await parts.createGrader()
    open.push(grader)
    for (const name of ownRoles(loaded)) {
      const role = recipe.roles[name]!
      policies[name] = await openPolicy(engine, role, start(name), recipe.seed, name)
      open.push(policies[name])
    }
    const roles = Object.fromEntries(
      game.roles.map((name): [string, Role] => {
        const policy = policies[playerOf(loaded, name)]!
        return [name, { name, policy, adam: adamParams(recipe.roles[name]!, 0, recipe.rounds) }]
      }),
    )
    const memory = await engine.planMemory(game.workload?.(recipe.settings) ?? usualWorkload)
    return {
      recipe,
      game,
      engine,
      roles,
      policies,
      grader,
      world: world && (await parts.loadWorld(world)),
      heldout: heldout && problems && { recipe: heldout, problems },
      levels: levels && leveled && { recipe: levels, problems: leveled },
      memory,
      path,
      start,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Throws ConfigError now, rather than after a round was sampled, where the engine cannot form a loss of the settings. */
function checkTemperatures({ capabilities }: Engine, { recipe, file }: LoadedRecipe): void {
  const { tempered_logprobs: tempered, ...settings } = recipe.settings
  if (capabilities.temperedLoss || tempered !== true) return
  const places = [['settings', settings], ...Object.entries(settings)] as [string, unknown][]
  for (const [name, place] of places) {
    if (typeof place !== 'object' || place === null || !('temperature' in place)) continue
    const { temperature } = place
    if (temperature === 0 || temperature === 1) continue
    const key = place === settings ? 'settings.temperature' : `settings.${name}.temperature`
    throw new ConfigError(
      `${file}: ${key} is ${temperature}, and the engine ${capabilities.name} forms losses at temperature 1 only.`,
      { hint: 'Set it to 1, or settings.tempered_logprobs: false.' },
    )
  }
}

/** The role whose policy plays a role. */
export function playerOf({ recipe, game }: Pick<LoadedRecipe, 'recipe' | 'game'>, role: string): string {
  return game.playedBy?.(recipe.settings, role) ?? role
}

/** Roles with a policy of their own. Throws ConfigError where another's model would stand in for a different one. */
function ownRoles(loaded: LoadedRecipe): string[] {
  const { recipe, game, file } = loaded
  for (const name of game.roles) {
    const player = playerOf(loaded, name)
    const [given, played] = [name, player].map((role) => {
      const { optim: _, ...model } = recipe.roles[role]!
      return model
    })
    if (JSON.stringify(given) === JSON.stringify(played)) continue
    throw new ConfigError(
      `${file}: roles.${name} and roles.${player} name different models, and the settings let ${player} play both.`,
      { hint: `Give both the same model, lora and thinking.` },
    )
  }
  return game.roles.filter((name) => playerOf(loaded, name) === name)
}

async function loadHeldout({ problems, n }: HeldoutRecipe, parts: Parts, path: (name: string) => string) {
  return problems === 'arithmetic'
    ? parts.heldoutProblems(problems, n)
    : parts.readProblems(path(problems), n)
}

const pathOrWorld = (problems: string, path: (name: string) => string) =>
  problems === 'arithmetic' ? problems : path(problems)

function openPolicy(
  engine: Engine,
  role: RoleRecipe,
  model: string,
  seed: number,
  name: string,
): Promise<Policy> {
  const { lora, thinking, url, base_model: baseModel } = role
  return engine.open({
    model,
    seed: randomStream(seed, 'policy', name).int(2 ** 31),
    ...(lora && { lora }),
    ...(thinking !== undefined && { thinking }),
    remote: {
      role: name,
      name: role.model,
      ...(baseModel !== undefined && { baseModel }),
      ...(url !== undefined && { url }),
    },
  })
}

/** A role as a checkpoint folder holds it, or as it was at the start; whoever opens it closes it. */
export function openSnapshot(
  { engine, recipe, game, start }: Match,
  name: string,
  checkpoint: string | undefined,
): Promise<FrozenPolicy> {
  const player = playerOf({ recipe, game }, name)
  const model = checkpoint === undefined ? start(player) : join(checkpoint, player)
  return openPolicy(engine, recipe.roles[player]!, model, recipe.seed, player)
}

/** Adam parameters of a role after `round` of `rounds` rounds; `scale` is what rollbacks left of its learning rate. */
export function adamParams({ optim }: RoleRecipe, round: number, rounds: number, scale = 1): AdamParams {
  return {
    learningRate: scale * scheduledRate(optim.learning_rate, optim.schedule, round, rounds),
    beta1: optim.beta1,
    beta2: optim.beta2,
    epsilon: optim.epsilon,
    weightDecay: optim.weight_decay,
    clipNorm: optim.clip_norm,
  }
}

/**
 * What a game sees of the run; random streams and seeds are named by the round, by `setup` before there is one, and outside
 * the rounds by a name of their own.
 */
export function gameContext(
  match: Match,
  place: number | 'setup' | 'duel',
  signal: AbortSignal,
  emit: Emit,
): GameContext<unknown> {
  const { recipe, roles, grader, world, path } = match
  const round = typeof place === 'number' ? place : undefined
  const names = round === undefined ? [place] : ['round', round]
  const random = (...own: (string | number)[]) => randomStream(recipe.seed, ...names, ...own)
  return {
    config: recipe.settings,
    roles,
    grader,
    world,
    path,
    signal,
    round: round ?? 0,
    rounds: recipe.rounds,
    random,
    seed: (...names) => random('seed', ...names).int(2 ** 31),
    phase: (name, done, total, tokens) => {
      const role = Object.keys(roles).find((each) => name.startsWith(`${each} `))
      emit({
        event: 'phase',
        name,
        ...(role !== undefined && { role }),
        ...(done !== undefined && { done }),
        ...(total !== undefined && { total }),
        ...(tokens !== undefined && { tokens }),
      })
    },
  }
}

/** Optimizer steps that each policy has taken. */
export function versions({ policies }: Match): Record<string, number> {
  return Object.fromEntries(Object.entries(policies).map(([name, { version }]) => [name, version]))
}
