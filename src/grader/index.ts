export { isEquivalent } from './equivalence.js'
export { lastBoxed } from './extract.js'
export type { Grader, Verdict } from './grader.js'
export { createGrader, type GraderOptions } from './pool.js'
