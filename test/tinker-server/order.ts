/** The line of a model's operations: in which order they are carried out, and which are known to be retries. */
import { createHash } from 'node:crypto'
import type { Profile, TrainingKind } from './dialects.js'
import { OperationError, Refusal } from './errors.js'
import { type Future, type Futures, outcomeOf } from './futures.js'

export interface Operation {
  kind: TrainingKind
  seq: number | undefined
  future: Future
  run: () => Promise<unknown>
}

/** A request that was taken, by what it asked for and the promise that was made. */
export interface Known {
  fingerprint: string
  id: string
}

/** Requests that are remembered, of a model or a sampling session. */
const remembered = 4096

export function remember<K>(known: Map<K, Known>, key: K, what: Known): void {
  known.set(key, what)
  if (known.size > remembered) known.delete(known.keys().next().value!)
}

export class Line {
  readonly #waiting: Operation[] = []
  readonly #known = new Map<number, Known>()
  #next = 1
  #running = false

  constructor(
    private readonly profile: Profile,
    private readonly futures: Futures,
    /** Carries an operation out when the server may work. */
    private readonly work: (run: () => Promise<void>) => Promise<void>,
  ) {}

  /** The promise of a request: a new one, or the one that was made when it came before. */
  submit(
    kind: TrainingKind,
    seq: number | undefined,
    payload: unknown,
    make: () => { future: Future; run: () => Promise<unknown> },
  ): Future {
    const { order, deduped, reusedStatus } = this.profile
    const fingerprint = seq !== undefined && deduped.has(kind) ? fingerprintOf([kind, payload]) : undefined
    const known = fingerprint === undefined ? undefined : this.#known.get(seq!)
    if (known) {
      if (known.fingerprint !== fingerprint)
        throw new Refusal(reusedStatus, 'Training request sequence number was reused')
      const future = this.futures.again(known.id, kind)
      known.id = future.id
      return future
    }
    if (order === 'sequence' && (seq === undefined || seq < this.#next))
      throw new Refusal(reusedStatus, `seq_id ${seq} was already used; the next is ${this.#next}`)
    const { future, run } = make()
    if (fingerprint !== undefined) remember(this.#known, seq!, { fingerprint, id: future.id })
    this.#waiting.push({ kind, seq, future, run })
    this.pump()
    return future
  }

  /** Forgets what was not carried out yet, as if it had never come. */
  clear(): void {
    for (const { seq } of this.#waiting.splice(0)) if (seq !== undefined) this.#known.delete(seq)
  }

  pump(): void {
    if (this.#running) return
    const operation = this.#take()
    if (!operation) return
    this.#running = true
    void this.work(async () => {
      // While the server stood still the operation may have been forgotten.
      const at = this.#waiting.indexOf(operation)
      if (at < 0) return
      this.#waiting.splice(at, 1)
      this.futures.settle(operation.future, await this.#carryOut(operation))
    }).finally(() => {
      this.#running = false
      // A server that is dead carries nothing out any more.
      if (!this.#waiting.includes(operation)) this.pump()
    })
  }

  #take(): Operation | undefined {
    if (this.profile.order !== 'sequence') return this.#waiting[0]
    return this.#waiting.find(({ seq }) => seq === this.#next)
  }

  async #carryOut({ seq, run }: Operation) {
    if (this.profile.order !== 'expected') {
      this.#next++
      return outcomeOf(run)
    }
    if (seq !== undefined && seq !== this.#next)
      return {
        error: new OperationError(`Sequence conflict: expected ${this.#next}, got ${seq}`, 'user', 409),
      }
    const outcome = await outcomeOf(run)
    if (seq !== undefined && 'value' in outcome) this.#next++
    return outcome
  }
}

/** The same for the same content, whatever the order of keys and the kind of array. */
export function fingerprintOf(value: unknown): string {
  const hash = createHash('sha256')
  const add = (part: unknown): void => {
    if (ArrayBuffer.isView(part) || Array.isArray(part)) {
      hash.update(
        `[${Array.from(part as ArrayLike<unknown>, (v) => (typeof v === 'object' ? '' : v)).join()}]`,
      )
      if (Array.isArray(part)) for (const item of part) if (typeof item === 'object') add(item)
    } else if (typeof part === 'object' && part !== null) {
      for (const key of Object.keys(part).sort()) {
        hash.update(`${key}:`)
        add((part as Record<string, unknown>)[key])
      }
    } else hash.update(String(part))
    hash.update(';')
  }
  add(value)
  return hash.digest('hex')
}
