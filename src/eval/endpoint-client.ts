/**
 * HTTP to one service: waits without a limit that long generations would meet, tries again what may pass, and says
 * clearly what will not.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { messageOf, ServiceError } from '../core/errors.js'
import { isPage } from '../core/page.js'
import { openAgent } from '../core/proxy.js'
import { type Findings, isPassing, Refused, refusal, type Target, words } from './endpoint-failure.js'

export interface ClientOptions {
  /** Most milliseconds without a sign of life from the service. */
  timeoutMs: number
  /** Tries after the first. */
  retries: number
  /** Wait before the second try, ms; doubles with every further one. */
  backoffMs: number
  /** Hears of every wait before another try. */
  warn: (sentence: string) => void
}

export interface Patience {
  /** Ends the request at once. */
  signal: AbortSignal
  /** Ends waits for another try: the request fails with what went wrong last. */
  retrySignal: AbortSignal
}

/** Failed for now. `waitMs` is what the service asks to wait. */
export class Transient extends Error {
  constructor(
    message: string,
    readonly waitMs?: number,
    /** What to do where it does not pass. */
    readonly hint?: string,
  ) {
    super(message)
  }
}

/** Failed in a way that seldom passes: a few tries in a row tell. */
export class Doubtful extends Transient {}

/** Tries in a row that a doubtful failure is given. */
const DOUBTFUL_TRIES = 3

/** Longest wait before another try, ms, whatever the service asks for. */
const LONGEST_BACKOFF = 60_000
const LONGEST_RETRY_AFTER = 300_000

const usualHint =
  'See whether the service runs and the address is right, then go on: answers that were given are kept.'
const pageHint =
  'A proxy or a login may stand in between: check the address, http_proxy and https_proxy, then go on: answers that were given are kept.'

/** Silence after which a service is taken to list no models, ms. */
const LIST_TIMEOUT = 10_000

/** Failures to reach a service at all: a wrong address, where nothing was heard of it before. */
const unreached = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** Failures of a connection that come again at every try: certificates, TLS where none is spoken. */
const hopeless = /CERT|SIGNATURE|EPROTO|ERR_SSL|ERR_TLS/

export class EndpointClient {
  readonly #agent: Dispatcher
  /** No request starts before: the service asked for a pause. */
  #resumeAt = 0
  #findings: Promise<Findings> | undefined
  /** Whether the service ever answered. */
  #reached = false

  constructor(
    readonly target: Target,
    readonly key: string | undefined,
    readonly options: ClientOptions,
  ) {
    this.#agent = openAgent({ headersTimeout: options.timeoutMs, bodyTimeout: options.timeoutMs })
  }

