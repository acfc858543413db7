/** What a run needs before it can begin, whether it is there, and how it is had: models, checkpoints of earlier runs, files, a key. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DataError } from '../core/errors.js'
import { readSaved, tokenizerFolder } from '../engine/tinker/saved.js'
import { hubName } from '../hub/models.js'
import { profiles } from '../tinker/profile.js'
import { type LoadedRecipe, recipeNames, resolveModel, resolvePath } from './recipe.js'

export interface Need {
  kind: 'model' | 'checkpoint' | 'file' | 'key'
  /** Name or path, as the run file has it. */
  name: string
  /** Keys of the run file that ask for it. */
  keys: string[]
  /** Recipe whose run file that is, where it is one that has to be played first. */
  recipe?: string
  found: boolean
  /** A command, or where it comes from. */
  get: string
}

export interface Needs {
  /** In the order in which they are wanted, those of earlier runs first. */
  needs: Need[]
  /** The server's name of each role's base model, as far as run files tell. */
  bases: Record<string, string | undefined>
}

/** `load` reads a recipe of the package with a seed. */
export async function findNeeds(
  loaded: LoadedRecipe,
  load: (name: string, seed: number) => Promise<LoadedRecipe>,
): Promise<Needs> {
  const needs: Need[] = []
  const add = (need: Need, recipe: string | undefined) => {
    const known = needs.find(({ kind, name }) => kind === need.kind && name === need.name)
    if (known) known.keys = [...new Set([...known.keys, ...need.keys])]
    else needs.push({ ...need, ...(recipe !== undefined && { recipe }) })
  }
  const visit = async (of: LoadedRecipe, recipe?: string): Promise<Needs['bases']> => {
    const bases: Needs['bases'] = {}
    for (const role of Object.keys(of.recipe.roles)) {
      const { need, stage, base } = await modelNeed(of, role)
      const earlier = stage && (await visit(await load(stage.recipe, stage.seed), stage.recipe))
      bases[role] = earlier ? earlier[stage.role] : base
      add(need, recipe)
    }
    for (const need of fileNeeds(of)) add(need, recipe)
    return bases
  }
  const bases = await visit(loaded)
  const key = keyNeed(loaded)
  return { needs: key ? [...needs, key] : needs, bases }
}

/**
 * Throws DataError with the advice of a dry run where a stage that comes first was not played, or a file that the run file
 * says how to get is missing. What else may be missing is refused where it is opened.
 */
export async function requireEarlier(
  loaded: LoadedRecipe,
  load: (name: string, seed: number) => Promise<LoadedRecipe>,
): Promise<void> {
  const own = async (role: string) => (await modelNeed(loaded, role)).stage
  const stages = await Promise.all(Object.keys(loaded.recipe.roles).map(own))
  const sources = loaded.recipe.sources ?? {}
  if (!stages.some(Boolean) && Object.keys(sources).length === 0) return
  const { needs } = await findNeeds(loaded, load)
  const missing = needs.filter(({ kind, found }) => kind !== 'key' && !found)
  const first = missing.find((need) => need.recipe !== undefined || isEarlier(need) || need.name in sources)
  if (!first) return
  const { name, keys, recipe, get } = first
  const asks =
    recipe === undefined ? `${keys.join(', ')} asks for` : `the stage ${recipe} asks for (${keys.join(', ')})`
  const how = get.startsWith('sparring ') ? `Next: ${get}` : `It holds ${get}`
  const others = missing.length > 1 ? `; --dry-run lists all ${missing.length} that are missing` : ''
  throw new DataError(`${name} is not there, which ${asks}.`, { hint: `${how}${others}.` })
}

const isEarlier = ({ kind, found }: Need) => kind === 'checkpoint' && !found

interface Stage {
  recipe: string
  seed: number
  role: string
}

