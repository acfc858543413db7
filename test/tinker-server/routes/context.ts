/** What a route works on, and what routes share. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../errors.js'
import type { Misfortune } from '../faults.js'
import type { Future } from '../futures.js'
import { parseJson, type Reply } from '../http.js'
import type { Known } from '../order.js'
import type { Body, Requests, Schemas } from '../requests.js'
import type { World } from '../world.js'

export interface Settings {
  /** Flags of `/client/config`. */
  flags: Record<string, unknown>
  keys: string[]
  /** Keys are exchanged for a token before anything else. */
  jwt: boolean
  jwtMs: number
  holdMs: number
  bigBytes: number
  /** `json`: an archive's address is told in the body instead of by a redirection. */
  archive: 'redirect' | 'json'
}

export interface Context {
  world: World
  settings: Settings
  requests: Requests
  request: IncomingMessage
  raw: Buffer
  /** Fires when the client is gone. */
  signal: AbortSignal
  fault: Misfortune | undefined
  /** Where this server is reached, with its base path. */
  origin: string
  /** Captures of a REST route. */
  params: string[]
  query: URLSearchParams
}

export type Handler = (context: Context) => Reply | Promise<Reply>

export function bodyOf<R extends keyof Schemas>({ requests, request, raw }: Context, route: R): Body<R> {
  if (request.headers['content-encoding']) throw new Refusal(415, 'Unsupported content encoding')
  if (!/json/.test(request.headers['content-type'] ?? ''))
    throw new Refusal(422, [{ type: 'model_attributes_type', loc: ['body'], msg: 'A JSON body is needed' }])
  return requests.read(route, parseJson(raw))
}

export const ok = (body: unknown): Reply => ({ status: 200, body })

export function promised({ world }: Context, future: Future, extra: Record<string, unknown> = {}): Reply {
  const { dialect, futureStatus } = world.around.profile
  const row = dialect === 'skyrl' ? { future_id: future.id, status: 'pending' } : {}
  const model = dialect === 'skyrl' || future.modelId === undefined ? {} : { model_id: future.modelId }
  return { status: futureStatus, body: { request_id: future.id, ...model, ...row, ...extra } }
}

/** A promise that is lost before anything came of it. */
export function neverKept(context: Context, kind: string, model?: string): Reply {
  const future = context.world.futures.create(kind, model)
  future.lost = true
  return promised(context, future)
}

export function isNeverKept(fault: Misfortune | undefined): boolean {
  return fault?.kind === 'lose' && !fault.applied
}

/** A promise that was made under this number before; throws a Refusal where it was for something else. */
export function madeBefore(known: Known | undefined, fingerprint: string, what: string): known is Known {
  if (known && known.fingerprint !== fingerprint)
    throw new Refusal(400, `${what} was used for another request`)
  return known !== undefined
}
