/**
 * The error model. An error is classed by who must act on it; a rollout that went wrong is not an error at all but
 * a recorded value (see `Rollout.stop` and the games' parse results).
 *
 * `message` is one sentence that names the file, key or value; `hint` is one sentence that says what to do next.
 */
const brand = Symbol.for('sparring.error')

export interface ErrorOptions {
  hint?: string
  cause?: unknown
}

export abstract class SparringError extends Error {
  /** Who must act: the class of the error in one word. */
  abstract readonly code: string
  /** Exit status of the command line: 2 = what the user gave is wrong, 1 = something failed while running. */
  abstract readonly exitStatus: 1 | 2
  readonly hint: string | undefined
  readonly [brand] = true

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.hint = options.hint
  }

  static isInstance(value: unknown): value is SparringError {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** A flag, recipe key or setting is wrong: the user edits the command or the run file. */
export class ConfigError extends SparringError {
  override readonly name = 'ConfigError'
  readonly code = 'config'
  readonly exitStatus = 2
}

/** A file the user supplied (problems, knowledge, model folder) is missing, malformed or unsupported. */
export class DataError extends SparringError {
  override readonly name = 'DataError'
  readonly code = 'data'
  readonly exitStatus = 2
}

/** The engine cannot do what was asked of it (memory, a kernel, a shape). */
export class EngineError extends SparringError {
  override readonly name = 'EngineError'
  readonly code = 'engine'
  readonly exitStatus = 1
}

/** A gradient or a distribution is not finite: training went too far, and an earlier checkpoint is the way back. */
export class NotFiniteError extends SparringError {
  override readonly name = 'NotFiniteError'
  readonly code = 'not_finite'
  readonly exitStatus = 1
}

/** A remote service failed or refused. */
export class ServiceError extends SparringError {
  override readonly name = 'ServiceError'
  readonly code: 'service' | 'auth' = 'service'
  readonly exitStatus: 1 | 2 = 1
  readonly retryable: boolean

  constructor(message: string, options: ErrorOptions & { retryable: boolean }) {
    super(message, options)
    this.retryable = options.retryable
  }
}

/** A service wants a key, or does not let the one that it was given do this: the user sets another. */
export class AuthError extends ServiceError {
  override readonly code = 'auth'
  override readonly exitStatus = 2

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { ...options, retryable: false })
  }
}

/** The grader as a whole cannot work (a single answer that cannot be graded is a verdict, not an error). */
export class GraderError extends SparringError {
  override readonly name = 'GraderError'
  readonly code = 'grader'
  readonly exitStatus = 1
}

/** A run directory or checkpoint cannot be written, read or trusted. */
export class CheckpointError extends SparringError {
  override readonly name = 'CheckpointError'
  readonly code = 'checkpoint'
  readonly exitStatus = 1
}

/** The run file lets an alarm end the run, and the alarm was raised. */
export class AlarmError extends SparringError {
  override readonly name = 'AlarmError'
  readonly code = 'alarm'
  readonly exitStatus = 1
}

/** A fault of Sparring itself. */
export class InvariantError extends SparringError {
  override readonly name = 'InvariantError'
  readonly code = 'invariant'
  readonly exitStatus = 1
}

/** Message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
