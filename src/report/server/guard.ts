/**
 * Who may ask. A page of another site can send the browser here (and, by a name that it points at this machine, even as
 * if it were of the same origin), so that what the request says of itself is looked at: its Host and where it comes from.
 */
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { MiddlewareHandler } from 'hono'
import type { ApiError } from '../api/address.js'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

export interface Doors {
  /** What the server listens on. */
  host: string
  /** Names that it may be called by beside its own, in lower case. */
  names: readonly string[]
}

export function guard(doors: Doors): MiddlewareHandler {
  return async (c, next) => {
    const fault = faultOf(c.req.raw, doors)
    if (fault !== undefined) return c.json(fault satisfies ApiError, 403, headers)
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      const answer: ApiError = { error: 'Runs can only be read here.', hint: null }
      return c.json(answer, 405, { ...headers, Allow: 'GET, HEAD' })
    }
    await next()
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
  }
}

function faultOf(request: Request, doors: Doors): ApiError | undefined {
  const named = request.headers.get('host') ?? ''
  if (!isOurs(nameIn(named), doors)) {
    return {
      error: 'The request names another host than this server.',
      hint: 'Open an address that sparring ui has printed, or let the name in with --allow-host NAME.',
    }
  }
  const elsewhere = {
    error: 'The request comes from a page of another origin.',
    hint: 'Open an address that sparring ui has printed.',
  }
  const origin = request.headers.get('origin')
  if (origin !== null && hostIn(origin) !== named) return elsewhere
  // A link on another page may lead here; its scripts, frames and images may not.
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  const isNavigation =
    request.headers.get('sec-fetch-mode') === 'navigate' &&
    request.headers.get('sec-fetch-dest') === 'document'
  return site === 'same-origin' || site === 'none' || isNavigation ? undefined : elsewhere
}

/** Addresses in figures cannot be pointed elsewhere, names can: only those of this machine, and those let in, are taken. */
function isOurs(name: string, { host, names }: Doors): boolean {
  if (isLoopback(name) || names.includes(name)) return true
  if (isLoopback(host)) return false
  return isIP(name) !== 0 || name === host || name === hostname().toLowerCase()
}

export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127\.\d+\.\d+\.\d+$/.test(name)
}

/** Host name in a Host header, in lower case, without port and brackets. */
function nameIn(named: string): string {
  const [, name = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(named.toLowerCase()) ?? []
  return name.replace(/^\[(.*)\]$/, '$1')
}

function hostIn(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]
}
