/** What goes wrong between client and server: tried again where that is safe, never applied twice, else one sentence. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { adam, connected, datum, dialects, serve, spec } from '../../test/support/tinker-client.js'
import type { Dialect, Fault, TinkerServerOptions } from '../../test/tinker-server/index.js'
import type { ConnectOptions, Model } from './client.js'
import { Auth, Billing, PromiseLost, ServerError, TinkerError, Transport, UserError } from './errors.js'
import { connect } from './service.js'

/** A fault without the route that it befalls. */
type Mishap = Fault extends infer F ? (F extends Fault ? Omit<F, 'on'> : never) : never

const loss = { name: 'importance_sampling' } as const
const prompt = Int32Array.of(1, 2, 3)
const sampling = { n: 2, maxTokens: 4, temperature: 1, seed: 1 }

afterEach(() => vi.useRealTimers())

async function setUp(
  dialect: Dialect,
  { patience, ...options }: ConnectOptions = {},
  serverOptions: Partial<TinkerServerOptions> = {},
) {
  const server = await serve({ dialect, holdMs: 60, ...serverOptions })
  const service = await connected(server, {
    ...options,
    patience: { answerMs: 5000, holdMs: 60, ...patience },
  })
  const session = await service.createSession()
  return { server, service, session, model: await session.createModel(spec) }
}

/** A round: the gradient and the step, sent together. */
function round(model: Model) {
  return Promise.all([model.forwardBackward([datum(), datum(1)], loss), model.optimStep(adam)])
}

/** The error, which must say in one sentence what happened and in another what to do. */
async function errorOf(promise: PromiseLike<unknown>): Promise<TinkerError> {
  const error = await promise.then(
    () => new Error('nothing failed'),
    (cause) => cause,
  )
  expect(error).toBeInstanceOf(TinkerError)
  expect(error.message).toMatch(/^[^\n]+\.$/)
  expect(error.hint).toMatch(/^[^\n]+\.$/)
  expect(error.message).not.toContain('tml-test')
  return error
}

const passing: [string, Mishap][] = [
  ['a storm of 503', { kind: 'status', status: 503, times: 4 }],
  ['500 of a request that was carried out', { kind: 'status', status: 500, processed: true }],
  ['an exception, and the connection with it', { kind: 'crash' }],
  ['an exception after the request was carried out', { kind: 'crash', processed: true }],
  ['a connection that breaks', { kind: 'hang up' }],
  ['a connection that breaks after the request was carried out', { kind: 'hang up', processed: true }],
  ['a connection that breaks within the answer', { kind: 'hang up', inBody: true }],
  ['a web page', { kind: 'page' }],
  ['a web page of status 200', { kind: 'page', status: 200 }],
  ['half an answer', { kind: 'half' }],
  ['an answer of the wrong shape', { kind: 'shape' }],
  ['silence', { kind: 'silent' }],
  ['silence after the request was carried out', { kind: 'silent', processed: true }],
  ['a slow answer', { kind: 'slow', ms: 70 }],
  ['429', { kind: 'status', status: 429, times: 2 }],
  ['an empty 400', { kind: 'status', status: 400, body: Buffer.alloc(0) }],
  ['a restart', { kind: 'die', when: 'before', restartMs: 20 }],
]

