/** Promises of the server: what was asked, and what came of it. */
import { randomUUID } from 'node:crypto'
import type { Profile } from './dialects.js'
import { type OperationError, operationError } from './errors.js'

export type Outcome = { value: unknown } | { error: OperationError } | { cancelled: true }

export interface Future {
  readonly id: string
  /** What it is the result of: decides whether it may be told in protobuf. */
  readonly kind: string
  readonly modelId: string | undefined
  outcome: Outcome | undefined
  /** The server has lost it: asked for, it is gone. */
  lost: boolean
}

interface Kept extends Future {
  waiters: Set<() => void>
}

/** Decimal ids go on over restarts, as rows of a database do. */
let decimals = 0

export class Futures {
  readonly #byId = new Map<string, Kept>()
  #delivered: string[] = []

  constructor(
    private readonly profile: Profile,
    private readonly kept: number,
  ) {}

  create(kind: string, modelId?: string): Future {
    const id = this.profile.dialect === 'skyrl' ? String(++decimals) : randomUUID()
    const future: Kept = { id, kind, modelId, outcome: undefined, lost: false, waiters: new Set() }
    this.#byId.set(id, future)
    return future
  }

  get(id: string): Future | undefined {
    return this.#byId.get(id)
  }

  settle(future: Future, outcome: Outcome): void {
    if (future.outcome) return
    future.outcome = outcome
    const { waiters } = future as Kept
    for (const wake of waiters) wake()
    waiters.clear()
  }

  /**
   * The promise that was made under this id, for a request that comes again: where it was lost, a second promise of the
   * same operation; where its result is no longer kept, one that is gone as well.
   */
  again(id: string, kind: string): Future {
    const first = this.#byId.get(id)
    if (first && !first.lost) return first
    const second = this.create(kind, first?.modelId)
    const copy = () => this.settle(second, first!.outcome!)
    if (!first) second.lost = true
    else if (first.outcome) copy()
    else first.waiters.add(copy)
    return second
  }

  /** Until there is an outcome, the time is over or the signal fires. */
  wait(future: Future, ms: number, signal: AbortSignal): Promise<void> {
    if (future.outcome || signal.aborted) return Promise.resolve()
    const { waiters } = future as Kept
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        waiters.delete(end)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      waiters.add(end)
      signal.addEventListener('abort', end)
    })
  }

  /** What was told stays retrievable for a while. */
  delivered(future: Future): void {
    if (!Number.isFinite(this.kept)) return
    this.#delivered.push(future.id)
    if (this.#delivered.length <= this.kept) return
    for (const id of this.#delivered.splice(0, this.#delivered.length - this.kept)) this.#byId.delete(id)
  }

  cancelPending(): void {
    for (const future of this.#byId.values()) this.settle(future, { cancelled: true })
  }

  get pending(): number {
    return [...this.#byId.values()].filter(({ outcome }) => !outcome).length
  }
}

export async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await run() }
  } catch (thrown) {
    return { error: operationError(thrown) }
  }
}
