/** What the lines of a journal come to, and the fewest lines that come to the same. */
import { z } from 'zod'
import type { ModelSpec } from './client.js'

const modelSpec = z.custom<ModelSpec>((value) => {
  const { baseModel, rank } = (value ?? {}) as Partial<ModelSpec>
  return typeof baseModel === 'string' && Number.isInteger(rank)
}, 'a base model and a rank belong here')

export const line = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('session'),
    session: z.string(),
    url: z.string(),
    /** Of a journal that was written anew: times that the session was taken up again, models created in it, next id. */
    resumes: z.int().optional(),
    models: z.int().optional(),
    nextId: z.int().optional(),
  }),
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
  z.object({ event: z.literal('forgotten'), model: z.string() }),
  z.object({ event: z.literal('accepted'), id: z.int(), request: z.string() }),
  z.object({
    event: z.literal('settled'),
    id: z.int(),
    outcome: z.enum(['done', 'failed']),
    /** What the request gave, where that is small. */
    result: z.unknown().optional(),
  }),
])
export type Line = z.output<typeof line>

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

interface Entry extends PastRequest {
  id: number
}

export class JournalState {
  nextId = 0
  #session: { session: string; url: string; resumes: number; models: number } | undefined
  readonly #requests = new Map<number, Entry>()

  get begun(): boolean {
    return this.#session !== undefined
  }

  /** The last session; what comes later does not change it. */
  get past(): Past | undefined {
    if (!this.#session) return undefined
    const requests = [...this.#requests.values()].map(({ id: _, ...request }): PastRequest => request)
    return { ...this.#session, requests }
  }

  apply(entry: Line): void {
    if (entry.event === 'session') {
      const { session, url, resumes = 0, models = 0, nextId = 0 } = entry
      this.#session = { session, url, resumes, models }
      this.#requests.clear()
      this.nextId = Math.max(this.nextId, nextId)
    } else if (entry.event === 'resumed') {
      this.#session!.resumes++
    } else if (entry.event === 'unloaded') {
      for (const { id, kind, model, result } of this.#requests.values())
        if ((kind === 'create_model' ? result : model) === entry.model) this.#requests.delete(id)
    } else if (entry.event === 'forgotten') {
      for (const request of this.#requests.values())
        if (request.model === entry.model && request.outcome) request.label = undefined
    } else if (entry.event === 'send') {
      const { event: _, kind, model, seq, label, digest, spec } = entry
      const open = { request: undefined, outcome: undefined, result: undefined }
      this.nextId = Math.max(this.nextId, entry.id + 1)
      this.#requests.set(entry.id, { id: entry.id, kind, model, seq, label, digest, spec, ...open })
      if (kind === 'create_model') this.#session!.models = Math.max(this.#session!.models, seq + 1)
    } else {
      const request = this.#requests.get(entry.id)
      if (!request) return
      if (entry.event === 'accepted') request.request = entry.request
      else {
        request.outcome = entry.outcome
        request.result = entry.result
      }
    }
  }

  /**
   * Forgets requests that nobody can ask for again: those without a label whose outcome is known, but for the last done and
   * the last failed one of a model, which tell the number that comes next; and models that were not created.
   */
  reduce(): void {
    const newest = new Map<string, Entry>()
    for (const entry of this.#requests.values()) {
      const { id, kind, model, label, outcome, seq } = entry
      if (kind === 'create_model' && outcome === 'failed') this.#requests.delete(id)
      if (model === undefined || label !== undefined || outcome === undefined) continue
      const key = `${outcome} ${model}`
      const last = newest.get(key)
      if (last && last.seq > seq) this.#requests.delete(id)
      else {
        if (last) this.#requests.delete(last.id)
        newest.set(key, entry)
      }
    }
  }

  lines(): Line[] {
    if (!this.#session) return []
    const lines: Line[] = [{ event: 'session', ...this.#session, nextId: this.nextId }]
    for (const {
      id,
      kind,
      model,
      seq,
      label,
      digest,
      spec,
      request,
      outcome,
      result,
    } of this.#requests.values()) {
      lines.push({
        event: 'send',
        id,
        kind,
        seq,
        digest,
        ...(model !== undefined && { model }),
        ...(label !== undefined && { label }),
        ...(spec && { spec }),
      })
      if (request !== undefined) lines.push({ event: 'accepted', id, request })
      if (outcome) lines.push({ event: 'settled', id, outcome, ...(result !== undefined && { result }) })
    }
    return lines
  }
}
