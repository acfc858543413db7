/** The run file: YAML to a validated, fully filled-in recipe. Every fault is one sentence with file, key and value. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { ConfigError, DataError, messageOf } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { projectRoot } from '../core/paths.js'
import type { AnyGame } from '../games/game.js'
import { isModule } from '../games/index.js'
import { scheduleSchema } from '../games/schedule.js'
import { hubName, pulledModel } from '../hub/models.js'
import { type DialectName, profiles } from '../tinker/profile.js'
import { alarmNames } from './alarm-rules.js'
import { alarmsSchema } from './alarm-settings.js'
import { explain } from './explain.js'
import { applySetting } from './settings.js'

const linearLayers = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const

const loraSchema = z.strictObject({
  rank: z.int().min(1).default(16).describe('Rank of the update of each adapted layer'),
  alpha: z.number().gt(0).default(32).describe('The update is scaled by alpha / rank'),
  targets: z
    .array(z.enum(linearLayers))
    .min(1)
    .default([...linearLayers])
    .describe('Linear layers that get an adapter, by their Hugging Face names'),
})

const optimSchema = z.strictObject({
  learning_rate: z.number().gt(0).describe('Step size of Adam at the top of the schedule'),
  schedule: scheduleSchema,
  beta1: z.number().min(0).lt(1).default(0.9).describe('Decay of the mean of the gradients'),
  beta2: z.number().min(0).lt(1).default(0.999).describe('Decay of the mean of their squares'),
  epsilon: z.number().gt(0).default(1e-8).describe('Added to the root of the mean of squares'),
  weight_decay: z.number().min(0).default(0).describe('Decoupled weight decay (AdamW)'),
  clip_norm: z.number().min(0).default(1).describe('Largest norm of the gradient; 0 is off'),
})

const roleSchema = z.strictObject({
  model: z
    .string()
    .min(1)
    .describe(
      'Model folder in Hugging Face form, a checkpoint of a role, or a pulled model of the Hub by its name',
    ),
  thinking: z
    .boolean()
    .optional()
    .describe(
      'Whether a chat template that asks (enable_thinking) lets the model think first; it does where absent',
    ),
  base_model: z
    .string()
    .min(1)
    .optional()
    .describe('What the server of engine: tinker calls the model; found from its name where absent'),
  url: z
    .string()
    .min(1)
    .optional()
    .describe("Server of this role alone, for engine: tinker; the engine's where absent"),
  lora: loraSchema.optional().describe('Train an adapter; full weights where absent'),
  optim: optimSchema.describe('How the role is optimised'),
})

const localSchema = z.strictObject({
  kind: z.literal('local').describe('Where the policies live: on this machine'),
  threads: z
    .int()
    .min(1)
    .default(() => availableParallelism())
    .describe('Threads of the engine; the numbers of a run are bound to it'),
})

const tinkerSchema = z.strictObject({
  kind: z.literal('tinker').describe('Where the policies live: on a server of the Tinker protocol'),
  url: z
    .string()
    .min(1)
    .optional()
    .describe('Address of the server; TINKER_BASE_URL, else the hosted service, where absent'),
  dialect: z
    .enum(Object.keys(profiles) as [DialectName, ...DialectName[]])
    .optional()
    .describe('Kind of server; found from what it says of itself where absent'),
})

/** The kind may be left out: it is the local one. */
const engineSchema = z.preprocess(
  (engine) =>
    typeof engine === 'object' && engine !== null && !('kind' in engine)
      ? { kind: 'local', ...engine }
      : engine,
  z.discriminatedUnion('kind', [localSchema, tinkerSchema]),
)

const heldoutSchema = z.strictObject({
  role: z.string().min(1).describe('Role that answers the problems'),
  problems: z.string().min(1).describe('arithmetic, or a JSONL file of {problem, answer}'),
  n: z.int().min(1).default(512).describe('Problems; the first n of a file'),
  samples: z.int().min(1).default(1).describe('Samples a problem'),
  temperature: z.number().gt(0).default(1).describe('Temperature of the samples'),
  greedy: z.boolean().default(true).describe('Measure greedy answers as well'),
  max_tokens: z.int().min(1).default(512).describe('Most tokens of an answer'),
})

