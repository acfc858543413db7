/**
 * The journal of requests: what a session sent to its models, written before the answer is awaited. A process that was
 * killed finds there which requests the server may have carried out, and under which number and promise.
 *
 * One JSON object a line. `send` is on the disk before the request leaves, `accepted` once the server gave a promise,
 * `settled` once its outcome was known. Keys and data are never written: payloads stand there as digests.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CheckpointError, messageOf } from '../core/errors.js'
import { makeFolders } from '../core/folders.js'
import type { ModelSpec } from './client.js'

const fileName = 'requests.jsonl'

const modelSpec = z.custom<ModelSpec>((value) => {
  const { baseModel, rank } = (value ?? {}) as Partial<ModelSpec>
  return typeof baseModel === 'string' && Number.isInteger(rank)
}, 'a base model and a rank belong here')

const line = z.discriminatedUnion('event', [
  z.object({ event: z.literal('session'), session: z.string(), url: z.string() }),
  z.object({ event: z.literal('resumed') }),
  z.object({
    event: z.literal('send'),
    id: z.int(),
    kind: z.string(),
    /** Absent for `create_model`. */
    model: z.string().optional(),
    /** Number within the model; for `create_model`, that of the model within the session. */
    seq: z.int(),
    label: z.string().optional(),
    digest: z.string(),
    spec: modelSpec.optional(),
  }),
  z.object({ event: z.literal('unloaded'), model: z.string() }),
  z.object({ event: z.literal('accepted'), id: z.int(), request: z.string() }),
  z.object({
    event: z.literal('settled'),
    id: z.int(),
    outcome: z.enum(['done', 'failed']),
    /** What the request gave, where that is small. */
    result: z.unknown().optional(),
  }),
])
type Line = z.output<typeof line>

/** A request of an earlier process. */
export interface PastRequest {
  kind: string
  model: string | undefined
  seq: number
  label: string | undefined
  digest: string
  spec: ModelSpec | undefined
  /** Its promise; absent where the process ended before the server's answer. */
  request: string | undefined
  outcome: 'done' | 'failed' | undefined
  result: unknown
}

export interface Past {
  session: string
  url: string
  /** Times the session was taken up again. */
  resumes: number
  /** Models created in the session, those unloaded since included. */
  models: number
  requests: PastRequest[]
}

export class Journal {
  #writes: Promise<void> = Promise.resolve()
  #lines: string[] = []
  #nextId: number

  private constructor(
    private readonly file: FileHandle,
    private readonly path: string,
    /** The last session that was journaled here before this process. */
    readonly past: Past | undefined,
    nextId: number,
  ) {
    this.#nextId = nextId
  }

  /** Opens the journal of a folder, which is made where there is none. A last line that was cut off is dropped. */
  static async open(folder: string): Promise<Journal> {
    const path = join(folder, fileName)
    try {
      await makeFolders(folder)
      const text = await readFile(path, 'utf8').catch((error) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      const whole = text.slice(0, text.lastIndexOf('\n') + 1)
      const { past, nextId } = pastOf(whole, path)
      const file = await open(path, 'a')
      await file.truncate(Buffer.byteLength(whole))
      return new Journal(file, path, past, nextId)
    } catch (cause) {
      if (cause instanceof CheckpointError) throw cause
      throw new CheckpointError(`${path} cannot be opened: ${messageOf(cause)}.`, { cause })
    }
  }

  session(session: string, url: string): Promise<void> {
    return this.#write({ event: 'session', session, url })
  }

  resumed(): Promise<void> {
    return this.#write({ event: 'resumed' })
  }

  /** Gives the id of the entry; resolves when it is on the disk. */
  async send(entry: Omit<Extract<Line, { event: 'send' }>, 'event' | 'id'>): Promise<number> {
    const id = this.#nextId++
    await this.#write({ event: 'send', id, ...entry })
    return id
  }

  unloaded(model: string): Promise<void> {
    return this.#write({ event: 'unloaded', model })
  }

  accepted(id: number, request: string): Promise<void> {
    return this.#write({ event: 'accepted', id, request })
  }

  settled(id: number, outcome: 'done' | 'failed', result?: unknown): Promise<void> {
    return this.#write({ event: 'settled', id, outcome, ...(result !== undefined && { result }) })
  }

  async close(): Promise<void> {
    await this.#writes.catch(() => {})
    await this.file.close()
  }

  /** Lines that come while a write is under way go together in the next; after a failed write all others fail. */
  #write(entry: Line): Promise<void> {
    this.#lines.push(`${JSON.stringify(entry)}\n`)
    this.#writes = this.#writes.then(async () => {
      const text = this.#lines.join('')
      this.#lines = []
      if (text === '') return
      try {
        await this.file.appendFile(text)
        await this.file.datasync()
      } catch (cause) {
        throw new CheckpointError(`${this.path} cannot be written: ${messageOf(cause)}.`, {
          hint: 'Make room on the disk; without its journal a run cannot be taken up safely.',
          cause,
        })
      }
    })
    this.#writes.catch(() => {})
    return this.#writes
  }
}

function pastOf(text: string, path: string): { past: Past | undefined; nextId: number } {
  let past: Past | undefined
  let nextId = 0
  const byId = new Map<number, PastRequest>()
  for (const [i, row] of text.split('\n').entries()) {
    if (row === '') continue
    const entry = parse(row, `${path}:${i + 1}`)
    if (entry.event === 'session') {
      past = { session: entry.session, url: entry.url, resumes: 0, models: 0, requests: [] }
      byId.clear()
    } else if (!past) {
      throw broken(`${path}:${i + 1}: a request before any session`)
    } else if (entry.event === 'resumed') {
      past.resumes++
    } else if (entry.event === 'unloaded') {
      past.requests = past.requests.filter(
        ({ kind, model, result }) => (kind === 'create_model' ? result : model) !== entry.model,
      )
    } else if (entry.event === 'send') {
      nextId = Math.max(nextId, entry.id + 1)
      const { kind, model, seq, label, digest, spec } = entry
      const request = {
        kind,
        model,
        seq,
        label,
        digest,
        spec,
        request: undefined,
        outcome: undefined,
        result: undefined,
      }
      byId.set(entry.id, request)
      if (kind === 'create_model') past.models = Math.max(past.models, seq + 1)
      past.requests.push(request)
    } else {
      const request = byId.get(entry.id)
      if (!request) continue
      if (entry.event === 'accepted') request.request = entry.request
      else {
        request.outcome = entry.outcome
        request.result = entry.result
      }
    }
  }
  return { past, nextId }
}

function parse(row: string, where: string): Line {
  try {
    return line.parse(JSON.parse(row))
  } catch (cause) {
    throw broken(`${where} is no line of a journal`, cause)
  }
}

function broken(what: string, cause?: unknown): CheckpointError {
  return new CheckpointError(`${what}.`, {
    hint: 'Move the file away; the run then begins from its last saved weights.',
    cause,
  })
}
