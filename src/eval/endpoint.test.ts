import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Fault, openAiServer, type ServerScript, tokensOf } from '../../test/support/openai-server.js'
import { pageServer } from '../../test/support/page-server.js'
import { proxyServer } from '../../test/support/proxy-server.js'
import { randomStream } from '../core/random.js'
import type { Answer, AnswerParams, AnswerRequest } from './answerer.js'
import { type Endpoint, type EndpointOptions, openEndpoint } from './endpoint.js'

const params: AnswerParams = { maxTokens: 64, temperature: 0.6, topP: 0.95, stop: [] }
const KEY = 'sk-secret-0123456789'

afterEach(() => vi.unstubAllEnvs())

/** An endpoint without a key of the developer's own, and without long waits. */
function endpoint(url: string, options: Partial<EndpointOptions> = {}): Endpoint {
  if (options.apiKeyEnv === undefined) vi.stubEnv('OPENAI_API_KEY', '')
  return openEndpoint({ url, model: 'test-model', backoffMs: 1, ...options })
}

const request = (content: string, n = 1, seed = 7): AnswerRequest => ({
  prompt: { messages: [{ role: 'user', content }] },
  n,
  seed,
})

async function answersOf(asked: Endpoint, requests: AnswerRequest[], given = params): Promise<Answer[]> {
  const answers: Answer[] = []
  for await (const answer of asked.answer(requests, given)) answers.push(answer)
  return answers.sort((a, b) => a.request - b.request || a.index - b.index)
}

/** As many answers as are asked for, each of which tells its seed. */
const bySeed: ServerScript['answer'] = ({ n = 1, seed = 0, messages, prompt }) =>
  Array.from({ length: n }, (_, j) => `${messages?.at(-1)?.content ?? prompt} #${seed + j}`)

async function errorOf(asked: Endpoint, requests = [request('Q')], given = params) {
  const error = await answersOf(asked, requests, given).catch((cause) => cause)
  expect(error).toMatchObject({ name: 'ServiceError' })
  return error as Error & { hint: string }
}