const levelsSchema = z.strictObject({
  role: z.string().min(1).describe('Role that answers the problems'),
  problems: z
    .string()
    .min(1)
    .default('arithmetic')
    .describe('arithmetic, whose kinds have levels; or a JSONL file of {problem, answer, level}'),
  n: z.int().min(1).default(64).describe('Problems of each level; the first n of it in a file'),
  temperature: z.number().min(0).default(1).describe('Temperature of the one answer to each; 0 is greedy'),
  max_tokens: z.int().min(1).default(512).describe('Most tokens of an answer'),
})

const opponentsSchema = z.strictObject({
  questions: z.int().min(1).default(32).describe('Tasks that each opponent sets, and is set'),
  snapshots: z
    .int()
    .min(0)
    .default(1)
    .describe('Newest snapshots to play against, beside the start (see checkpoint.snapshots)'),
})

const anchorsSchema = z.strictObject({
  every: z
    .int()
    .min(1)
    .default(20)
    .describe('Rounds between measurements; the start and the end are measured always'),
  heldout: heldoutSchema.optional().describe('Problems outside the game with known answers'),
  levels: levelsSchema.optional().describe('Problems of fixed difficulty, told apart by level'),
  opponents: opponentsSchema
    .optional()
    .describe('Each role plays against the other one as it was at the start and in snapshots'),
  world: z
    .literal('arithmetic')
    .optional()
    .describe('World that knows true answers, for the audit of labels'),
})

const checkpointSchema = z.strictObject({
  every: z.int().min(1).default(10).describe('Rounds between checkpoints'),
  keep: z.int().min(1).default(2).describe('Newest checkpoints to keep'),
  snapshots: z
    .int()
    .min(0)
    .default(0)
    .describe('Rounds between checkpoints that are kept for good, the start among them; 0 keeps none'),
})

export const recipeSchema = z.strictObject({
  folder: z
    .string()
    .optional()
    .describe("Folder that relative paths start from; the run file's own where absent"),
  sources: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'Where files that it names come from, by their paths; a dry run tells it of those that are missing',
    ),
  game: z
    .string()
    .min(1)
    .describe('Game to play: see sparring games; or the file of a module that exports one'),
  seed: z.int().min(0).default(0).describe('Seed of every random draw'),
  rounds: z.int().min(1).describe('Rounds to play'),
  engine: engineSchema.prefault({}).describe('Where the policies live'),
  roles: z.record(z.string(), roleSchema).describe('Policy of each role of the game'),
  settings: z.record(z.string(), z.unknown()).default({}).describe("The game's own settings"),
  checkpoint: checkpointSchema.prefault({}),
  anchors: anchorsSchema.prefault({}),
  alarms: alarmsSchema.prefault({}).describe('What the alarms watch for, and what each of them does'),
})

export type Recipe = z.output<typeof recipeSchema>
export type RoleRecipe = Recipe['roles'][string]
export type HeldoutRecipe = NonNullable<Recipe['anchors']['heldout']>
export type LevelsRecipe = NonNullable<Recipe['anchors']['levels']>
export type OpponentsRecipe = NonNullable<Recipe['anchors']['opponents']>

export interface LoadedRecipe {
  /** Names the run folder. */
  name: string
  /** The run file, as the user would write it. */
  file: string
  /** Absolute folder that relative paths start from. */
  folder: string
  /** Whether it is a recipe of the package, whose paths start from the package as well. */
  packaged: boolean
  recipe: Recipe
  game: AnyGame
}

export interface RecipeOptions {
  /** `key.path=value`, values in YAML. */
  set?: string[]
  seed?: number | undefined
  rounds?: number | undefined
  loadGame(name: string): Promise<AnyGame>
}