async function modelNeed(
  { recipe, folder }: LoadedRecipe,
  name: string,
): Promise<{ need: Need; stage?: Stage; base?: string }> {
  const { model, base_model } = recipe.roles[name]!
  const remote = recipe.engine.kind === 'tinker'
  const keys = [`roles.${name}.model`]
  const path = resolvePath(folder, model)
  const saved = remote ? await readSaved(path) : undefined
  if (saved) return { need: tokenizerNeed(saved, path, model, keys), base: saved.base_model }

  const stage = existsSync(path) ? undefined : stageOf(model)
  if (stage) {
    const { run } = stage
    const get = existsSync(join(resolvePath(folder, run), 'config.json'))
      ? `sparring train --run ${run} --resume`
      : `sparring train ${stage.recipe}`
    return { need: { kind: 'checkpoint', name: model, keys, found: false, get }, stage }
  }
  const hub = hubOf(model, folder)
  const base = base_model ?? (existsSync(path) ? undefined : hub?.model)
  const found =
    existsSync(path) || (hubName(model) !== undefined && isThere(() => resolveModel(folder, model, !remote)))
  const revision = hub?.revision === undefined ? '' : ` --revision ${hub.revision}`
  const get = hub
    ? `sparring pull ${hub.model}${revision}${remote ? ' --no-weights' : ''}`
    : `a model folder in Hugging Face form${remote ? ', its weights may be left out' : ''}; another one with --set ${keys[0]}=FOLDER or OWNER/NAME`
  return { need: { kind: 'model', name: model, keys, found, get }, ...(base !== undefined && { base }) }
}

/** A name of the Hub, unless it begins with a folder that there is, such as models/NAME. */
function hubOf(model: string, folder: string) {
  const owner = model.split('/')[0]!
  return existsSync(resolvePath(folder, owner)) ? undefined : hubName(model)
}

/** A policy that a server keeps speaks with the tokenizer of the model that it began with. */
function tokenizerNeed(
  saved: NonNullable<Awaited<ReturnType<typeof readSaved>>>,
  path: string,
  model: string,
  keys: string[],
): Need {
  const { name, folder } = saved.tokenizer
  const found = isThere(() => tokenizerFolder(saved, path))
  if (found) return { kind: 'checkpoint', name: model, keys, found, get: 'it is there' }
  const get =
    name === undefined ? `put the folder ${folder} in its place` : `sparring pull ${name} --no-weights`
  return { kind: 'model', name: name ?? folder, keys, found, get }
}

/** The recipe whose run makes a checkpoint, from the folder that such a run has where nothing else is said. */
function stageOf(model: string): (Stage & { run: string }) | undefined {
  const parts = /^(runs[/\\]([\w.-]+)-seed(\d+))[/\\]checkpoints[/\\]\d+[/\\](\w+)$/.exec(model)
  if (!parts) return undefined
  const [, run = '', recipe = '', seed, role = ''] = parts
  return recipeNames().includes(recipe) ? { run, recipe, seed: Number(seed), role } : undefined
}

function fileNeeds({ recipe, game, folder }: LoadedRecipe): Need[] {
  const { heldout, levels } = recipe.anchors
  const problems = Object.entries({ heldout, levels }).flatMap(([name, anchor]) =>
    anchor === undefined || anchor.problems === 'arithmetic'
      ? []
      : [{ key: `anchors.${name}.problems`, path: anchor.problems, what: 'JSONL of {problem, answer}' }],
  )
  return [...(game.files?.(recipe.settings) ?? []), ...problems].map(({ key, path, what }) => ({
    kind: 'file',
    name: path,
    keys: [key],
    found: existsSync(resolvePath(folder, path)),
    get: recipe.sources?.[path] ?? what,
  }))
}

function keyNeed({ recipe: { engine } }: LoadedRecipe): Need | undefined {
  if (engine.kind !== 'tinker') return undefined
  const hosted = engine.url === undefined && !process.env.TINKER_BASE_URL
  const needed = engine.dialect === undefined ? hosted : profiles[engine.dialect].needsKey
  if (!needed) return undefined
  const found = Boolean(process.env.TINKER_API_KEY)
  return {
    kind: 'key',
    name: 'TINKER_API_KEY',
    keys: ['engine'],
    found,
    get: 'a key of the service, in the environment',
  }
}

function isThere(find: () => string): boolean {
  try {
    find()
    return true
  } catch (error) {
    if (error instanceof DataError) return false
    throw error
  }
}
