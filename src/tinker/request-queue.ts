/**
 * The training requests of one model: numbered and sent one after another in the order of the calls, answered whenever
 * the server is done. What was sent and lost is sent again only where that cannot apply it twice.
 */
import { createHash } from 'node:crypto'
import { messageOf } from '../core/errors.js'
import { unlessAborted } from './abort.js'
import type { Progress } from './call.js'
import { type Body, type Connection, Gone, type Reading } from './connection.js'
import { PromiseLost, SequenceConflict, ServerError } from './errors.js'
import type { Journal } from './journal.js'
import type { PastRequest } from './journal-state.js'
import { isFinal } from './persistence.js'

export type Kind =
  | 'forward_backward'
  | 'forward'
  | 'optim_step'
  | 'save_weights'
  | 'save_weights_for_sampler'
  | 'load_weights'

export interface Request<T> {
  kind: Kind
  label: string | undefined
  /** The request under a number. */
  encode: (seq: number) => Body
  /** What makes it the same request as that of an earlier process. */
  identity: () => Uint8Array | string
  reading: Reading<T>
  /** Bytes of the request, for the budget of what is on its way. */
  bytes: number
  /** What the journal keeps of the answer, and the answer made of that. */
  keep?: { store: (result: T) => unknown; restore: (stored: never) => T }
  /** The answer where the server is known to have carried the request out, and its own answer is lost. */
  applied?: () => Promise<T> | T
  /** Hears of statuses that refuse the request; true: try again with the body as it is then. */
  refused?: (status: number) => boolean
  /** Waits that come between a request's turn and its sending. */
  before?: (signal: AbortSignal) => Promise<void>
}

interface Job {
  readonly kind: Kind
  readonly what: () => string
  seq: number | undefined
  sends: number
  /** An earlier process may have sent it. */
  resumed: boolean
  state: 'queued' | 'sent' | 'done' | 'failed'
  /** Why it is not to be sent any more. */
  doom: Error | undefined
  /** Jobs whose outcome was open when this one was sent last. */
  open: Job[]
  /** The server carried it out, whether or not its answer is known. */
  applied: boolean
  readonly settled: Promise<void>
  settle(): void
}

/** Promises of one request that may get lost. */
const mostLosses = 3

export class RequestQueue {
  /** Number of the next request. */
  next = 1
  /** Changes of the weights that were asked for. */
  changes = 0
  readonly #jobs = new Set<Job>()
  #tail: Promise<void> = Promise.resolve()
  /** Set on servers that count strictly after a failure: what was sent is answered before anything else is sent. */
  #drain: Promise<unknown> | undefined
  /** Number that such a server then expects. */
  #expected: number | undefined

  constructor(
    private readonly connection: Connection,
    private readonly modelId: string,
    private readonly journal: Journal | undefined,
    /** Requests of an earlier process, by label. */
    private readonly past: Map<string, PastRequest>,
  ) {}

  /** Begins at once with queueing, so the order of calls is that of the requests. */
  async perform<T>(request: Request<T>, progress: Progress): Promise<T> {
    const job = this.#enlist(request.kind)
    let id: number | undefined
    const note = (entry: number) => {
      id = entry
    }
    try {
      const result = await this.#carryOut(job, request, progress, note)
      job.state = 'done'
      job.applied = true
      if (id !== undefined) this.#note(this.journal!.settled(id, 'done', request.keep?.store(result)))
      return result
    } catch (error) {
      this.#fail(job, error)
      if (id !== undefined && isFinal(error) && !this.connection.signal.aborted)
        this.#note(this.journal!.settled(id, 'failed'))
      throw error
    } finally {
      this.#jobs.delete(job)
      job.settle()
    }
  }

  /** Whether each request of a kind that is under way was carried out in the end. */
  underWay(kind: Kind): Promise<boolean>[] {
    return [...this.#jobs]
      .filter((job) => job.kind === kind)
      .map((job) => job.settled.then(() => job.applied))
  }

  #enlist(kind: Kind): Job {
    let settle = () => {}
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const job: Job = {
      kind,
      what: () => `${kind}${job.seq === undefined ? '' : ` ${job.seq}`} of model ${this.modelId}`,
      seq: undefined,
      sends: 0,
      resumed: false,
      state: 'queued',
      doom: undefined,
      open: [],
      applied: false,
      settled,
      settle,
    }
    this.#jobs.add(job)
    return job
  }

