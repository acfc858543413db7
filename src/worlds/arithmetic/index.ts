/** The world of the starter model: integer arithmetic with worked steps. */
import type { World } from '../../games/game.js'
import { solveQuestion } from './expression.js'
import { holds } from './holds.js'

export * from './examples.js'
export * from './expression.js'
export * from './format.js'
export * from './heldout.js'
export * from './holds.js'
export * from './kinds.js'
export * from './slips.js'
export * from './solutions.js'
export * from './steps.js'
export * from './tokenizer.js'

export const arithmetic: World = { name: 'arithmetic', solve: solveQuestion, holds }