describe('openEndpoint', () => {
  it('asks in a conversation, with the whole sampling said and the hidden sampling of servers off', async () => {
    const server = await openAiServer({ answer: () => ['4'] })
    const asked = endpoint(`${server.url}/`)
    const stop = ['Question:']
    expect(await answersOf(asked, [request('2+2?')], { ...params, stop })).toEqual([
      { request: 0, index: 0, text: '4', tokens: 1, stop: 'stop' },
    ])
    expect(server.seen).toEqual([
      {
        path: '/v1/chat/completions',
        body: {
          model: 'test-model',
          messages: [{ role: 'user', content: '2+2?' }],
          max_tokens: 64,
          temperature: 0.6,
          top_p: 0.95,
          top_k: -1,
          min_p: 0,
          repetition_penalty: 1,
          stop,
          seed: 7,
        },
      },
    ])
    expect(asked.name).toBe(`test-model at ${server.url}`)
    expect(asked.notes).toEqual([])
    await asked.close()
  })

  it('lets bare texts go on', async () => {
    const server = await openAiServer({ answer: bySeed })
    const [answer] = await answersOf(endpoint(server.url), [{ prompt: { text: '2+2=' }, n: 1, seed: 3 }])
    expect(answer!.text).toBe('2+2= #3')
    expect(server.seen[0]).toMatchObject({ path: '/v1/completions', body: { prompt: '2+2=' } })
  })

  it('leaves an opening thinking tag to the server, and has other beginnings gone on from', async () => {
    const server = await openAiServer({ answer: () => ['x'] })
    const asked = endpoint(server.url)
    for (const suffix of ['<think>\n', 'So']) {
      await answersOf(asked, [
        { ...request('Q'), prompt: { messages: [{ role: 'user', content: 'Q' }], suffix } },
      ])
    }
    expect(server.seen[0]!.body.messages).toHaveLength(1)
    expect(server.seen[1]!.body).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant', content: 'So' }],
      continue_final_message: true,
    })
  })

  it('tells truncated answers, and puts a thinking part before the answer', async () => {
    const server = await openAiServer({
      answer: () => [
        { text: '5', reasoning: '2+3' },
        { text: '', reasoning: 'hmm', finish: 'length' },
        { text: '5', finish: 'length' },
      ],
    })
    const answers = await answersOf(endpoint(server.url), [request('Q', 3)])
    expect(answers.map(({ text, stop }) => [text, stop])).toEqual([
      ['<think>\n2+3\n</think>\n\n5', 'stop'],
      ['<think>\nhmm', 'length'],
      ['5', 'length'],
    ])
  })

  it('estimates tokens that are not reported, and says so', async () => {
    const server = await openAiServer({ answer: () => ['12345'], uncounted: true })
    const asked = endpoint(server.url)
    expect((await answersOf(asked, [request('Q')]))[0]!.tokens).toBe(2)
    expect(asked.notes).toEqual([expect.stringContaining('estimated')])
  })

  describe('where a proxy is set', () => {
    it('asks through it, and this machine directly', async () => {
      const server = await openAiServer({ answer: bySeed })
      for (const [address, url] of [
        [(await proxyServer(server.url)).url, 'http://service.invalid/v1'],
        ['http://127.0.0.1:9', server.url],
      ]) {
        vi.stubEnv('http_proxy', address)
        const asked = endpoint(url!, { retries: 0 })
        expect(await answersOf(asked, [request('Q')])).toHaveLength(1)
        await asked.close()
      }
    })

    it('fails where it hangs up, and needs an address', async () => {
      vi.stubEnv('http_proxy', (await proxyServer()).url)
      const error = await errorOf(endpoint('http://service.invalid/v1', { retries: 0 }))
      expect(error.message).toMatch(/failed once: the proxy fails: .*\.$/)
      vi.stubEnv('http_proxy', 'http://127.0.0.1:9/path')
      expect(() => endpoint('http://service.invalid/v1')).toThrow(/^The proxy that http_proxy or https_proxy/)
    })
  })

  it('keeps to its limit of requests under way and uses it', async () => {
    const server = await openAiServer({ answer: bySeed, fault: () => ({ kind: 'slow', ms: 5 }) })
    const requests = Array.from({ length: 60 }, (_, i) => request(`Q${i}`))
    await answersOf(endpoint(server.url, { concurrency: 7 }), requests)
    expect(server.peak).toBe(7)
  })

  it('yields answers as they finish: a slow one holds up none', async () => {
    const server = await openAiServer({
      answer: bySeed,
      fault: (i) => (i === 0 ? { kind: 'slow', ms: 400 } : undefined),
    })
    const order: number[] = []
    const requests = Array.from({ length: 20 }, (_, i) => request(`Q${i}`))
    for await (const answer of endpoint(server.url, { concurrency: 2 }).answer(requests, params)) {
      order.push(answer.request)
    }
    expect(order).toHaveLength(20)
    expect(order.at(-1)).toBe(0)
  })
})

describe('n answers', () => {
  const expected = (n: number) => Array.from({ length: n }, (_, j) => `Q #${7 + j}`)

  it('are asked for at once where the server gives them', async () => {
    const server = await openAiServer({ answer: bySeed })
    const answers = await answersOf(endpoint(server.url), [request('Q', 6)])
    expect(answers.map(({ text }) => text)).toEqual(expected(6))
    expect(answers.map(({ tokens }) => tokens)).toEqual(Array(6).fill(tokensOf('Q #7')))
    expect(server.seen).toHaveLength(1)
  })

  it.each([
    ['ignores n', {}],
    ['refuses n', { refuses: { n: "'n' : number must be at most 1" } }],
  ])('are the same from a server that %s', async (_, script) => {
    const server = await openAiServer({ answer: (body) => bySeed({ ...body, n: 1 }), ...script })
    const asked = endpoint(server.url)
    const answers = await answersOf(asked, [request('Q', 6), request('Q', 6)])
    expect(answers.map(({ text }) => text)).toEqual([...expected(6), ...expected(6)])
    expect(answers.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5])
    expect(asked.notes).toEqual([expect.stringContaining('one answer a request')])
    const before = server.seen.length
    await answersOf(asked, [request('Q', 3)])
    expect(server.seen.slice(before).map(({ body }) => body.n)).toEqual([undefined, undefined, undefined])
  })

  it('are asked for side by side from a server that gives one a request', async () => {
    const server = await openAiServer({
      answer: (body) => bySeed({ ...body, n: 1 }),
      fault: () => ({ kind: 'slow', ms: 5 }),
    })
    await answersOf(endpoint(server.url, { concurrency: 8 }), [request('Q', 30)])
    expect(server.peak).toBe(8)
  })

  it('may be none', async () => {
    const server = await openAiServer({ answer: bySeed })
    expect(await answersOf(endpoint(server.url), [request('Q', 0), request('Q', 1)])).toHaveLength(1)
    expect(await answersOf(endpoint(server.url), [])).toEqual([])
  })
})

