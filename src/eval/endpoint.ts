/**
 * A service that speaks the OpenAI protocol as an answerer: conversations go to URL/chat/completions, bare texts to
 * URL/completions. Parameters: https://platform.openai.com/docs/api-reference/chat/create
 */
import { setMaxListeners } from 'node:events'
import type { Answer, Answerer, AnswerParams, AnswerRequest } from './answerer.js'
import { baseUrl, keyFrom } from './endpoint-address.js'
import { Doubtful, EndpointClient, type Patience, Transient } from './endpoint-client.js'
import { Dialect } from './endpoint-dialect.js'
import { isPassing, Refused, saysContext } from './endpoint-failure.js'
import { FailedReply, type Reply, readReply, UselessReply } from './endpoint-reply.js'
import { sideBySide } from './endpoint-stream.js'

export interface EndpointOptions {
  /** Base address, such as http://localhost:8000/v1. */
  url: string
  /** Name that the service gives to the model. */
  model: string
  /** Environment variable that holds the key; a service that wants none needs none. @default 'OPENAI_API_KEY' */
  apiKeyEnv?: string | undefined
  /** Requests under way at once. @default 16 */
  concurrency?: number | undefined
  /** Most milliseconds without a sign of life from the service. @default 3600000 (an hour) */
  timeoutMs?: number | undefined
  /** Tries after the first of a request that failed for now. @default 8, about a minute and a half in all */
  retries?: number | undefined
  /** Wait before the second try, ms; doubles with every further one. @default 500 */
  backoffMs?: number | undefined
  /** Hears of every wait before another try, one sentence each. */
  warn?: ((sentence: string) => void) | undefined
}

export interface Endpoint extends Answerer {
  /** How what was asked differs from what the requests say, one sentence each: parameters that the service refused. */
  readonly notes: string[]
}

/** Choices of one request that are asked for together. */
interface Job {
  request: number
  /** Index of the first choice. */
  first: number
  n: number
}

/**
 * Nothing is asked before `answer` is called. The j-th answer of a request has the seed of the request + j, as servers
 * number the choices of one request, so it does not matter how many are asked for at once. Where a server does not
 * report tokens, they are estimated and `notes` say so. Throws ConfigError where the address cannot be one.
 */
export function openEndpoint(options: EndpointOptions): Endpoint {
  const { model, apiKeyEnv = 'OPENAI_API_KEY', concurrency = 16 } = options
  const url = baseUrl(options.url)
  const key = keyFrom(apiKeyEnv)
  const target = { url, model, apiKeyEnv, hasKey: key !== undefined }
  const client = new EndpointClient(target, key, {
    timeoutMs: options.timeoutMs ?? 3_600_000,
    retries: options.retries ?? 8,
    backoffMs: options.backoffMs ?? 500,
    warn: options.warn ?? (() => {}),
  })
  const dialect = new Dialect(model)
  return {
    name: `${model} at ${url}`,
    get notes() {
      return dialect.notes
    },
    async *answer(requests, params, signal) {
      signal?.throwIfAborted()
      const abort = new AbortController()
      const stopRetrying = new AbortController()
      for (const controller of [abort, stopRetrying]) setMaxListeners(0, controller.signal)
      const end = () => {
        abort.abort(signal?.reason)
        stopRetrying.abort()
      }
      signal?.addEventListener('abort', end)
      const jobs = new Jobs(requests, dialect)
      const patience = { signal: abort.signal, retrySignal: stopRetrying.signal }
      const next = () => {
        const job = jobs.next()
        return job && (() => answerJob(job, requests, params, { client, dialect, jobs, patience }))
      }
      try {
        yield* sideBySide(next, concurrency, () => stopRetrying.abort())
      } finally {
        signal?.removeEventListener('abort', end)
        end()
      }
    },
    close: () => client.close(),
  }
}

/** What is still to be asked, in order of request, made when it is needed. */
class Jobs {
  #next = 0
  readonly #pending: Job[] = []

  constructor(
    readonly requests: AnswerRequest[],
    readonly dialect: Dialect,
  ) {}

  next(): Job | undefined {
    while (this.#pending.length === 0 && this.#next < this.requests.length) {
      const request = this.#next++
      this.add({ request, first: 0, n: this.requests[request]!.n })
    }
    return this.#pending.shift()
  }

  add({ request, first, n }: Job): void {
    if (n > 0 && this.dialect.manyChoices) this.#pending.push({ request, first, n })
    else for (let j = 0; j < n; j++) this.#pending.push({ request, first: first + j, n: 1 })
  }
}

interface Room {
  client: EndpointClient
  dialect: Dialect
  jobs: Jobs
  patience: Patience
}

async function answerJob(
  { request, first, n }: Job,
  requests: AnswerRequest[],
  params: AnswerParams,
  room: Room,
): Promise<Answer[]> {
  const { prompt, seed } = requests[request]!
  const { choices, counted, empty } = await ask({ prompt, n, seed: (seed + first) % 2 ** 31 }, params, room)
  if (!counted) {
    room.dialect.note('The service reports no tokens: they are estimated, one for four characters.')
  }
  room.dialect.counts(choices.length, empty)
  if (choices.length < n) {
    room.dialect.givesOneChoice()
    room.jobs.add({ request, first: first + choices.length, n: n - choices.length })
  }
  return choices.slice(0, n).map((choice, j) => ({
    request,
    index: first + j,
    ...choice,
    ...(room.dialect.cutsHere && cutAtStop(choice, params.stop)),
  }))
}

/** Asks in the words that the service takes; what it refuses for its form is put in another way. */
async function ask(
  question: Parameters<Dialect['body']>[0],
  params: AnswerParams,
  { client, dialect, patience }: Room,
): Promise<Reply> {
  const path = 'text' in question.prompt ? 'completions' : 'chat/completions'
  for (;;) {
    const body = dialect.body(question, params)
    try {
      return await client.post(path, body, read, patience)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const ofForm = [400, 422].includes(error.status) && !saysContext.test(error.text)
      if (!ofForm || !dialect.learn(error.text, body)) {
        throw await client.explain(path, error, patience.signal)
      }
    }
  }
}

function read(reply: unknown): Reply {
  try {
    return readReply(reply)
  } catch (error) {
    if (error instanceof UselessReply) throw new Doubtful(error.message)
    if (!(error instanceof FailedReply)) throw error
    if (isPassing(error.status, error.message)) throw new Transient(error.message)
    throw new Refused(error.status, error.message)
  }
}

function cutAtStop({ text, stop }: { text: string; stop: Answer['stop'] }, stops: string[]) {
  const found = stops.map((each) => text.indexOf(each)).filter((at) => at >= 0)
  return found.length === 0
    ? { text, stop }
    : { text: text.slice(0, Math.min(...found)), stop: 'stop' as const }
}
