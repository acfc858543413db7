import { Agent } from 'undici'
import { describe, expect, it } from 'vitest'
import { decodeForwardBackwardOutput, decodeSampleResponse, protobufType } from '../../src/tinker/wire.js'
import type { Dialect } from './index.js'
import { serve, serveReal } from './support.js'

const protobuf = { accept: protobufType }

async function open(dialect: Dialect, options = {}) {
  const { client, server } = await serve({ dialect, ...options })
  const model = await client.model(await client.session())
  return { client, server, model }
}

describe('answers that go wrong', () => {
  it('a status as often as it is asked for, after so many that went well', async () => {
    const { client, server, model } = await open('hosted')
    server.fault({ on: 'optim_step', kind: 'status', status: 503, times: 2, after: 1 })
    const statuses = []
    for (let seq = 1; seq <= 4; seq++) statuses.push((await client.step(model, seq)).status)
    expect(statuses).toEqual([200, 503, 503, 200])
    expect(server.faults.left).toBe(0)
    server.fault({
      on: ({ route }) => route === 'asample',
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '1' },
    })
    const answer = await client.sample('any')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
    server.fault({ on: 'optim_step', kind: 'status', status: 402 })
    expect((await client.step(model, 9)).status).toBe(402)
  })

  it.each([
    { kind: 'status', status: 500, processed: true },
    { kind: 'hang up', processed: true },
    { kind: 'page', processed: true },
  ] as const)('the step is taken, but the answer is $kind', async (fault) => {
    const { client, server, model } = await open('hosted')
    server.fault({ on: 'optim_step', ...fault })
    const answer = await client.step(model, 1).catch((error: Error) => error)
    if (fault.kind === 'hang up') expect(answer).toBeInstanceOf(Error)
    else expect(answer).toMatchObject({ status: fault.kind === 'page' ? 502 : 500 })
    await client.result(client.step(model, 1))
    expect(server.steps()).toBe(1)
  })

  it('a web page, a broken connection, silence: and nothing is done', async () => {
    const { client, server, model } = await open('openrl')
    server.fault({ on: 'optim_step', kind: 'page', status: 200 })
    expect((await client.step(model, 1)).body).toMatch(/^<!DOCTYPE html>/)
    server.fault({ on: 'optim_step', kind: 'hang up' })
    await expect(client.step(model, 1)).rejects.toThrow()
    server.fault({ on: 'optim_step', kind: 'silent' })
    const signal = AbortSignal.timeout(100)
    await expect(client.ask('POST', 'optim_step', { signal })).rejects.toThrow()
    expect(server.steps()).toBe(0)
    expect(server.log.of('optim_step').map(({ fault }) => fault)).toEqual(['page', 'hang up', 'silent'])
  })

  it('an exception, behind which the connection is reset', async () => {
    const { server, model } = await open('skyrl')
    const agent = new Agent({ connections: 1 })
    const ask = async () => {
      const { origin, pathname } = new URL(`${server.url}/api/v1/healthz`)
      const { statusCode, body } = await agent.request({ origin, path: pathname, method: 'GET' })
      return [statusCode, await body.text()]
    }
    server.fault({ on: 'healthz', kind: 'crash' })
    expect(await ask()).toEqual([500, 'Internal Server Error'])
    await expect(ask()).rejects.toThrow(/ECONNRESET|closed|reset/)
    expect(await ask()).toEqual([200, '{"status":"ok"}'])
    expect(server.steps(model)).toBe(0)
    await agent.close()
  })

  it('half a message, and a body that breaks off', async () => {
    const { client, server, model } = await open('hosted')
    const { body } = await client.forwardBackward({ modelId: model })
    server.fault({ on: 'retrieve_future', kind: 'half' })
    const half = await client.retrieve(body.request_id, protobuf)
    expect(() => decodeForwardBackwardOutput(half.body)).toThrow()
    server.fault({ on: 'retrieve_future', kind: 'hang up', inBody: true })
    await expect(client.retrieve(body.request_id, protobuf)).rejects.toThrow()
    const whole = await client.retrieve(body.request_id, protobuf)
    expect(decodeForwardBackwardOutput(whole.body).outputs).toHaveLength(1)
  })

  it('wrong shapes and log-probabilities that are no numbers', async () => {
    const { client, server, model } = await open('hosted')
    const { body } = await client.forwardBackward({ modelId: model })
    server.fault({ on: 'retrieve_future', kind: 'shape' })
    const shape = await client.retrieve(body.request_id, protobuf)
    expect(decodeForwardBackwardOutput(shape.body).outputs).toHaveLength(0)
    server.fault({ on: 'retrieve_future', kind: 'nan' })
    const nan = decodeForwardBackwardOutput((await client.retrieve(body.request_id, protobuf)).body)
    expect(nan.outputs[0]!.logprobs!.data.every(Number.isNaN)).toBe(true)
    const sample = await client.sample(await client.snapshot(model, 2))
    server.fault({ on: 'retrieve_future', kind: 'nan' })
    const { sequences } = decodeSampleResponse((await client.retrieve(sample.body.request_id, protobuf)).body)
    expect(sequences[0]!.logprobs!.every(Number.isNaN)).toBe(true)
    const step = await client.step(model, 3)
    server.fault({ on: 'retrieve_future', kind: 'shape' })
    expect((await client.retrieve(step.body.request_id)).body).toEqual({ unexpected: true })
  })

  it('slow answers, and latency of all', async () => {
    const { client, server, model } = await open('hosted', { latencyMs: 20 })
    server.fault({ on: 'optim_step', kind: 'slow', ms: 100 })
    const started = performance.now()
    await client.step(model, 1)
    expect(performance.now() - started).toBeGreaterThan(115)
  })

  it('an operation that fails', async () => {
    const { client, server, model } = await open('skyrl')
    server.fault({ on: 'optim_step', kind: 'fail', message: 'out of memory', category: 'server' })
    const { body } = await client.step(model, 1)
    expect(await client.retrieve(body.request_id)).toMatchObject({
      status: 500,
      body: { detail: 'Unknown error' },
    })
    expect(server.steps()).toBe(0)
  })
})