describe('a server that fails for now', () => {
  const faults: Fault[] = [
    { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    { kind: 'status', status: 500, body: { error: { message: 'CUDA error' } } },
    { kind: 'status', status: 503, body: '<html>Service Unavailable</html>' },
    { kind: 'status', status: 408 },
    { kind: 'hang up' },
    { kind: 'hang up in body' },
    { kind: 'page' },
    { kind: 'bad JSON' },
    { kind: 'body', body: { choices: [] } },
    { kind: 'body', body: { error: { code: 502, message: 'Upstream failed' } } },
    { kind: 'body', body: { choices: [{ message: { content: 'half' }, finish_reason: 'error' }] } },
  ]

  it.each(faults)('is asked again: %j', async (fault) => {
    const warnings: string[] = []
    const server = await openAiServer({ answer: bySeed, fault: (i) => (i < 2 ? fault : undefined) })
    const asked = endpoint(server.url, { warn: (sentence) => warnings.push(sentence) })
    expect((await answersOf(asked, [request('Q')])).map(({ text }) => text)).toEqual(['Q #7'])
    expect(server.seen).toHaveLength(3)
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/^http:.*; trying again in \d+\.\d s\.$/)
  })

  it.each(faults)('is given up after the last try, in one sentence: %j', async (fault) => {
    const server = await openAiServer({ answer: bySeed, fault: () => fault })
    const error = await errorOf(endpoint(server.url, { retries: 2 }))
    expect(error.message).toMatch(/^test-model at http:\S+ failed 3 times in a row: [^\n]+\.$/)
    expect(error.hint).toContain('go on')
    expect(server.seen).toHaveLength(3)
  })

  it('is given up where nothing listens', async () => {
    const error = await errorOf(endpoint('http://127.0.0.1:9/v1', { retries: 1 }))
    expect(error.message).toContain('failed 2 times in a row: connect ECONNREFUSED')
  })

  it.each([
    ['http://127.0.0.1:9/v1', 'connect ECONNREFUSED'],
    ['http://no-such-host.invalid/v1', /ENOTFOUND|EAI_AGAIN/],
  ])('is given up after three tries where nothing ever answered: %s', async (url, said) => {
    const error = await errorOf(endpoint(url))
    expect(error.message).toContain('failed 3 times in a row: ')
    expect(error.message).toMatch(said)
  })

  it('is given up after three web pages, whatever they begin with', async () => {
    const { url } = await pageServer()
    const error = await errorOf(endpoint(`${url}/v1`))
    expect(error.message).toMatch(/failed 3 times in a row: a web page in the place of an answer\.$/)
    expect(error.hint).toContain('A proxy or a login may stand in between')
  })

  it('is waited for where it answered before', async () => {
    const server = createServer((_, response) => {
      server.close()
      response.setHeader('connection', 'close')
      response.end(JSON.stringify({ choices: [{ message: { content: '4' } }] }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const asked = endpoint(`http://127.0.0.1:${port}/v1`, { retries: 5, concurrency: 1 })
    const error = await errorOf(asked, [request('Q'), request('R')])
    expect(error.message).toMatch(/failed 6 times in a row: connect ECONNREFUSED/)
  })

  it.each<[unknown, string]>([
    [{ choices: [] }, 'its key choices holds an empty list'],
    [{ choices: null }, 'its key choices holds null'],
    [{ id: 'x' }, 'its key choices is missing'],
    [[1], 'it holds a list'],
    [{ choices: [{ message: { content: 5 } }] }, 'its key choices.0.message.content holds a number'],
    [{ choices: [{ finish_reason: 'stop' }] }, 'its key choices.0 holds neither message nor text'],
  ])('is given up after three replies of no use: %j', async (body, said) => {
    const server = await openAiServer({ answer: bySeed, fault: () => ({ kind: 'body', body }) })
    const error = await errorOf(endpoint(server.url))
    expect(error.message).toContain(`failed 3 times in a row: its reply is no completion: ${said}.`)
    expect(server.seen).toHaveLength(3)
  })

  it('has it noted where no answer has a text', async () => {
    const body = {
      choices: [{ message: { content: null }, finish_reason: 'stop' }],
      usage: { completion_tokens: 3 },
    }
    const fault = (i: number): Fault | undefined => (i < 2 ? { kind: 'body', body } : undefined)
    const server = await openAiServer({ answer: bySeed, fault })
    const asked = endpoint(server.url, { concurrency: 1 })
    await answersOf(asked, [request('Q'), request('R')])
    expect(asked.notes).toEqual([expect.stringContaining('No answer of the service has a text')])
    await answersOf(asked, [request('Q')])
    expect(asked.notes).toEqual([])
  })

  it('is given up at once where TLS cannot be spoken', async () => {
    const server = await openAiServer({ answer: bySeed })
    const error = await errorOf(endpoint(server.url.replace('http:', 'https:')))
    expect(error.message).toMatch(/^https:\S+ cannot be talked to: /)
    expect(error.hint).toContain('http://')
  })

  it.each([
    ['3', 3],
    ['100000', 300],
    [() => new Date(Date.now() + 60_000).toUTCString(), 60],
    ['soon', 0],
  ])('says how long it is given: Retry-After %s', async (after, seconds) => {
    const header = typeof after === 'string' ? after : after()
    const server = await openAiServer({
      answer: bySeed,
      fault: () => ({ kind: 'status', status: 503, headers: { 'retry-after': header } }),
    })
    const abort = new AbortController()
    let warning = ''
    const warn = (sentence: string) => {
      warning = sentence
      abort.abort()
    }
    const read = async () => {
      for await (const _ of endpoint(server.url, { warn }).answer([request('Q')], params, abort.signal));
    }
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
    const said = Number(/trying again in (\d+\.\d) s/.exec(warning)?.[1])
    expect(Math.abs(said - seconds)).toBeLessThanOrEqual(1)
  })

  it('is asked again after silence', async () => {
    const server = await openAiServer({
      answer: bySeed,
      fault: (i) => (i === 0 ? { kind: 'silent' } : undefined),
    })
    expect(await answersOf(endpoint(server.url, { timeoutMs: 500 }), [request('Q')])).toHaveLength(1)
    expect(server.seen).toHaveLength(2)
  })

  it('gets all of the pause that it asks for, from every request', async () => {
    const server = await openAiServer({
      answer: bySeed,
      fault: (i) =>
        i < 4 ? { kind: 'status', status: 429, headers: { 'retry-after-ms': '300' } } : undefined,
    })
    const started = performance.now()
    const requests = Array.from({ length: 20 }, (_, i) => request(`Q${i}`))
    await answersOf(endpoint(server.url, { concurrency: 4 }), requests)
    expect(performance.now() - started).toBeGreaterThanOrEqual(300)
    expect(server.seen).toHaveLength(24)
  })

  it('loses nothing and doubles nothing over a hundred requests with a third of them failing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.boolean(), async (seed, honoursN) => {
        const stream = randomStream(seed, 'faults')
        const server = await openAiServer({
          answer: (body) => bySeed(honoursN ? body : { ...body, n: 1 }),
          fault: () => (stream.uniform() < 0.3 ? stream.pick(faults) : undefined),
        })
        const requests = Array.from({ length: 100 }, (_, i) => request(`Q${i}`, 1 + (i % 3), 1000 * i))
        const answers = await answersOf(endpoint(server.url, { retries: 30 }), requests)
        const wanted = requests.flatMap(({ n, seed }, i) =>
          Array.from({ length: n }, (_, j) => ({ request: i, index: j, text: `Q${i} #${seed + j}` })),
        )
        expect(answers.map(({ request, index, text }) => ({ request, index, text }))).toEqual(wanted)
      }),
      { numRuns: 4, seed: 3 },
    )
  })

  it('keeps none waiting for a pause once another request has failed for good', async () => {
    const server = await openAiServer({
      answer: bySeed,
      fault: (i) => {
        if (i === 0) return { kind: 'slow', ms: 100 }
        return { kind: 'status', status: 429, headers: { 'retry-after': '200' } }
      },
      refuses: { max_tokens: 'No such thing.' },
    })
    const started = performance.now()
    const error = await errorOf(endpoint(server.url, { concurrency: 4 }), Array(9).fill(request('Q')))
    expect(error.message).toContain('No such thing')
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it('costs no answer that was given: those under way are yielded before the error', async () => {
    const server = await openAiServer({
      answer: bySeed,
      fault: (_, { messages }) => {
        const question = messages![0]!.content
        if (question === 'Q3') return { kind: 'status', status: 400, body: 'No such thing.' }
        return question === 'Q2' ? { kind: 'slow', ms: 100 } : undefined
      },
    })
    const seen: number[] = []
    const read = async () => {
      const requests = Array.from({ length: 50 }, (_, i) => request(`Q${i}`))
      const asked = endpoint(server.url, { concurrency: 4 })
      for await (const answer of asked.answer(requests, params)) seen.push(answer.request)
    }
    await expect(read()).rejects.toThrow('refuses the request (HTTP 400): No such thing.')
    expect(seen).toContain(2)
    expect(server.seen.length).toBeLessThan(15)
  })
})

describe('a server that refuses', () => {
  const status = (status: number, message: string, code?: string): Partial<ServerScript> => ({
    fault: () => ({ kind: 'status', status, body: { error: { message, code } } }),
  })
  const above = (url: string) => url.slice(0, url.lastIndexOf('/'))

  it.each<[string, Partial<ServerScript>, RegExp, RegExp, ((url: string) => string)?]>([
    ['a wrong key', { key: 'other' }, /does not know the key \(HTTP 401\)\.$/, /TEST_KEY/],
    ['the key this model', status(403, 'Denied'), /does not let the key use test-model/, /TEST_KEY/],
    ['without credit', status(402, 'Payment required'), /no credit left .*: Payment required\.$/, /kept/],
    ['by quota', status(429, 'Quota', 'insufficient_quota'), /no credit left/, /kept/],
    [
      'an unknown model',
      { models: ['test-modle', 'b'] },
      /^There is no model test-model at http\S+\.$/,
      /^Did you mean test-modle\? Its models are: test-modle, b\.$/,
    ],
    [
      'a model by 400',
      { models: ['b'], ...status(400, 'not a valid model ID') },
      /no model test-model/,
      /: b\./,
    ],
    [
      'a path without /v1',
      {},
      /chat\/completions is not there \(HTTP 404\)/,
      /\/v1 answers: give that/,
      above,
    ],
    ['a path of no service', { base: '/api' }, /is not there/, /most end in \/v1/, above],
    [
      'the length',
      status(400, "This model's maximum context length is 4096 tokens."),
      /cannot give an answer of this length: This model's/,
      /Lower the token limit/,
    ],
    [
      'the limit',
      status(400, 'max_tokens is too large: 99999. This model supports at most 16384 completion tokens'),
      /of this length/,
      /token limit/,
    ],
    [
      'a form',
      status(422, 'messages: too many'),
      /refuses the request \(HTTP 422\): messages: too many\.$/,
      /names what/,
    ],
    [
      'the place',
      { fault: () => ({ kind: 'status', status: 301, headers: { location: 'https://b.example/' } }) },
      /\(HTTP 301\): .*https:\/\/b\.example\//,
      /./,
    ],
    ['what it cannot', status(501, 'No chat'), /refuses the request \(HTTP 501\): No chat\.$/, /./],
  ])('%s: one sentence, at once', async (_, script, message, hint, at = (url) => url) => {
    vi.stubEnv('TEST_KEY', KEY)
    const server = await openAiServer({ answer: bySeed, ...script })
    const error = await errorOf(endpoint(at(server.url), { apiKeyEnv: 'TEST_KEY', concurrency: 1 }))
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('\n')
    expect(error.hint).toMatch(hint)
    expect(server.seen.length).toBeLessThanOrEqual(1)
  })

  it('a request without a key', async () => {
    const server = await openAiServer({ answer: bySeed, key: KEY })
    const error = await errorOf(endpoint(server.url))
    expect(error.message).toBe(`${server.url} wants a key, and OPENAI_API_KEY is not set.`)
    expect(error.hint).toContain('Set the environment variable OPENAI_API_KEY')
  })

  it('bare texts', async () => {
    const server = await openAiServer({ answer: bySeed, ...status(404, 'Not Found') })
    const error = await errorOf(endpoint(server.url), [{ prompt: { text: 'Q' }, n: 1, seed: 0 }])
    expect(error.message).toContain('/completions is not there (HTTP 404)')
    expect(error.hint).toContain('no plain completions')
  })

  it('the key, and shows it: it is not shown here', async () => {
    vi.stubEnv('TEST_KEY', `${KEY}\n`)
    for (const answer of [status(400, `No use for ${KEY}.`), status(503, `No use for ${KEY}.`)]) {
      const server = await openAiServer({ answer: bySeed, key: KEY, ...answer })
      const asked = endpoint(server.url, {
        apiKeyEnv: 'TEST_KEY',
        retries: 1,
        warn: (said) => warnings.push(said),
      })
      const warnings: string[] = []
      const error = await errorOf(asked)
      const all = [
        error.message,
        error.hint,
        error.stack,
        String(error.cause),
        asked.name,
        ...warnings,
      ].join()
      expect(all).toContain('No use for ***')
      expect(all).not.toContain(KEY)
    }
  })
})

describe('a server of another dialect', () => {
  const refusals = {
    seed: 'Unrecognized request argument supplied: seed',
    max_tokens:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    top_k: 'body.top_k: Extra inputs are not permitted',
    min_p: 'Unknown name "min_p": Cannot find field.',
    repetition_penalty: 'property `repetition_penalty` is unsupported',
    stop: "Unsupported parameter: 'stop' is not supported with this model.",
    n: 'Only one completion choice is allowed',
  }

  it('is understood after its first refusals, for good', async () => {
    const server = await openAiServer({
      answer: (body) => bySeed({ ...body, seed: 0 }).map((text) => `${text} STOP beyond`),
      refuses: refusals,
    })
    const asked = endpoint(server.url, { concurrency: 1 })
    const given = { ...params, stop: ['END', 'STOP'] }
    const answers = await answersOf(asked, [request('Q', 2), request('R')], given)
    expect(answers.map(({ text }) => text)).toEqual(['Q #0 ', 'Q #0 ', 'R #0 '])
    expect(Object.keys(server.seen.at(-1)!.body)).toEqual([
      'model',
      'messages',
      'max_completion_tokens',
      'temperature',
      'top_p',
    ])
    expect(server.seen).toHaveLength(Object.keys(refusals).length + 3)
    expect(asked.notes).toHaveLength(Object.keys(refusals).length)
  })

  it('is understood by requests that were refused side by side', async () => {
    const server = await openAiServer({ answer: bySeed, refuses: { top_k: refusals.top_k } })
    const requests = Array.from({ length: 40 }, (_, i) => request(`Q${i}`))
    expect(await answersOf(endpoint(server.url), requests)).toHaveLength(40)
    expect(server.seen.length).toBeLessThanOrEqual(40 + 16)
  })

  it('does not change the protocol: what it refuses is said', async () => {
    const said =
      "Unsupported value: 'temperature' does not support 0.6 with this model. Only the default (1)."
    const server = await openAiServer({ answer: bySeed, refuses: { temperature: said } })
    const error = await errorOf(endpoint(server.url))
    expect(error.message).toContain("refuses the request (HTTP 400): Unsupported value: 'temperature'")
    const asked = endpoint(server.url)
    expect(await answersOf(asked, [request('Q')], { ...params, temperature: 1 })).toHaveLength(1)
    expect(asked.notes).toEqual([expect.stringContaining('temperature 1 is not sent')])
  })

  it('is not asked for a nucleus of greedy answers', async () => {
    const server = await openAiServer({ answer: bySeed })
    await answersOf(endpoint(server.url), [request('Q')], { ...params, temperature: 0 })
    expect(server.seen[0]!.body).not.toHaveProperty('top_p')
  })
})

describe('an end', () => {
  const silent: Partial<ServerScript> = { fault: (i) => (i > 0 ? { kind: 'silent' } : undefined) }
  const requests = Array.from({ length: 50 }, (_, i) => request(`Q${i}`))

  it('by signal stops all that is under way', async () => {
    const server = await openAiServer({ answer: bySeed, ...silent })
    const abort = new AbortController()
    const seen: Answer[] = []
    const read = async () => {
      for await (const answer of endpoint(server.url).answer(requests, params, abort.signal)) {
        seen.push(answer)
        setTimeout(() => abort.abort(), 50)
      }
    }
    const started = performance.now()
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
    expect(performance.now() - started).toBeLessThan(2000)
    expect(seen).toHaveLength(1)
    await vi.waitFor(() => expect(server.deserted).toBe(16))
    expect(server.seen).toHaveLength(17)
  })

  it('by signal needs not wait for another try', async () => {
    const server = await openAiServer({ answer: bySeed, fault: () => ({ kind: 'status', status: 503 }) })
    const asked = endpoint(server.url, { backoffMs: 60_000 })
    const started = performance.now()
    const read = async () => {
      for await (const _ of asked.answer(requests, params, AbortSignal.timeout(100)));
    }
    await expect(read()).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it('by the reader stops all that is under way', async () => {
    const server = await openAiServer({ answer: bySeed, ...silent })
    for await (const _ of endpoint(server.url).answer(requests, params)) break
    await vi.waitFor(() => expect(server.deserted).toBeGreaterThan(0))
    expect(server.seen.length).toBeLessThanOrEqual(17)
  })

  it('before the beginning asks nothing', async () => {
    const server = await openAiServer({ answer: bySeed })
    const read = async () => {
      for await (const _ of endpoint(server.url).answer(requests, params, AbortSignal.abort()));
    }
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
    expect(server.seen).toEqual([])
  })
})

describe('an address', () => {
  it.each(['http://h/v1/', 'http://h/v1/chat/completions', 'http://h/v1/completions/'])(
    '%s is taken for its base',
    (url) => {
      expect(endpoint(url).name).toBe('test-model at http://h/v1')
    },
  )

  it.each([
    ['localhost:8000', /is no http\(s\) address/],
    ['h', /is no http\(s\) address/],
    ['https://user:pass@h/v1', /^The address of h holds more than host and path\.$/],
    ['https://h/v1?key=abc', /^The address of h holds more than host and path\.$/],
  ])('%s is refused', (url, message) => {
    expect(() => endpoint(url)).toThrow(message)
  })

  it('needs a key that can be one', () => {
    vi.stubEnv('TEST_KEY', 'two words')
    expect(() => endpoint('http://h/v1', { apiKeyEnv: 'TEST_KEY' })).toThrow(/^TEST_KEY holds what cannot/)
  })
})
