/** HTTP to one server: one exchange at a time, nothing tried again here. */
import type { Agent, Dispatcher } from 'undici'
import { messageOf, SparringError } from '../core/errors.js'
import { openAgent, proxyFailure } from '../core/proxy.js'
import { link } from './abort.js'
import { Passing } from './persistence.js'
import { Tokens } from './tokens.js'

export interface Exchange {
  method: 'GET' | 'POST' | 'DELETE'
  /** Below the base address. */
  path: string
  body?: Uint8Array | string
  /** Of the body. Default: JSON. */
  type?: string
  headers?: Record<string, string>
  /** Most milliseconds until the whole answer is here. */
  timeoutMs?: number
  signal: AbortSignal
  /** Over a connection of its own: one that is kept may have ended for the server without a word. */
  fresh?: boolean
}

export interface Reply {
  status: number
  /** Content type, without parameters. */
  type: string
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}

/** Nothing reached the server: it is safe to send again. */
const unsent =
  /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/
const isUnsent = (code: string, message: string) =>
  unsent.test(code) || code === proxyFailure || /HTTP Tunneling$/.test(message)

const settings: Agent.Options = {
  connections: 1000,
  connect: { timeout: 10_000 },
  headersTimeout: 0,
  bodyTimeout: 0,
}

export class TransportLayer {
  readonly #kept = openAgent(settings)
  readonly #fresh = openAgent({ ...settings, pipelining: 0 })
  #reached = false
  /** Where the server gives short-lived tokens for keys. */
  #tokens: Tokens | undefined

  readonly base: string

  constructor(
    /** Without /api/v1. */
    readonly url: string,
    private readonly key: string | undefined,
    /** Most milliseconds until an answer is here, where a request names none. */
    private readonly answerMs: number,
  ) {
    this.base = `${url}/api/v1`
  }

  /** Whether the server ever answered. */
  get reached(): boolean {
    return this.#reached
  }

  get hasKey(): boolean {
    return this.key !== undefined
  }

  /** From now on, tokens are sent in the place of the key. */
  exchangeKey(): void {
    this.#tokens = new Tokens(async () => {
      const signal = new AbortController().signal
      const reply = await this.#exchange({ method: 'POST', path: 'auth/token', body: '{}', signal }, this.key)
      if (reply.status !== 200)
        throw new Passing(`HTTP ${reply.status} in exchange for the key`, { status: reply.status })
      return reply.bytes.toString('utf8')
    })
  }

  /** Throws Passing where no whole answer came. */
  async exchange(request: Exchange): Promise<Reply> {
    const used = await this.#credential()
    const reply = await this.#exchange(request, used)
    if (reply.status !== 401 || !this.#tokens) return reply
    this.#tokens.drop(used)
    return this.#exchange(request, await this.#credential())
  }

  #credential(): Promise<string | undefined> | string | undefined {
    return this.#tokens ? this.#tokens.get() : this.key
  }

  async #exchange(request: Exchange, credential: string | undefined): Promise<Reply> {
    const linked = this.#linkOf(request)
    try {
      const response = await this.#send(request, linked.signal, credential)
      const bytes = Buffer.from(await response.body.arrayBuffer())
      return replyOf(response, bytes)
    } catch (cause) {
      throw this.#failure(request, cause, linked.signal)
    } finally {
      linked.release()
    }
  }

  /**
   * Hands the body of a whole address over as it arrives. The key is sent to the server's `own` host alone. What `take`
   * throws of its own is thrown on.
   */
  async stream(
    request: Exchange & { own: boolean },
    take: (reply: Reply, body: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<Reply> {
    const linked = this.#linkOf(request)
    try {
      const response = await this.#send(
        request,
        linked.signal,
        request.own ? await this.#credential() : undefined,
        new URL(request.path),
      )
      if (response.statusCode !== 200)
        return replyOf(response, Buffer.from(await response.body.arrayBuffer()))
      const reply = replyOf(response, Buffer.alloc(0))
      await take(reply, response.body)
      return reply
    } catch (cause) {
      throw this.#failure(request, cause, linked.signal)
    } finally {
      linked.release()
    }
  }

  /** The text without the key, whatever the server put in. */
  redact(text: string): string {
    const secrets = [this.key, this.#tokens?.current].filter((secret) => secret !== undefined)
    return secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
  }

  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#fresh.destroy()])
  }

  #linkOf({ signal, timeoutMs = this.answerMs }: Exchange) {
    return link([signal], { ms: timeoutMs, late: () => new Passing('no answer', { silent: true }) })
  }

  async #send(
    { method, path, body, type = 'application/json', headers, fresh = false }: Exchange,
    signal: AbortSignal,
    credential: string | undefined,
    url = new URL(`${this.base}/${path}`),
  ): Promise<Dispatcher.ResponseData> {
    const response = await (fresh ? this.#fresh : this.#kept).request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      signal,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': type }),
        ...(credential !== undefined && { 'x-api-key': credential }),
        ...headers,
      },
      body: body ?? null,
    })
    this.#reached = true
    return response
  }

  #failure(request: Exchange, cause: unknown, signal: AbortSignal): unknown {
    if (request.signal.aborted) return request.signal.reason
    if (signal.aborted) return signal.reason
    if (SparringError.isInstance(cause)) return cause
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    const message = messageOf(cause)
    const what = code === '' || message.includes(code) ? message : `${message} ${code}`
    return new Passing(this.redact(what.trim()), { cause, unsent: isUnsent(code, message) })
  }
}

function replyOf(response: Dispatcher.ResponseData, bytes: Buffer): Reply {
  const type = String(response.headers['content-type'] ?? '').split(';')[0]!
  return { status: response.statusCode, type: type.trim().toLowerCase(), headers: response.headers, bytes }
}
