/** The grader as a library: `sparring/grader`. */
export * from './code/index.js'
export { type EquivalenceOptions, isEquivalent } from './equivalence.js'
export { lastBoxed } from './extract/boxed.js'
export {
  defaultMethods,
  type Extraction,
  type ExtractionOptions,
  extractAnswer,
  type Method,
  methods,
} from './extract/index.js'
export type { GradeSettings } from './grade.js'
export type { GradeCase, Grader, Verdict } from './grader.js'
export { grade } from './once.js'
export { createGrader, type GraderOptions } from './pool.js'
