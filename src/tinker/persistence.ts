/** Trying again: what may pass is waited out, with growing waits, until too long without any success. */
import { rest } from './abort.js'
import type { Patience } from './client.js'
import {
  Auth,
  Billing,
  SequenceConflict,
  ServerError,
  type TinkerError,
  Transport,
  UserError,
} from './errors.js'

/** A failure that may pass. */
export class Passing extends Error {
  /** It certainly did not reach the server's work: sending again cannot do it twice. */
  readonly unsent: boolean
  /** The server said nothing, rather than something wrong. */
  readonly silent: boolean
  /** `bill`: passes when it is paid; `doubt`: passes seldom, a few tries tell. */
  readonly kind: 'busy' | 'bill' | 'doubt'
  readonly status: number | undefined
  /** What to do where it does not pass. */
  readonly hint: string | undefined

  constructor(
    message: string,
    options: {
      cause?: unknown
      unsent?: boolean
      silent?: boolean
      kind?: Passing['kind']
      status?: number
      hint?: string
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.unsent = options.unsent ?? false
    this.silent = options.silent ?? false
    this.kind = options.kind ?? 'busy'
    this.status = options.status
    this.hint = options.hint
  }
}

const longestBackoffMs = 30_000
const billPauseMs = 5000
/** Tries at least that a server which never answered is given. */
const reachTries = 5
/** Tries in a row that a doubtful failure is given. */
const doubtfulTries = 4

export interface Hearing {
  patience: Patience
  url: string
  warn: (sentence: string) => void
  /** Whether the server ever answered. */
  reached: () => boolean
  /** How the user knows the address, for sentences. */
  setting: string
}

/** The failures in a row of one request. */
export class Persistence {
  #failures = 0
  #doubts = 0
  #since = 0
  readonly #begun = performance.now()
  #billedSince: number | undefined

  constructor(
    /** Names the request in sentences. */
    private readonly what: string,
    private readonly hearing: Hearing,
  ) {}

  succeeded(): void {
    this.#failures = 0
    this.#doubts = 0
    this.#billedSince = undefined
  }

  /** Waits before another try, or throws where the patience is over. */
  async failed(failure: Passing, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const { patience } = this.hearing
    if (failure.kind === 'bill') {
      this.#billedSince ??= now
      if (now - this.#billedSince >= patience.billingMs) throw this.#unpaid(failure)
      return rest(Math.min(billPauseMs, patience.billingMs), signal)
    }
    const lost = failure.unsent && failure.status === undefined && !this.hearing.reached()
    if (lost && now - this.#begun >= patience.reachMs) throw this.#unreached(failure)
    if (this.#failures === 0) this.#since = now
    this.#failures++
    this.#doubts = failure.kind === 'doubt' ? this.#doubts + 1 : 0
    if (this.#doubts >= doubtfulTries || now - this.#since >= patience.giveUpMs) throw this.#over(failure)
    const longest = lost ? patience.reachMs / reachTries : longestBackoffMs
    const wait = Math.min(longest, patience.backoffMs * 2 ** (this.#failures - 1))
    if (this.#failures === 3) {
      const { url, setting, warn } = this.hearing
      const seconds = Math.round(patience.reachMs / 1000)
      if (lost) warn(`No server answers at ${url} (${setting}): ${failure.message}; trying for ${seconds} s.`)
      else warn(`${url}: ${this.what}: ${failure.message}; trying again.`)
    }
    await rest(wait * (0.5 + Math.random() / 2), signal)
  }

  #over(failure: Passing): TinkerError {
    const times = this.#failures === 1 ? 'once' : `${this.#failures} times in a row`
    const message = `${this.what} at ${this.hearing.url} failed ${times}: ${failure.message}.`
    if (failure.status !== undefined || failure.kind === 'doubt')
      return new ServerError(message, { cause: failure, hint: failure.hint ?? serverHint })
    return new Transport(message, { cause: failure, hint: transportHint })
  }

  #unreached(failure: Passing): Transport {
    const { url, setting } = this.hearing
    return new Transport(`No server answers at ${url} (${setting}): ${failure.message}.`, {
      cause: failure,
      hint: 'Start the server or correct its address, then run the same command again.',
    })
  }

  #unpaid(failure: Passing): Billing {
    const message = `${this.hearing.url} waits for a bill to be paid: ${failure.message}.`
    return new Billing(message, { cause: failure, hint: 'Add credit to the account, then go on.' })
  }
}

const serverHint = 'See what the server logs, and whether the address is the one of its API; then go on.'
const transportHint = 'See whether the server runs and the address is right, then go on.'

/** Whether the server itself said that it did not carry the request out; otherwise that is open. */
export function isFinal(error: unknown): boolean {
  if (error instanceof ServerError) return !(error.cause instanceof Passing)
  return error instanceof UserError || error instanceof Auth || error instanceof SequenceConflict
}
