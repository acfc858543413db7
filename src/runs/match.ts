/** Everything one run plays with, opened from its recipe: the engine, a policy for each role, the grader, the yardsticks. */
import { ConfigError } from '../core/errors.js'
import { randomStream } from '../core/random.js'
import type { AdamParams, Engine, MemoryPlan, Policy } from '../engine/engine.js'
import type { EvalProblem } from '../eval/evaluate.js'
import type { AnyGame, GameContext, Role, Workload, World } from '../games/game.js'
import { scheduledRate } from '../games/schedule.js'
import type { Grader } from '../grader/grader.js'
import type { Emit } from './events.js'
import type { Parts } from './parts.js'
import {
  type HeldoutRecipe,
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
  memory: MemoryPlan
  /** Resolves a path of the run file. */
  path(relative: string): string
  close(): Promise<void>
}

export interface Heldout {
  recipe: HeldoutRecipe
  problems: EvalProblem[]
}

/** Where a game does not say what it needs. */
const usualWorkload: Workload = { trainTokens: 16_384, longestSequence: 1024, sampleRows: 64 }

export async function openMatch(loaded: LoadedRecipe, parts: Parts): Promise<Match> {
  const { recipe, game, folder } = loaded
  const path = (relative: string) => resolvePath(folder, relative)
  const { heldout, world } = recipe.anchors
  const problems = heldout && (await loadHeldout(heldout, parts, path))
  const engine = await parts.openEngine(recipe.engine)
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
      policies[name] = await openPolicy(engine, role, resolveModel(folder, role.model), recipe.seed, name)
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
      memory,
      path,
      close,
    }
  } catch (error) {
    await close()
    throw error
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
      const { model, lora, thinking } = recipe.roles[role]!
      return { model, lora, thinking }
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

function openPolicy(
  engine: Engine,
  role: RoleRecipe,
  model: string,
  seed: number,
  name: string,
): Promise<Policy> {
  const { lora, thinking } = role
  return engine.open({
    model,
    seed: randomStream(seed, 'policy', name).int(2 ** 31),
    ...(lora && { lora }),
    ...(thinking !== undefined && { thinking }),
  })
}

/** Adam parameters of a role after `round` of `rounds` rounds. */
export function adamParams({ optim }: RoleRecipe, round: number, rounds: number): AdamParams {
  return {
    learningRate: scheduledRate(optim.learning_rate, optim.schedule, round, rounds),
    beta1: optim.beta1,
    beta2: optim.beta2,
    epsilon: optim.epsilon,
    weightDecay: optim.weight_decay,
    clipNorm: optim.clip_norm,
  }
}

/** What a game sees of the run; random streams and seeds are named by the round, or by `setup` before there is one. */
export function gameContext(
  match: Match,
  round: number | undefined,
  signal: AbortSignal,
  emit: Emit,
): GameContext<unknown> {
  const { recipe, roles, grader, world, path } = match
  const place = round === undefined ? ['setup'] : ['round', round]
  const random = (...names: (string | number)[]) => randomStream(recipe.seed, ...place, ...names)
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
    phase: (name, done, total) =>
      emit({
        event: 'phase',
        name,
        ...(done !== undefined && { done }),
        ...(total !== undefined && { total }),
      }),
  }
}

/** Optimizer steps that each policy has taken. */
export function versions({ policies }: Match): Record<string, number> {
  return Object.fromEntries(Object.entries(policies).map(([name, { version }]) => [name, version]))
}