  async #carryOut<T>(
    job: Job,
    request: Request<T>,
    progress: Progress,
    note: (id: number) => void,
  ): Promise<T> {
    const before = this.#tail
    let pass = () => {}
    this.#tail = new Promise((resolve) => {
      pass = resolve
    })
    let promise: { requestId: string; seconds: number }
    try {
      progress.tell(`${job.what()} to be sent: others come first`)
      await unlessAborted(before, progress.signal)
      await this.#drained()
      if (job.doom) throw job.doom
      const digest = this.journal ? digestOf(request) : ''
      const past = request.label === undefined ? undefined : this.past.get(request.label)
      if (past && past.outcome !== 'failed') {
        this.#takeUp(job, request, past, digest)
        if (past.outcome === 'done' && request.keep && past.result !== undefined)
          return request.keep.restore(past.result as never)
        if (past.request !== undefined) promise = { requestId: past.request, seconds: 0 }
        else if (this.#repeatable(request.kind))
          promise = await this.#send(job, request, digest, progress, note)
        else throw this.#lost(job, new Gone('the process ended before the server had answered'))
      } else {
        await request.before?.(progress.signal)
        promise = await this.#send(job, request, digest, progress, note)
      }
    } finally {
      before.then(pass)
    }
    progress.accepted()
    return this.#answer(job, request, promise, progress, note)
  }

  /** Gives the request the number that an earlier process gave it. */
  #takeUp<T>(job: Job, { kind, label }: Request<T>, past: PastRequest, digest: string): void {
    job.seq = past.seq
    job.resumed = true
    job.open = this.#sentBefore(past.seq)
    if (past.kind !== kind || past.digest !== digest)
      throw new SequenceConflict(
        `${kind} "${label}" of model ${this.modelId} was sent before with other contents.`,
        undefined,
        { hint: 'The model may hold what was sent then: load its last saved weights into a new model.' },
      )
    this.past.delete(label!)
    this.next = Math.max(this.next, past.seq + 1)
  }

  async #send<T>(
    job: Job,
    request: Request<T>,
    digest: string,
    progress: Progress,
    note: (id: number) => void,
  ): Promise<{ requestId: string; seconds: number }> {
    job.seq ??= this.next
    const { seq } = job
    const what = job.what()
    const id = await this.journal?.send({
      kind: request.kind,
      model: this.modelId,
      seq,
      ...labelOf(request),
      digest,
    })
    if (id !== undefined) note(id)
    job.open = this.#sentBefore(seq)
    progress.tell(`the server to take ${what}`)
    const { signal } = this.connection
    const release = await this.connection.trainBytes.take(request.bytes, signal)
    try {
      const promise = await this.connection.promise({
        path: request.kind,
        body: () => {
          job.sends++
          return request.encode(seq)
        },
        what,
        signal,
        repeatable: this.#repeatable(request.kind),
        ...(request.refused && { refused: request.refused }),
      })
      job.state = 'sent'
      this.next = Math.max(this.next, seq + 1)
      if (id !== undefined) await this.journal!.accepted(id, promise.requestId)
      return promise
    } catch (error) {
      if (error instanceof PromiseLost) this.next = Math.max(this.next, seq + 1)
      throw error
    } finally {
      release()
    }
  }

  async #answer<T>(
    job: Job,
    request: Request<T>,
    first: { requestId: string; seconds: number },
    progress: Progress,
    note: (id: number) => void,
  ): Promise<T> {
    const { signal } = this.connection
    let promise = first
    job.state = 'sent'
    for (let losses = 0; ; losses++) {
      const what = job.what()
      try {
        return await this.connection.retrieve(promise, request.reading, { what, signal, progress })
      } catch (error) {
        if (error instanceof Gone) {
          if (losses >= mostLosses || !this.#repeatable(request.kind)) throw this.#lost(job, error)
        } else if (error instanceof SequenceConflict && this.connection.profile.order === 'expected') {
          if (losses >= mostLosses) throw error
          const known = await this.#conflict(job, request, error)
          if (known) return known.result
        } else throw error
        const failed = await this.#failedBefore(job)
        if (failed) throw error instanceof Gone ? this.#lost(job, error) : this.#notDone(job, failed.what())
      }
      const digest = this.journal ? digestOf(request) : ''
      promise = await this.#send(job, request, digest, progress, note)
    }
  }

  /**
   * The server expects another number. Larger: the request was carried out, or somebody else uses the model. Smaller:
   * requests before this one are missing, and it may be sent again once they are done.
   */
  async #conflict<T>(
    job: Job,
    request: Request<T>,
    error: SequenceConflict,
  ): Promise<{ result: T } | undefined> {
    const { expected } = error
    if (expected === undefined) throw error
    if (expected > job.seq!) {
      this.next = Math.max(this.next, expected)
      if (job.sends + (job.resumed ? 1 : 0) < 2) throw error
      if (request.applied) return { result: await request.applied() }
      throw new PromiseLost(
        `${this.connection.transport.url} carried out ${job.what()}, and its answer is lost.`,
        'yes',
        { hint: 'Load the last saved weights into a new model, and do the step anew.', cause: error },
      )
    }
    if (expected < job.seq! && job.open.length === 0) {
      this.#expected = expected
      throw error
    }
    return undefined
  }

  /** The first request sent before this one that failed, once all of them have ended. */
  async #failedBefore(job: Job): Promise<Job | undefined> {
    const { open } = job
    await Promise.all(open.map(({ settled }) => settled))
    return open.find(({ state }) => state === 'failed')
  }

  #fail(job: Job, error: unknown): void {
    job.state = 'failed'
    job.applied = error instanceof PromiseLost && error.applied === 'yes'
    const jobs = [...this.#jobs]
    for (const other of jobs.slice(jobs.indexOf(job) + 1))
      if (other.state === 'queued') other.doom ??= this.#notDone(other, job.what(), error)
    if (this.connection.profile.order !== 'expected' || job.seq === undefined) return
    const counted = error instanceof SequenceConflict || error instanceof PromiseLost
    if (!counted) this.#expected = Math.min(this.#expected ?? job.seq, job.seq)
    const sent = jobs.filter((other) => other !== job && other.state === 'sent')
    this.#drain = Promise.all(sent.map(({ settled }) => settled))
  }

  async #drained(): Promise<void> {
    await this.#drain
    this.next = this.#expected ?? this.next
    this.#expected = undefined
  }

  #sentBefore(seq: number): Job[] {
    return [...this.#jobs].filter((other) => other.state === 'sent' && other.seq! < seq)
  }

  #repeatable(kind: Kind): boolean {
    if (kind !== 'forward_backward' && kind !== 'optim_step') return true
    return this.connection.profile.deduplicates !== 'none'
  }

  #notDone(job: Job, failed: string, cause?: unknown): ServerError {
    return new ServerError(`${job.what()} was not carried out, since ${failed} before it failed.`, {
      hint: 'See the error of that request.',
      ...(cause !== undefined && { cause }),
    })
  }

  #lost(job: Job, gone: Gone): PromiseLost {
    const harmless = job.kind === 'forward' || job.kind.startsWith('save')
    return new PromiseLost(
      `${this.connection.transport.url} lost ${job.what()}: ${messageOf(gone)}.`,
      harmless ? 'no' : 'unknown',
      { hint: 'Load the last saved weights into a new model, and go on from there.', cause: gone },
    )
  }

  /** What cannot be written afterwards is found again by asking the server. */
  #note(write: Promise<void>): void {
    write.catch((error) => this.connection.hearing.warn(messageOf(error)))
  }
}

function labelOf({ label }: { label: string | undefined }) {
  return label === undefined ? {} : { label }
}

function digestOf({ kind, identity }: Pick<Request<unknown>, 'kind' | 'identity'>): string {
  return createHash('sha256')
    .update(`${kind}
`)
    .update(identity())
    .digest('base64url')
    .slice(0, 22)
}