describe.each(dialects)('%s', (dialect) => {
  const keepsCount = dialect !== 'openrl'

  describe.each(['forward_backward', 'optim_step', 'retrieve_future'])('%s meets', (on) => {
    it.each(passing)('%s', async (_, mishap) => {
      const answerMs = mishap.kind === 'silent' ? 300 : 5000
      const { server, model } = await setUp(dialect, { patience: { answerMs } })
      server.fault({ ...mishap, on } as Fault)
      const outcome = await round(model).catch((error) => error)
      if (!(outcome instanceof Error)) {
        expect(server.steps()).toBe(1)
        await round(model)
        expect(server.steps()).toBe(2)
        return
      }
      expect(server.steps()).toBeLessThanOrEqual(1)
      // TuFT tells a retry by its count, but keeps no answers by it; Open-RL keeps no count at all.
      expect(dialect).toMatch(/tuft|openrl/)
      expect(await errorOf(Promise.reject(outcome))).toMatchObject({
        blame: 'lost',
        applied: keepsCount ? 'yes' : 'unknown',
      })
    })
  })

  it.each([true, false])('loses a promise whose operation was carried out: %s', async (applied) => {
    for (const on of ['forward_backward', 'optim_step']) {
      const { server, model } = await setUp(dialect)
      server.fault({ on, kind: 'lose', applied })
      const outcome = await round(model).catch((error) => error)
      if (outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(PromiseLost)
        expect(dialect === 'openrl' || (dialect === 'tuft' && on === 'forward_backward' && applied)).toBe(
          true,
        )
      }
      if (outcome instanceof Error) expect(server.steps()).toBeLessThanOrEqual(1)
      else expect(server.steps()).toBe(1)
    }
  })

  it('goes on behind an exception, whose connection is reset', async () => {
    const { server, service, model } = await setUp(dialect, { patience: { backoffMs: 300 } })
    // As many at once as there may be connections that are kept.
    server.fault({ on: 'create_session', kind: 'crash', times: 4 })
    const sessions = Array.from({ length: 4 }, () => service.createSession())
    await vi.waitFor(() => expect(server.faults.left).toBe(0), { interval: 5 })
    await new Promise((resolve) => setTimeout(resolve, 30))
    await round(model)
    expect(server.steps()).toBe(1)
    await Promise.all(sessions)
  })

  it('asks for nothing that a server might never answer', async () => {
    const { server, model } = await setUp(dialect)
    const sampler = await model.snapshot()
    const before = server.log.count('asample')
    for (const asked of [{ n: 0 }, { maxTokens: 0 }])
      expect((await errorOf(sampler.sample(prompt, { ...sampling, ...asked }))).message).toContain(
        'were asked for',
      )
    expect(await errorOf(model.forward([]))).toBeInstanceOf(UserError)
    expect(server.log.count('asample')).toBe(before)
    expect(server.held.pending).toBe(0)
  })

  it('asks again for samples whatever happens to them', async () => {
    const { server, model } = await setUp(dialect)
    const sampler = await model.snapshot()
    for (const mishap of [
      { kind: 'lose', applied: false },
      { kind: 'status', status: 503, times: 2 },
      { kind: 'hang up', processed: true },
      { kind: 'die', when: 'accepted', restartMs: 10 },
    ] as Mishap[])
      server.fault({ ...mishap, on: 'asample' } as Fault)
    for (const kind of ['nan', 'shape', 'half'] as const)
      server.fault({ kind, on: 'retrieve_future', after: 2 })
    const samples = await Promise.all(
      [1, 2, 3, 4, 5].map((seed) => sampler.sample(prompt, { ...sampling, seed })),
    )
    for (const [i, { sequences }] of samples.entries())
      expect(sequences.map(({ tokens }) => tokens[0])).toEqual([
        (i + 1) % 112,
        (i + (dialect === 'skyrl' ? 2 : 32)) % 112,
      ])
  })

  it('dies while promises are open, and goes on where it keeps them', async () => {
    const { server, model } = await setUp(dialect, {}, { scripted: { forwardMs: 60 } })
    await round(model)
    const both = round(model)
    await vi.waitFor(() => expect(server.log.count('optim_step')).toBe(2))
    server.kill()
    await server.restart()
    const outcome = await both.catch((error) => error)
    if (outcome instanceof Error) expect(outcome).toMatchObject({ blame: 'lost', applied: 'yes' })
    else expect(server.steps()).toBe(2)
    expect(server.steps()).toBeLessThanOrEqual(2)
  })

  it('dies and comes back without its models: one error, and a new model goes on', async () => {
    const { server, service, model } = await setUp(dialect)
    await round(model)
    const { path } = await model.saveWeights('before')
    await server.restart({ state: 'lost' })
    await errorOf(round(model))
    const again = await (await service.createSession()).createModel(spec)
    await again.loadWeights(path)
    await round(again)
    expect(server.steps(again.id)).toBe(1)
  })

  it('saves under a name once, though the answer is lost', async () => {
    const { server, model } = await setUp(dialect)
    for (const on of ['save_weights', 'save_weights_for_sampler']) {
      server.fault({ on, kind: 'status', status: 502, processed: true })
      const saved = on === 'save_weights' ? model.saveWeights('twice') : model.saveWeightsForSampler('twice')
      expect((await saved).path).toContain('twice')
    }
    await round(model)
    expect(server.steps()).toBe(1)
  })

  it('does no step whose data were refused', async () => {
    const { server, model } = await setUp(dialect)
    const [trained, stepped] = [model.forwardBackward([], loss), model.optimStep(adam)]
    expect(await errorOf(trained)).toBeInstanceOf(UserError)
    expect((await errorOf(stepped)).message).toContain('was not carried out')
    expect(server.steps()).toBe(0)
    await round(model)
    expect(server.steps()).toBe(1)
  })

  it('fails an operation: what was to build on it is not done, or said to be worthless', async () => {
    const { server, model } = await setUp(dialect)
    server.fault({ on: 'forward_backward', kind: 'fail', message: 'Out of memory.' })
    const [trained, stepped] = [model.forwardBackward([datum()], loss), model.optimStep(adam)]
    expect((await errorOf(trained)).message).toContain('Out of memory')
    const after = await errorOf(stepped)
    expect(after.message).toMatch(/without the gradients|was not carried out|before it failed/)
    if (dialect === 'tuft') expect(server.steps()).toBe(0)
    await round(model)
  })
})

