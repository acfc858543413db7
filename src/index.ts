/**
 * Sparring as a library: open an engine, and play with its policies.
 * @module
 */
export { type Datum, joinSequence, placeOnCompletion, type Sequence } from './core/datum.js'
export * from './core/errors.js'
export { type RandomStream, randomStream } from './core/random.js'
export type { RawLogprobs, Rollout, StopReason } from './core/rollout.js'
export * from './engine/engine.js'
export { type LocalEngine, type LocalEngineOptions, openLocalEngine } from './engine/local/index.js'
export type { Game, GameContext, Role, RolloutRecord, RoundReport, World } from './games/game.js'
export { loadGame } from './games/index.js'
export type { Grader, Verdict } from './grader/grader.js'
export { createGrader, isEquivalent, lastBoxed } from './grader/index.js'
