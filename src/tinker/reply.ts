/** What the answers of a server mean: a value, a failure that may pass, or an error. */
import { isPage } from '../core/page.js'
import { Auth, SequenceConflict, type TinkerError, UserError } from './errors.js'
import { Passing } from './persistence.js'
import { jsonOfText } from './shape.js'
import type { Reply, TransportLayer } from './transport.js'

/** The JSON of a successful reply. Throws Passing where it is none. */
export function jsonOf(reply: Reply): unknown {
  return jsonOfText(reply.bytes.toString('utf8'), reply.type)
}

export interface Asked {
  /** Names the request in sentences. */
  what: string
  transport: TransportLayer
}

/** Passes a success; throws Passing or the error of what the server refuses. */
export function accept(reply: Reply, asked: Asked): void {
  const { status } = reply
  if (status >= 200 && status < 300) return
  const said = asked.transport.redact(wordsOf(reply))
  const busy = (unsent: boolean, kind: Passing['kind'] = 'busy') =>
    new Passing(`HTTP ${status}, ${said}`, { status, unsent, kind })
  if (status === 402) throw busy(true, 'bill')
  if (status === 429) throw busy(true)
  if (status === 400 && reply.bytes.length === 0) throw busy(true)
  if (status === 408 || status === 425 || (status >= 500 && status !== 501)) throw busy(false)
  throw refusal(status, said, asked)
}

/** The error of a refusal that another try will not mend. */
export function refusal(status: number, said: string, { what, transport }: Asked): TinkerError {
  const { url } = transport
  if (status === 401 || status === 403) {
    if (!transport.hasKey) return keyless(url, ` (HTTP ${status})`)
    const message = `${url} does not let the key of TINKER_API_KEY do this (HTTP ${status}, ${what}): ${said}.`
    return new Auth(message, { hint: 'Set TINKER_API_KEY to a key that this server knows.' })
  }
  if (status === 409) {
    const expected = /expected (\d+)/i.exec(said)?.[1]
    return new SequenceConflict(
      `${what}: the server's count of requests differs: ${said}.`,
      expected === undefined ? undefined : Number(expected),
      { hint: 'Load the last saved weights into a new model; no other client may use the model meanwhile.' },
    )
  }
  if (status >= 300 && status < 400)
    return new UserError(`${url} sends requests elsewhere (HTTP ${status}).`, {
      hint: 'Give the address that it redirects to.',
    })
  return new UserError(`${url} refuses ${what} (HTTP ${status}): ${said}.`, {
    hint: 'The server names what it does not take.',
  })
}

export function keyless(url: string, how = ''): Auth {
  return new Auth(`${url} wants a key${how}, and TINKER_API_KEY is not set.`, {
    hint: 'Set the environment variable TINKER_API_KEY to a key of this service.',
  })
}

/** What the body of an error says, as one short line without its full stop. */
export function wordsOf(reply: Reply): string {
  const text = reply.bytes.toString('utf8')
  if (isPage(text, reply.type)) return 'a web page'
  let said = text
  try {
    const body = JSON.parse(text)
    const inner =
      body?.error_message ?? body?.error?.message ?? body?.error ?? body?.detail ?? body?.message ?? body
    said = typeof inner === 'string' ? inner : JSON.stringify(inner)
  } catch {}
  const line = said.replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  if (line === '') return 'without a word'
  return line.length > 300 ? `${line.slice(0, 300)}...` : line
}
