/** A request that is refused before any promise is made. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    detail: unknown,
    readonly headers: Record<string, string> = {},
  ) {
    super(typeof detail === 'string' ? detail : JSON.stringify(detail))
    this.body = { detail }
  }

  readonly body: unknown
}

/** An exception that the server does not catch: status 500 as text, and the connection ends behind it. */
export class Crash extends Error {}

/** An operation that was promised and failed; `status` is what TuFT tells of it. */
export class OperationError extends Error {
  constructor(
    message: string,
    readonly category: 'user' | 'server' = 'user',
    readonly status = 400,
  ) {
    super(message)
  }
}

/** What went wrong in an operation; anything but an OperationError is told as servers tell an exception. */
export function operationError(thrown: unknown): OperationError {
  if (thrown instanceof OperationError) return thrown
  return new OperationError(thrown instanceof Error ? thrown.message : String(thrown), 'user', unexpected)
}

/** Status of TuFT for an operation that raised what it does not know. */
export const unexpected = 422
