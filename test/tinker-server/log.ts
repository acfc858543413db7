/** What was asked, in order of arrival. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { decodeForwardBackwardRequest } from '../../src/tinker/wire.js'
import { isProtobuf } from './http.js'

export interface Logged {
  /** Milliseconds since the epoch. */
  at: number
  method: string
  path: string
  /** The path below /api/v1, or the name of the REST route. */
  route: string
  headers: IncomingHttpHeaders
  /** The body as it was read: JSON, a decoded protobuf message, or nothing where it could not be read. */
  body: unknown
  raw: Buffer
  /** Of the answer; absent while there is none. */
  status?: number
  /** Kind of the fault that befell it. */
  fault?: string
}

export class RequestLog {
  /** The last requests, oldest first. */
  readonly requests: Logged[] = []
  /** Called with each request as it comes. */
  onRequest: ((request: Logged) => void) | undefined
  readonly #counts = new Map<string, number>()

  constructor(private readonly limit: number) {}

  add({ method = 'GET', url = '/', headers }: IncomingMessage, route: string, raw: Buffer): Logged {
    const logged: Logged = {
      at: Date.now(),
      method,
      path: url,
      route,
      headers,
      body: read(headers, raw),
      raw,
    }
    this.#counts.set(route, this.count(route) + 1)
    this.requests.push(logged)
    if (this.requests.length > this.limit) this.requests.splice(0, this.requests.length - this.limit)
    this.onRequest?.(logged)
    return logged
  }

  /** Requests of a route so far, those that are no longer remembered included. */
  count(route: string): number {
    return this.#counts.get(route) ?? 0
  }

  of(route: string): Logged[] {
    return this.requests.filter((request) => request.route === route)
  }
}

function read(headers: IncomingHttpHeaders, raw: Buffer): unknown {
  try {
    if (isProtobuf(headers['content-type']) && !headers['content-encoding'])
      return decodeForwardBackwardRequest(raw)
    return raw.length > 0 ? JSON.parse(raw.toString('utf8')) : undefined
  } catch {
    return undefined
  }
}
