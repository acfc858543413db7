/** The games by name. Each is loaded when it is asked for. */
import { pathToFileURL } from 'node:url'
import { ConfigError, messageOf } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import type { AnyGame } from './game.js'

const loaders: Record<string, () => Promise<AnyGame>> = {
  pasodoble: async () => (await import('./pasodoble/game.js')).pasodoble,
  grpo: async () => (await import('./grpo/game.js')).grpo,
  'r-zero': async () => (await import('./r-zero/game.js')).rZero,
  gar: async () => (await import('./gar/game.js')).gar,
  'gar-sft': async () => (await import('./gar/sft/game.js')).garSft,
  'solver-critic': async () => (await import('./solver-critic/game.js')).solverCritic,
  sft: async () => (await import('./sft/game.js')).sft,
}

export const gameNames: readonly string[] = Object.keys(loaders)

/** Whether a game is named by the file of a module, and not by its name in this package. */
export function isModule(name: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(name)
}

/** A game of this package by its name, or of a module by its absolute path. Throws ConfigError where there is none. */
export async function loadGame(name: string): Promise<AnyGame> {
  if (Object.hasOwn(loaders, name)) return loaders[name]!()
  if (isModule(name)) return importGame(name)
  const guess = nearest(name, gameNames)
  throw new ConfigError(`There is no game ${name}.`, {
    hint: guess === undefined ? `Games: ${gameNames.join(', ')}.` : `Did you mean ${guess}?`,
  })
}

/** The default export of a module. */
async function importGame(path: string): Promise<AnyGame> {
  const module = await import(pathToFileURL(path).href).catch((cause) => {
    throw new ConfigError(`The game ${path} cannot be loaded: ${messageOf(cause)}.`, {
      hint: 'Check the path, which starts from the folder of the run file, and that the module runs by itself.',
      cause,
    })
  })
  const game = module.default
  const methods = [game?.setup, game?.round, game?.config?.safeParse]
  if (methods.every((method) => typeof method === 'function') && Array.isArray(game.roles)) return game
  throw new ConfigError(`${path} does not export a game.`, {
    hint: 'Its default export needs name, summary, roles, config, setup and round: see docs/new-game.md.',
  })
}
