/** Errors of the Tinker client, classed by who must act. Each is a ServiceError of one sentence and a hint. */
import { ServiceError } from '../core/errors.js'

export type Blame = 'user' | 'server' | 'sequence' | 'lost' | 'billing' | 'auth' | 'transport'

interface Details {
  hint?: string
  cause?: unknown
}

export abstract class TinkerError extends ServiceError {
  /** The class of the error in one word. */
  abstract readonly blame: Blame
}

/** What was asked for is wrong or is not offered: the caller changes it. */
export class UserError extends TinkerError {
  readonly blame = 'user'
  constructor(message: string, details: Details = {}) {
    super(message, { ...details, retryable: false })
  }
}

/** The server failed at the request, or answers what cannot be used. */
export class ServerError extends TinkerError {
  readonly blame = 'server'
  constructor(message: string, details: Details = {}) {
    super(message, { ...details, retryable: true })
  }
}

/** The server counts a model's requests otherwise: its state is not the one that the caller builds on. */
export class SequenceConflict extends TinkerError {
  readonly blame = 'sequence'
  constructor(
    message: string,
    /** Number that the server expects next, where it says so. */
    readonly expected: number | undefined,
    details: Details = {},
  ) {
    super(message, { ...details, retryable: false })
  }
}

/**
 * The answer of a request is lost. `applied` tells whether the server carried it out: where it is not `no`, the model
 * is loaded from its last saved weights before it is trained on.
 */
export class PromiseLost extends TinkerError {
  readonly blame = 'lost'
  constructor(
    message: string,
    readonly applied: 'yes' | 'no' | 'unknown',
    details: Details = {},
  ) {
    super(message, { ...details, retryable: true })
  }
}

/** The account cannot pay; the client waited as long as it was told to. */
export class Billing extends TinkerError {
  readonly blame = 'billing'
  constructor(message: string, details: Details = {}) {
    super(message, { ...details, retryable: true })
  }
}

/** The key is missing, unknown, or not allowed to do this. */
export class Auth extends TinkerError {
  readonly blame = 'auth'
  override readonly code = 'auth'
  override readonly exitStatus = 2
  constructor(message: string, details: Details = {}) {
    super(message, { ...details, retryable: false })
  }
}

/** The server could not be reached, or fell silent. */
export class Transport extends TinkerError {
  readonly blame = 'transport'
  constructor(message: string, details: Details = {}) {
    super(message, { ...details, retryable: true })
  }
}