/** Reads a run file by path, or a recipe of the package by name. Throws ConfigError. */
export async function loadRecipe(nameOrPath: string, options: RecipeOptions): Promise<LoadedRecipe> {
  const path = findRecipe(nameOrPath)
  const packaged = path !== nameOrPath
  const file = packaged ? `recipes/${basename(path)}` : nameOrPath
  const data = parseYaml(readFile(path, file), file)
  for (const text of options.set ?? []) applySetting(data, text)
  if (options.seed !== undefined) data.seed = options.seed
  if (options.rounds !== undefined) data.rounds = options.rounds

  const folder = resolve(dirname(path), typeof data.folder === 'string' ? data.folder : '.')
  const loadGame = (game: string) => options.loadGame(isModule(game) ? resolvePath(folder, game) : game)

  // A misspelt role lacks its keys as well, and the spelling is what the user must mend.
  if (typeof data.game === 'string' && data.game !== '') {
    checkRoleNames(data.roles, await loadGame(data.game), file)
  }
  const recipe = check(recipeSchema, data, file)
  const game = await loadGame(recipe.game)
  checkRoles(recipe, game, file)
  checkEngine(recipe, file)
  if (recipe.engine.kind === 'local') pinModels(recipe, folder)
  recipe.settings = check(game.config, recipe.settings, file, ['settings']) as Recipe['settings']
  checkAnchors(recipe, game, file)
  return { name: basename(path, extname(path)), file, folder, packaged, recipe, game }
}

/**
 * Absolute path of a file that a run file or --set names: from the run file's folder, else from the working folder, else
 * from the package's. Where it is in none of them, the first.
 */
export function resolvePath(folder: string, path: string): string {
  if (isAbsolute(path)) return path
  const places = [folder, '.', projectRoot()].map((place) => resolve(place, path))
  return places.find((place) => existsSync(place)) ?? places[0]!
}

/**
 * Folder of a model that a run file or --model names: a path, or a model of the Hub that was pulled, if need be without its
 * weights. Throws DataError.
 */
export function resolveModel(folder: string, model: string, weights = true): string {
  const path = resolvePath(folder, model)
  if (existsSync(path) || hubName(model) === undefined) return path
  const pulled = pulledModel(model, { weights })
  if (pulled !== undefined) return pulled.folder
  const guess = neighbour(path)
  throw new DataError(`There is no model folder ${model}, and no model of the Hub of that name was pulled.`, {
    hint:
      guess === undefined
        ? `If it is one of the Hub, fetch it: sparring pull ${model.replace('@', ' --revision ')}${weights ? '' : ' --no-weights'}.`
        : `Did you mean ${join(dirname(model), guess)}?`,
  })
}

/** Name of a file or folder beside the path that was most likely meant. */
function neighbour(path: string): string | undefined {
  const folder = dirname(path)
  return existsSync(folder) ? nearest(basename(path), readdirSync(folder)) : undefined
}

/** A run goes on with the model it began with, though its branch at the Hub may have moved. */
function pinModels({ roles }: Recipe, folder: string): void {
  for (const role of Object.values(roles)) {
    const pulled = existsSync(resolvePath(folder, role.model)) ? undefined : pulledModel(role.model)
    if (pulled !== undefined) role.model = `${hubName(role.model)!.model}@${pulled.commit}`
  }
}

/** Path of a recipe of the package by its name, or of a run file by its path. Throws ConfigError where there is none. */
export function findRecipe(nameOrPath: string): string {
  if (/[/\\]|\.(ya?ml|json)$/.test(nameOrPath)) {
    if (existsSync(nameOrPath)) return nameOrPath
    throw new ConfigError(`The run file ${nameOrPath} does not exist.`, {
      hint: `Recipes of the package go by name: ${recipeNames().join(', ')}.`,
    })
  }
  const path = join(projectRoot(), 'recipes', `${nameOrPath}.yaml`)
  if (existsSync(path)) return path
  const guess = nearest(nameOrPath, recipeNames())
  throw new ConfigError(`There is no recipe ${nameOrPath}.`, {
    hint: guess === undefined ? `Recipes: ${recipeNames().join(', ')}.` : `Did you mean ${guess}?`,
  })
}

export function recipeNames(): string[] {
  const files = readdirSync(join(projectRoot(), 'recipes'))
  return files.filter((file) => file.endsWith('.yaml')).map((file) => basename(file, '.yaml'))
}