  /**
   * Posts until `read` accepts the reply. `read` throws Transient for a reply that another try may mend. Throws Refused
   * where the service will not do this, ServiceError where it failed at every try.
   */
  async post<T>(path: string, body: unknown, read: (reply: unknown) => T, patience: Patience): Promise<T> {
    let doubtful = 0
    for (let tries = 1; ; tries++) {
      try {
        const pause = this.#resumeAt - performance.now()
        if (pause > 0) await rest(pause, patience, new Transient('it asked for a pause'))
        return read(await this.#send('POST', path, body, patience.signal))
      } catch (error) {
        patience.signal.throwIfAborted()
        if (!(error instanceof Transient)) throw error
        doubtful = error instanceof Doubtful ? doubtful + 1 : 0
        const over = tries > this.options.retries || doubtful === DOUBTFUL_TRIES
        if (over || patience.retrySignal.aborted) throw this.#exhausted(error, tries)
        await this.#backOff(error, tries, patience)
      }
    }
  }

  /** The error of a refusal, once the service was asked what it does offer. */
  async explain(path: string, refused: Refused, signal: AbortSignal): Promise<ServiceError> {
    const unclear = [404, 405].includes(refused.status) || /model/i.test(refused.text)
    if (unclear) this.#findings ??= this.#look(signal)
    return refusal(this.target, path, refused, (await this.#findings) ?? {})
  }

  close(): Promise<void> {
    return this.#agent.close()
  }

  async #backOff(error: Transient, tries: number, patience: Patience): Promise<void> {
    const most = Math.min(LONGEST_BACKOFF, this.options.backoffMs * 2 ** (tries - 1))
    const asked = Math.min(LONGEST_RETRY_AFTER, error.waitMs ?? 0)
    this.#resumeAt = Math.max(this.#resumeAt, performance.now() + asked)
    const wait = asked + most * (0.5 + Math.random() / 2)
    this.options.warn(`${this.target.url}: ${error.message}; trying again in ${(wait / 1000).toFixed(1)} s.`)
    await rest(wait, patience, error).catch((cause) => {
      throw cause === error ? this.#exhausted(error, tries) : cause
    })
  }

  async #send(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    const { statusCode, headers, text } = await this.#exchange(method, path, body, signal)
    if (statusCode >= 300 && statusCode < 400) throw new Refused(statusCode, String(headers.location ?? ''))
    const page = isPage(text, String(headers['content-type'] ?? ''))
    if (statusCode >= 400) {
      if (!isPassing(statusCode, text)) throw new Refused(statusCode, text)
      throw new Transient(`HTTP ${statusCode}: ${page ? 'a web page' : words(text)}`, waitOf(headers))
    }
    try {
      return JSON.parse(text)
    } catch {
      if (page) throw new Doubtful('a web page in the place of an answer', undefined, pageHint)
      throw new Transient('an answer that is no JSON, or was cut off')
    }
  }

  async #exchange(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal) {
    const url = new URL(`${this.target.url}/${path}`)
    try {
      const response = await this.#agent.request({
        origin: url.origin,
        path: url.pathname,
        method,
        signal,
        ...(method === 'GET' && { headersTimeout: LIST_TIMEOUT, bodyTimeout: LIST_TIMEOUT }),
        headers: {
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(this.key !== undefined && { authorization: `Bearer ${this.key}` }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      })
      this.#reached = true
      const text = await response.body.text()
      return { ...response, text: this.key === undefined ? text : text.replaceAll(this.key, '***') }
    } catch (cause) {
      signal.throwIfAborted()
      const code = (cause as NodeJS.ErrnoException).code ?? ''
      const what =
        code === '' || messageOf(cause).includes(code) ? messageOf(cause) : `${messageOf(cause)} ${code}`
      if (!this.#reached && unreached.test(code)) throw new Doubtful(what.trim())
      if (!hopeless.test(code)) throw new Transient(what.trim())
      throw new ServiceError(`${this.target.url} cannot be talked to: ${what.trim()}.`, {
        hint: 'Check https:// against http://; NODE_EXTRA_CA_CERTS names a file of further certificates.',
        cause,
        retryable: false,
      })
    }
  }

  async #look(signal: AbortSignal): Promise<Findings> {
    const models = await this.#models('models', signal)
    if (models) return { models }
    return (await this.#models('v1/models', signal)) ? { otherUrl: `${this.target.url}/v1` } : {}
  }

  async #models(path: string, signal: AbortSignal): Promise<string[] | undefined> {
    try {
      const list = (await this.#send('GET', path, undefined, signal)) as { data: { id: string }[] }
      return list.data.map(({ id }) => String(id))
    } catch {
      return undefined
    }
  }

  #exhausted(last: Transient, tries: number): ServiceError {
    const { url, model } = this.target
    const times = tries === 1 ? 'once' : `${tries} times in a row`
    return new ServiceError(`${model} at ${url} failed ${times}: ${last.message}.`, {
      hint: last.hint ?? usualHint,
      cause: last,
      retryable: true,
    })
  }
}

/** Throws `otherwise` where no more tries are wanted before the time is over. */
async function rest(ms: number, { signal, retrySignal }: Patience, otherwise: Transient): Promise<void> {
  await sleep(ms, undefined, { signal: retrySignal }).catch(() => {
    signal.throwIfAborted()
    throw otherwise
  })
}

/** Retry-After in seconds or as a date, and OpenAI's form in milliseconds. */
function waitOf(headers: Record<string, string | string[] | undefined>): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (milliseconds >= 0) return milliseconds
  const after = String(headers['retry-after'] ?? '').trim()
  if (after === '') return undefined
  const wait = /^[\d.]+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
  return wait >= 0 ? wait : undefined
}
