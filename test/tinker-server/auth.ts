/** Who may ask: keys, and tokens that keys are exchanged for. */
import type { IncomingMessage } from 'node:http'
import type { Profile } from './dialects.js'
import { Refusal } from './errors.js'
import type { Settings } from './routes/context.js'

/** Routes that a key opens where tokens are asked for everywhere else. */
const beforeToken = ['client/config', 'auth/token']

/** Routes without a key; of TuFT, one more. */
const open = ['healthz', 'signed', 'openapi']

/** Throws a Refusal with status 401 or 403. */
export function authorise(
  { auth, dialect }: Profile,
  { keys, jwt }: Settings,
  route: string,
  { headers }: IncomingMessage,
): void {
  if (auth === 'none' || open.includes(route)) return
  if (dialect === 'tuft' && route === 'get_server_capabilities') return
  const given = headers['x-api-key']
  if (typeof given !== 'string' || given === '') throw new Refusal(401, 'Missing API key')
  if (jwt && !beforeToken.includes(route)) {
    if (!isLive(given)) throw new Refusal(401, 'The token is missing or has expired')
    return
  }
  if (auth === 'any' && !/^(tml-|eyJ)/.test(given)) throw new Refusal(401, 'Invalid API key')
  if (!keys.includes(given)) throw new Refusal(auth === 'any' ? 401 : 403, 'Invalid API key')
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function newJwt(ms: number): string {
  const exp = (Date.now() + ms) / 1000
  return `${part({ alg: 'none', typ: 'JWT' })}.${part({ sub: 'tester', exp })}.test`
}

function isLive(token: string): boolean {
  const [, claims, signature] = token.split('.')
  if (!token.startsWith('eyJ') || claims === undefined || signature !== 'test') return false
  const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as { exp: number }
  return exp * 1000 > Date.now()
}
