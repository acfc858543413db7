/** Opens what --model names: a model folder, or a role of a run at its newest checkpoint. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { CheckpointError, ConfigError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import type { Policy } from '../engine/engine.js'
import { readSaved } from '../engine/tinker/saved.js'
import type { Prompt } from '../eval/evaluate.js'
import { hubName } from '../hub/models.js'
import { wholeCheckpoints } from '../runs/checkpoint.js'
import { playerOf } from '../runs/match.js'
import { type EngineSurroundings, type Parts, parts as realParts } from '../runs/parts.js'
import { type LoadedRecipe, loadRecipe, resolveModel } from '../runs/recipe.js'
import { printable } from './failure.js'

export interface FoundModel {
  /** Folder that the weights come from. */
  folder: string
  /** How problems are put to it: as its game does, or bare. */
  prompt: Prompt
}

export interface OpenModel extends FoundModel {
  policy: Policy
  close(): Promise<void>
}

export interface ModelFlags {
  model: string
  role?: string
  threads?: number
  /** False where the chat template is to be told so. */
  thinking?: boolean
}

/** Where the weights lie and how problems are put to them, without opening them. */
export async function findModel(flags: ModelFlags, parts: Parts = realParts): Promise<FoundModel> {
  return isRun(flags.model) ? findInRun(flags.model, flags.role, parts) : fromFolder(flags)
}

/** What is waited for, and what goes wrong and is tried again, on stderr. */
export const hearing: EngineSurroundings = { onWait: say, onWarning: say }

function say(sentence: string): void {
  process.stderr.write(`${printable(sentence)}\n`)
}

export async function openModel(
  flags: ModelFlags,
  parts: Parts = realParts,
  around: EngineSurroundings = hearing,
): Promise<OpenModel> {
  const found = await findModel(flags, parts)
  const saved = await readSaved(found.folder)
  const engine = await parts.openEngine(
    saved
      ? { kind: 'tinker', url: saved.url, ...(saved.dialect && { dialect: saved.dialect }) }
      : { kind: 'local', threads: flags.threads ?? availableParallelism() },
    around,
  )
  try {
    const policy = await engine.open({
      model: found.folder,
      seed: 0,
      ...(flags.thinking !== undefined && { thinking: flags.thinking }),
    })
    const close = async () => {
      await policy.close()
      await engine.close()
    }
    return { ...found, policy, close }
  } catch (error) {
    await engine.close()
    throw error
  }
}

function fromFolder({ model, role }: ModelFlags): FoundModel {
  if (role !== undefined) {
    throw new ConfigError(`--role ${role} needs a run, and ${model} is not one.`, {
      hint: 'Leave --role out.',
    })
  }
  return {
    folder: existsSync(model) || hubName(model) === undefined ? model : resolveModel('.', model),
    prompt: (problem) => ({ messages: [{ role: 'user', content: problem }] }),
  }
}

/** A run folder has a journal or checkpoints; a model folder has a config.json as well. */
export function isRun(folder: string): boolean {
  return existsSync(join(folder, 'checkpoints')) && existsSync(join(folder, 'config.json'))
}

/** A role of a run at its newest checkpoint, or at the one after `round` rounds, and how the run's game puts problems. */
export async function findInRun(
  run: string,
  role: string | undefined,
  parts: Parts = realParts,
  round?: number,
): Promise<FoundModel> {
  const loaded = await loadRun(run, parts)
  const folder = join(await checkpointOf(run, round), playerOf(loaded, chooseRole(loaded, role)))
  return { folder, prompt: gamePrompt(loaded) }
}

/** The model that a role of a run began with. */
export async function findStart(
  run: string,
  role: string | undefined,
  parts: Parts = realParts,
): Promise<FoundModel> {
  const loaded = await loadRun(run, parts)
  const { model } = loaded.recipe.roles[playerOf(loaded, chooseRole(loaded, role))]!
  return { folder: resolveModel(loaded.folder, model), prompt: gamePrompt(loaded) }
}

async function loadRun(run: string, parts: Parts): Promise<LoadedRecipe> {
  if (!isRun(run)) {
    throw new ConfigError(`${run} is not the folder of a run.`, {
      hint: 'Runs lie in runs/, unless --run said otherwise.',
    })
  }
  return loadRecipe(join(run, 'config.json'), { loadGame: parts.loadGame })
}

function gamePrompt({ game, recipe }: LoadedRecipe): Prompt {
  return (problem) =>
    game.anchorPrompt?.(recipe.settings, problem) ?? { messages: [{ role: 'user', content: problem }] }
}

function chooseRole({ recipe, game }: LoadedRecipe, role: string | undefined): string {
  const known = game.roles.join(', ')
  if (role === undefined) {
    const usual = recipe.anchors.heldout?.role ?? (game.roles.length === 1 ? game.roles[0] : undefined)
    if (usual !== undefined) return usual
    throw new ConfigError(`The run has several roles.`, { hint: `Choose one with --role: ${known}.` })
  }
  if (game.roles.includes(role)) return role
  const guess = nearest(role, game.roles)
  throw new ConfigError(`${role} is not a role of ${game.name}.`, {
    hint: guess === undefined ? `Its roles: ${known}.` : `Did you mean ${guess}?`,
  })
}

async function checkpointOf(run: string, round: number | undefined): Promise<string> {
  const names = await wholeCheckpoints(join(run, 'checkpoints'))
  const found = round === undefined ? names.at(-1) : names.find((name) => Number(name) === round)
  if (found !== undefined) return join(run, 'checkpoints', found)
  if (names.length > 0) {
    throw new ConfigError(`${run} has no checkpoint after ${round} rounds.`, {
      hint: `It has those after ${names.map(Number).join(', ')}: checkpoint.keep says how many are kept.`,
    })
  }
  throw new CheckpointError(`${run} has no checkpoint yet.`, {
    hint: 'Wait for its first, or go on with it: --resume.',
  })
}
