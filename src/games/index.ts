/** The games by name. Each is loaded when it is asked for. */
import { ConfigError } from '../core/errors.js'
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

/** Throws ConfigError where there is no game of this name. */
export async function loadGame(name: string): Promise<AnyGame> {
  if (Object.hasOwn(loaders, name)) return loaders[name]!()
  const guess = nearest(name, gameNames)
  throw new ConfigError(`There is no game ${name}.`, {
    hint: guess === undefined ? `Games: ${gameNames.join(', ')}.` : `Did you mean ${guess}?`,
  })
}
