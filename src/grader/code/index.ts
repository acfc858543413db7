export { type CodeCase, type CodeGrader, type CodeGraderOptions, createCodeGrader } from './code-grader.js'
export { parseExact } from './compare.js'
export { extractCode } from './extract-code.js'
export type { Isolation } from './isolation.js'
export { defaultLimits, type Limits } from './limits.js'
export type { SandboxReport } from './sandbox.js'
export type {
  CodeReason,
  CodeTask,
  CodeVerdict,
  FunctionTask,
  Language,
  ProgramTask,
  StdinTask,
} from './task.js'