function readFile(path: string, file: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const hint = 'Check that it is a file and that you may read it.'
    throw new ConfigError(`The run file ${file} cannot be read: ${messageOf(cause)}.`, { hint, cause })
  }
}

function parseYaml(text: string, file: string): Record<string, unknown> {
  const data = readYaml(text, file)
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ConfigError(`${file} must be a table of keys.`, {
      hint: 'See docs/run-files.md for an example.',
    })
  }
  return data as Record<string, unknown>
}

function readYaml(text: string, file: string): unknown {
  try {
    const document = parseDocument(text)
    if (document.errors[0]) throw document.errors[0]
    // Aliases are followed only here, and may lead nowhere or grow without end.
    return document.toJS()
  } catch (cause) {
    const fault = messageOf(cause).split('\n')[0]!.replace(/:$/, '')
    throw new ConfigError(`${file} is not valid ${extname(file) === '.json' ? 'JSON' : 'YAML'}: ${fault}.`, {
      cause,
    })
  }
}

function check<T>(schema: z.ZodType<T>, data: unknown, file: string, prefix: string[] = []): T {
  const result = schema.safeParse(data)
  if (!result.success) throw explain(result.error.issues, { file, schema, data, prefix })
  return result.data
}

function checkRoleNames(roles: unknown, game: AnyGame, file: string): void {
  if (typeof roles !== 'object' || roles === null || Array.isArray(roles)) return
  const name = Object.keys(roles).find((name) => !game.roles.includes(name))
  if (name === undefined) return
  const guess = nearest(name, game.roles)
  const known = `Roles of ${game.name}: ${game.roles.join(', ')}.`
  throw new ConfigError(`${file}: roles.${name} is not a role of ${game.name}.`, {
    hint: guess === undefined ? known : `Did you mean roles.${guess}?`,
  })
}

function checkRoles({ roles, anchors }: Recipe, game: AnyGame, file: string): void {
  const known = game.roles.join(', ')
  const missing = game.roles.find((name) => !(name in roles))
  if (missing !== undefined) {
    throw new ConfigError(`${file}: roles.${missing} is missing; ${game.name} is played by ${known}.`)
  }
  for (const key of ['heldout', 'levels'] as const) {
    const role = anchors[key]?.role
    if (role !== undefined && !game.roles.includes(role)) {
      throw new ConfigError(`${file}: anchors.${key}.role must be one of ${known}, not "${role}".`)
    }
  }
}

/** What only one kind of engine can do, or only with more than the run file says. */
function checkEngine({ engine, roles }: Recipe, file: string): void {
  for (const [name, { lora, url, base_model }] of Object.entries(roles)) {
    const key = url !== undefined ? 'url' : base_model !== undefined ? 'base_model' : undefined
    if (engine.kind === 'local' && key !== undefined)
      throw new ConfigError(`${file}: roles.${name}.${key} is for engine: tinker, and the engine is local.`, {
        hint: 'Leave it out, or set engine: {kind: tinker, url: ...}.',
      })
    if (engine.kind === 'tinker' && lora === undefined)
      throw new ConfigError(`${file}: roles.${name}.lora is missing: engine: tinker trains adapters only.`, {
        hint: 'Write lora: {rank: 16} into the role; rank, alpha and targets have defaults.',
      })
  }
}

/** What needs something else of the run file or of the game. */
function checkAnchors({ anchors, alarms, settings }: Recipe, game: AnyGame, file: string): void {
  if (anchors.opponents && game.duel?.(settings) === undefined) {
    throw new ConfigError(`${file}: anchors.opponents needs two roles that face each other.`, {
      hint: `As set here, ${game.name} has none: leave the key out.`,
    })
  }
  const acting = alarmNames.find((name) => alarms[name].do === 'rollback')
  if (acting !== undefined && anchors.heldout === undefined) {
    throw new ConfigError(`${file}: alarms.${acting} rolls back to the best anchor, and there is none.`, {
      hint: 'Set anchors.heldout, or let the alarm warn, pause or stop.',
    })
  }
}