describe('what does not pass', () => {
  const impatient = { patience: { giveUpMs: 60 } }

  it.each([
    ['a web page', { kind: 'page', status: 200 }, /a web page in the place of an answer/],
    ['half a message', { kind: 'half' }, /cannot be read|no JSON/],
    ['the wrong shape', { kind: 'shape' }, /wrong shape|log-probabilities|sequences/],
    ['NaN', { kind: 'nan' }, /log-probabilities that are not numbers/],
    ['503', { kind: 'status', status: 503, body: { detail: 'Loading' } }, /HTTP 503, Loading/],
  ] as [string, Mishap, RegExp][])('is %s for ever', async (_, mishap, message) => {
    const { server, model } = await setUp('hosted', impatient)
    server.fault({ ...mishap, on: 'retrieve_future', times: 100 } as Fault)
    const trained = model.forwardBackward([datum()], loss)
    const stepped = model.optimStep(adam)
    const error = await errorOf(trained)
    expect(error).toBeInstanceOf(ServerError)
    expect(error.message).toMatch(message)
    await errorOf(stepped)
  })

  it('is samples that are no numbers for ever', async () => {
    const { server, model } = await setUp('skyrl')
    const sampler = await model.snapshot()
    server.fault({ kind: 'nan', on: 'retrieve_future', times: 100 })
    const error = await errorOf(sampler.sample(prompt, sampling))
    expect(error.message).toContain('answers samples with log-probabilities that are not numbers')
  })

  it('is a server that is not there, or is something else', async () => {
    const { server, model } = await setUp('hosted', impatient)
    server.kill()
    expect(await errorOf(model.forwardBackward([datum()], loss))).toBeInstanceOf(Transport)
    const gone = await errorOf(connect({ baseUrl: server.url, patience: { giveUpMs: 20, backoffMs: 5 } }))
    expect(gone).toBeInstanceOf(Transport)
    expect(gone.message).toContain('ECONNREFUSED')
    await server.restart()
    server.fault({ on: 'client/config', kind: 'page', status: 200, times: 100 })
    const page = await errorOf(connect({ baseUrl: server.url, patience: { backoffMs: 5 } }))
    expect(page.message).toContain('a web page')
    const elsewhere = await errorOf(
      connect({ baseUrl: `${server.url}/elsewhere`, patience: { backoffMs: 5 } }),
    )
    expect(elsewhere).toBeInstanceOf(UserError)
    expect(elsewhere.message).toContain('is no server of the Tinker protocol')
  })

  it('is a bill that stays unpaid; one that is paid in time is waited for', async () => {
    const { server, model } = await setUp('hosted', { patience: { billingMs: 40 } })
    server.fault({ on: 'retrieve_future', kind: 'status', status: 402, body: { detail: 'No credit' } })
    await model.forwardBackward([datum()], loss)
    server.fault({
      on: 'retrieve_future',
      kind: 'status',
      status: 402,
      body: { detail: 'No credit' },
      times: 100,
    })
    const error = await errorOf(model.forwardBackward([datum()], loss))
    expect(error).toBeInstanceOf(Billing)
    expect(error.message).toContain('No credit')
  })

  it('is a key that is missing or unknown', async () => {
    const server = await serve({ dialect: 'tuft', keys: ['tml-other'] })
    vi.stubEnv('TINKER_API_KEY', '')
    const missing = await errorOf(connect({ baseUrl: server.url }))
    expect(missing).toBeInstanceOf(Auth)
    expect(missing.message).toContain('TINKER_API_KEY is not set')
    const unknown = await errorOf(connected(server))
    expect(unknown).toBeInstanceOf(Auth)
    expect(unknown.message).toContain('does not let the key of TINKER_API_KEY do this (HTTP 403')
  })

  it('is an answer that repeats the key, which is not repeated', async () => {
    const { server, model } = await setUp('hosted')
    server.fault({
      on: 'forward_backward',
      kind: 'status',
      status: 422,
      body: { detail: 'bad tml-test key' },
    })
    expect((await errorOf(model.forwardBackward([datum()], loss))).message).toContain('bad *** key')
  })
})

describe('time', () => {
  it('is not taken from the clock of the day, which may jump', async () => {
    const { server, model } = await setUp('hosted')
    const now = Date.now()
    let jumps = 0
    vi.spyOn(Date, 'now').mockImplementation(() => now + (jumps++ % 2 === 0 ? 1 : -1) * 86_400_000)
    server.fault({ on: 'retrieve_future', kind: 'status', status: 503, times: 3 })
    await round(model)
    vi.restoreAllMocks()
    expect(server.steps()).toBe(1)
  })

  it('ends waits: by deadline and signal, of one wait or of the whole call', async () => {
    const { server, model, service } = await setUp('hosted')
    server.pause('paused_capacity', 'no GPU is free')
    const call = model.forwardBackward([datum()], loss)
    await call.submitted
    await vi.waitFor(() => expect(call.waitsFor).toContain('paused_capacity: no GPU is free'))
    const late = await errorOf(call.wait({ deadlineMs: 20 }))
    expect(late).toBeInstanceOf(Transport)
    expect(late.message).toContain('was not done within 0.02 s')
    const controller = new AbortController()
    const waiting = call.wait({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await errorOf(model.optimStep(adam, { deadlineMs: 20 }))
    server.proceed()
    await call
    // What was sent is done, though its caller was let go.
    await vi.waitFor(() => expect(server.steps()).toBe(1))
    await round(model)
    expect(server.steps()).toBe(2)
    server.pause('active')
    const last = model.forwardBackward([datum()], loss)
    await last.submitted
    await service.close()
    await expect(last).rejects.toThrow('was closed')
    server.proceed()
  })
})