describe('a promise that is lost', () => {
  it.each(['hosted', 'skyrl', 'tuft', 'openrl'] as const)(
    'before it was kept: %s takes the request anew',
    async (dialect) => {
      const { client, server, model } = await open(dialect)
      server.fault({ on: 'optim_step', kind: 'lose', applied: false })
      const { body } = await client.step(model, 1)
      expect((await client.retrieve(body.request_id)).status).toBe(410)
      expect(server.steps()).toBe(0)
      await client.result(client.step(model, 1))
      expect(server.steps()).toBe(1)
    },
  )

  it.each([
    ['hosted', 'done', 1],
    ['skyrl', 'done', 1],
    ['tuft', 'conflict', 1],
    ['openrl', 'done', 2],
  ] as const)('after it was kept: the same request to %s is %s', async (dialect, outcome, steps) => {
    const { client, server, model } = await open(dialect)
    server.fault({ on: 'optim_step', kind: 'lose', applied: true })
    const { body } = await client.step(model, 1)
    expect((await client.retrieve(body.request_id)).status).toBe(410)
    const again = await client.step(model, 1)
    expect(again.body.request_id).not.toBe(body.request_id)
    const { status, body: result } = await client.retrieve(again.body.request_id)
    if (outcome === 'done') expect(status).toBe(200)
    else expect([status, result.detail]).toEqual([409, expect.stringContaining('expected 2, got 1')])
    expect(server.steps()).toBe(steps)
  })

  it('a sample and a model as well', async () => {
    const { client, server, model } = await open('hosted')
    const session = await client.snapshot(model, 1)
    server.fault({ on: 'asample', kind: 'lose', applied: true })
    const lost = await client.sample(session)
    expect((await client.retrieve(lost.body.request_id)).status).toBe(410)
    expect((await client.sampled(session)).sequences).toHaveLength(1)
    server.fault({ on: 'create_model', kind: 'lose', applied: false })
    const other = await client.session()
    await expect(client.model(other)).rejects.toThrow('failed with 410')
    await client.model(other)
    expect(server.held.models).toBe(2)
  })
})

