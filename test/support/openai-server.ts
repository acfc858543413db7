/** A real HTTP server with the surface of the OpenAI protocol: what it answers is scripted, and it can misbehave. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

export interface CompletionBody {
  model: string
  messages?: { role: string; content: string }[]
  prompt?: string
  max_tokens?: number
  max_completion_tokens?: number
  temperature?: number
  top_p?: number
  n?: number
  seed?: number
  stop?: string[]
  [name: string]: unknown
}

export interface ScriptedChoice {
  text: string
  reasoning?: string
  finish?: string
}

export type Fault =
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  /** The connection ends before any answer, or within its body. */
  | { kind: 'hang up' | 'hang up in body' }
  /** A web page with status 200. */
  | { kind: 'page' }
  | { kind: 'bad JSON' }
  /** Status 200 with `body`, whatever it is. */
  | { kind: 'body'; body: unknown }
  /** Answers after so many milliseconds. */
  | { kind: 'slow'; ms: number }
  /** Never answers. */
  | { kind: 'silent' }

export interface ServerScript {
  /** Choices of a request; one choice for every one that it asks for, or fewer. */
  answer: (body: CompletionBody) => (string | ScriptedChoice)[]
  /** What goes wrong with the i-th completion request, from 0. */
  fault?: (i: number, body: CompletionBody) => Fault | undefined
  /** @default ['test-model'] */
  models?: string[]
  /** Key that is asked for. */
  key?: string
  /** Parameters that are refused with status 400, and what is said then. */
  refuses?: Record<string, string>
  /** Reports no usage. */
  uncounted?: boolean
  /** @default '/v1' */
  base?: string
}

export interface OpenAiServer {
  /** Base address, with /v1. */
  url: string
  /** Bodies of completion requests in order of arrival, and their paths. */
  seen: { path: string; body: CompletionBody }[]
  /** Most completion requests that were open at once. */
  peak: number
  /** Requests whose client went away before the answer. */
  deserted: number
}

/** Tokens that the server counts: words and the spaces before them. */
export const tokensOf = (text: string) => text.match(/\s*\S+/g)?.length ?? 0

/** Listens on a free port until the test ends. */
export async function openAiServer(script: ServerScript): Promise<OpenAiServer> {
  const { base = '/v1', models = ['test-model'] } = script
  const state = { open: 0 }
  const server = createServer((request, response) => {
    request.on('error', () => {})
    handle(request, response).catch((error) => response.destroy(error as Error))
  })
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    if (script.key !== undefined && request.headers.authorization !== `Bearer ${script.key}`) {
      return reply(response, 401, errorBody('Incorrect API key provided.', 'invalid_api_key'))
    }
    if (path === `${base}/models`) return reply(response, 200, { data: models.map((id) => ({ id })) })
    if (request.method !== 'POST' || ![`${base}/chat/completions`, `${base}/completions`].includes(path)) {
      return reply(response, 404, { detail: 'Not Found' })
    }
    const body = JSON.parse(await textOf(request)) as CompletionBody
    const i = self.seen.push({ path, body }) - 1
    self.peak = Math.max(self.peak, ++state.open)
    response.on('close', () => {
      state.open--
      if (!response.writableFinished) self.deserted++
    })
    if (await misbehave(script.fault?.(i, body), response)) return
    const refused = Object.keys(script.refuses ?? {}).filter((name) => name in body)
    if (refused.length > 0) return reply(response, 400, errorBody(script.refuses![refused[0]!]!))
    if (!models.includes(body.model)) {
      return reply(response, 404, errorBody(`The model \`${body.model}\` does not exist.`, 'model_not_found'))
    }
    reply(response, 200, completion(script, body, path.endsWith('chat/completions')))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const self: OpenAiServer = { url: `http://127.0.0.1:${port}${base}`, seen: [], peak: 0, deserted: 0 }
  return self
}

function completion(script: ServerScript, body: CompletionBody, isChat: boolean): unknown {
  const choices = script.answer(body).map((given) => (typeof given === 'string' ? { text: given } : given))
  const count = ({ text, reasoning = '' }: ScriptedChoice) => tokensOf(text) + tokensOf(reasoning)
  return {
    id: 'cmpl',
    object: isChat ? 'chat.completion' : 'text_completion',
    model: body.model,
    choices: choices.map(({ text, reasoning, finish = 'stop' }, index) => ({
      index,
      finish_reason: finish,
      ...(isChat
        ? {
            message: {
              role: 'assistant',
              content: text,
              ...(reasoning !== undefined && { reasoning_content: reasoning }),
            },
          }
        : { text }),
    })),
    ...(!script.uncounted && {
      usage: { completion_tokens: choices.reduce((sum, choice) => sum + count(choice), 0) },
    }),
  }
}

/** True where nothing is left to answer. */
async function misbehave(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
  if (fault === undefined) return false
  if (fault.kind === 'slow') {
    await sleep(fault.ms)
    return false
  }
  if (fault.kind === 'status') reply(response, fault.status, fault.body ?? '', fault.headers)
  if (fault.kind === 'body') reply(response, 200, fault.body)
  if (fault.kind === 'bad JSON') reply(response, 200, '{"choices":[{"message":{"content":"cut o')
  if (fault.kind === 'page') reply(response, 200, '<!DOCTYPE html><html><body>Starting up</body></html>')
  if (fault.kind === 'hang up') response.destroy()
  if (fault.kind === 'hang up in body') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"choices":[', () => response.destroy())
  }
  return true
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}

const errorBody = (message: string, code?: string) => ({ error: { message, code } })

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