describe('death', () => {
  it.each([
    ['hosted', 200, 2],
    ['skyrl', 200, 2],
    ['tuft', 410, 0],
  ] as const)(
    '%s comes back with its state: promises not begun are answered with %i',
    async (dialect, status, steps) => {
      const { client, server, model } = await open(dialect)
      server.pause('active')
      const waiting = [await client.step(model, 1), await client.step(model, 2)]
      server.kill()
      expect(server.alive).toBe(false)
      await expect(client.get('healthz')).rejects.toThrow()
      await server.restart()
      server.proceed()
      for (const { body } of waiting) {
        const answer = await client.retrieve(body.request_id)
        expect(answer.status).toBe(status)
        if (status === 410) expect(answer.body.detail).toBe('cancelled')
      }
      expect(server.steps(model)).toBe(steps)
      if (status === 410) await client.result(client.step(model, 1))
    },
  )

  it('what was begun is done, and once', async () => {
    const { client, server, model } = await open('hosted', { scripted: { stepMs: 100 } })
    const { body } = await client.step(model, 1)
    server.kill()
    await server.restart()
    expect((await client.retrieve(body.request_id)).status).toBe(200)
    expect(server.steps(model)).toBe(1)
  })

  it('comes back without it: only what was saved is left', async () => {
    const { client, server } = await serveReal({ dialect: 'hosted' })
    const model = await client.model(await client.session())
    await client.trained({ modelId: model, seqId: 1 })
    await client.result(client.step(model, 2))
    const { path } = await client.result(
      client.post('save_weights', { model_id: model, seq_id: 3, path: 'a' }),
    )
    const promise = await client.step(model, 4)
    server.kill()
    await server.restart({ state: 'lost' })
    expect((await client.step(model, 5)).status).toBe(404)
    expect((await client.post('retrieve_future', { request_id: promise.body.request_id })).status).toBe(410)
    const fresh = await client.model(await client.session())
    await client.result(client.post('load_weights', { model_id: fresh, seq_id: 1, path, optimizer: true }))
    await client.result(client.step(fresh, 2))
    expect(server.steps(fresh)).toBe(1)
  })

  it('comes by a fault, before a request or once it was taken', async () => {
    const { client, server, model } = await open('skyrl')
    server.fault({ on: 'optim_step', kind: 'die', when: 'before', restartMs: 30 })
    await expect(client.step(model, 1)).rejects.toThrow()
    await expect.poll(() => server.alive).toBe(true)
    expect(server.steps()).toBe(0)
    server.fault({ on: 'optim_step', kind: 'die', when: 'accepted', restartMs: 30 })
    await expect(client.step(model, 1)).rejects.toThrow()
    await expect.poll(() => server.alive).toBe(true)
    await client.result(client.step(model, 1))
    expect(server.steps()).toBe(1)
  })

  it('breaks off a long poll', async () => {
    const { client, server, model } = await open('hosted', { holdMs: 60_000 })
    const { body } = await client.step(model, 2)
    const poll = client.post('retrieve_future', { request_id: body.request_id }).catch(() => 'broken')
    await new Promise((resolve) => setTimeout(resolve, 20))
    server.kill()
    expect(await poll).toBe('broken')
  })
})

describe('books', () => {
  it('requests are remembered to a limit and counted beyond', async () => {
    const { client, server, model } = await open('hosted', { logLimit: 2 })
    for (let seq = 1; seq <= 4; seq++) await client.forwardBackward({ modelId: model, seqId: seq })
    expect(server.log.count('forward_backward')).toBe(4)
    expect(server.log.requests).toHaveLength(2)
    expect(server.log.of('forward_backward')[1]).toMatchObject({
      method: 'POST',
      path: '/api/v1/forward_backward',
      status: 200,
      body: { modelId: model, seqId: 4, lossFn: 'cross_entropy' },
    })
  })

  it('made-up weights work one thing after another, for their time', async () => {
    const { client, server, model } = await open('hosted', {
      scripted: { forwardMs: 30, stepMs: 20, sampleMs: 10 },
    })
    const started = performance.now()
    const [train, step] = [await client.forwardBackward({ modelId: model }), await client.step(model, 2)]
    await Promise.all([client.result(train), client.result(step)])
    const session = await client.snapshot(model, 3)
    await Promise.all(
      Array.from({ length: 6 }, async (_, seq_id) => client.result(client.sample(session, { seq_id }))),
    )
    expect(server.busyMs).toBeGreaterThanOrEqual(59)
    expect(performance.now() - started).toBeGreaterThan(server.busyMs - 1)
  })
})
