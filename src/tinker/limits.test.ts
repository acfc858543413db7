/** Bounds of what is in flight, sizes of requests and answers, encodings, tokens, sessions and archives. */
import { getEventListeners } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { adam, connected, datum, serve, spec } from '../../test/support/tinker-client.js'
import { UserError } from './errors.js'
import { WaitBoard } from './waits.js'
import type { ForwardBackwardRequest } from './wire/messages.js'

const loss = { name: 'importance_sampling' } as const
const prompt = Int32Array.of(1, 2, 3)
const sampling = { n: 1, maxTokens: 4, temperature: 1 }

afterEach(() => vi.useRealTimers())

describe('training requests', () => {
  it('are cut to the size that the server names, and answered as one', async () => {
    const server = await serve({ dialect: 'hosted', flags: { fwdbwd_max_chunk_len: 3 } })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const data = Array.from({ length: 8 }, (_, i) => datum(i))
    const [{ logprobs, metrics }] = await Promise.all([
      model.forwardBackward(data, loss),
      model.optimStep(adam),
    ])
    expect(logprobs).toHaveLength(8)
    expect(metrics).toHaveProperty('loss:sum')
    const sent = server.log.of('forward_backward').map(({ body }) => body as ForwardBackwardRequest)
    expect(sent.map((request) => [request.seqId, request.data.length])).toEqual([
      [1, 3],
      [2, 3],
      [3, 2],
    ])
    expect(server.log.of('optim_step')[0]!.body).toMatchObject({ seq_id: 4 })
  })

  it('go as JSON to a server that turns out not to read protobuf, from then on at once', async () => {
    const server = await serve({ dialect: 'openrl' })
    const isProtobuf = (body: unknown) => typeof body === 'object' && body !== null && 'seqId' in body
    server.fault({
      on: ({ route, body }) => route === 'forward_backward' && isProtobuf(body),
      kind: 'status',
      status: 422,
      times: 100,
    })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    for (let step = 0; step < 2; step++)
      await Promise.all([model.forwardBackward([datum()], loss), model.optimStep(adam)])
    expect(server.steps()).toBe(2)
    expect(server.log.of('forward_backward').map(({ body }) => isProtobuf(body))).toEqual([
      true,
      false,
      false,
    ])
  })

  it('are scaled by the sequences of the step where a server takes their mean', async () => {
    const server = await serve({ dialect: 'skyrl' })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    await model.forwardBackward([datum()], loss, { sequencesInStep: 3 })
    await model.forwardBackward([datum(), datum()], loss)
    await model.optimStep(adam)
    await model.forwardBackward([datum()], loss)
    const sent = server.log.of('forward_backward').map(({ body }) => body as ForwardBackwardRequest)
    expect(sent.map(({ data }) => data[0]!.inputs.advantages!.data[2])).toEqual([3, 3, 1])
  })
})

describe('samples', () => {
  it('all come, in order, under the limit of the server, which is told fewer at once when it asks', async () => {
    const server = await serve({ dialect: 'hosted', sampleLimit: 20, scripted: { sampleMs: 2 } })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    const count = 100
    const samples = await Promise.all(
      Array.from({ length: count }, (_, seed) => sampler.sample(prompt, { ...sampling, seed })),
    )
    expect(samples.map(({ sequences }) => sequences[0]!.tokens[0])).toEqual(
      Array.from({ length: count }, (_, seed) => seed % 112),
    )
    expect(server.held).toMatchObject({ samples: 0, pending: 0 })
  })

  it('that are large are announced, and fetched within the bound of answers', async () => {
    const flags = { inflight_response_bytes_semaphore_size: 1000 }
    const server = await serve({ dialect: 'hosted', bigBytes: 100, flags, scripted: { length: 100 } })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    const asked = Array.from({ length: 12 }, (_, seed) =>
      sampler.sample(prompt, { ...sampling, maxTokens: 100, seed }),
    )
    for (const { sequences } of await Promise.all(asked)) expect(sequences[0]!.tokens).toHaveLength(100)
    const polls = server.log
      .of('retrieve_future')
      .map(({ body }) => body as { allow_metadata_only?: boolean })
    expect(polls.some((body) => body.allow_metadata_only === false)).toBe(true)
  })

  it('are cut behind the first stop id where the server did not', async () => {
    const server = await serve({ dialect: 'openrl' })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    // Made-up tokens go up by 7.
    const { sequences } = await sampler.sample(prompt, { ...sampling, maxTokens: 8, seed: 3, stop: [17] })
    expect(sequences[0]).toEqual({
      tokens: Int32Array.of(3, 10, 17),
      logprobs: new Float32Array(3).fill(-0.3),
      stopReason: 'stop',
    })
  })

  it('are refused of weights that the server no longer has, or with settings that it passes over', async () => {
    const server = await serve({ dialect: 'openrl' })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    await expect(sampler.sample(prompt, { ...sampling, topP: 0.9 })).rejects.toThrow(
      'not obeyed by openrl servers',
    )
    await Promise.all([model.forwardBackward([datum()], loss), model.optimStep(adam)])
    await expect(sampler.sample(prompt, sampling)).rejects.toThrow(UserError)
    await expect(sampler.sample(prompt, sampling)).rejects.toThrow('keeps those in training alone')
    await (await model.snapshot()).sample(prompt, sampling)
  })

  it('have seeds that fit, where sample i has the seed `seed + i`', async () => {
    const server = await serve({ dialect: 'skyrl' })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    const seed = 2 ** 31 - 2
    expect((await sampler.sample(prompt, { ...sampling, n: 2, seed })).sequences).toHaveLength(2)
    await expect(sampler.sample(prompt, { ...sampling, n: 3, seed })).rejects.toThrow('is too large')
  })

  it('of live weights end before a step moves these', async () => {
    const server = await serve({ dialect: 'skyrl', scripted: { sampleMs: 30 } })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    const sampler = await model.snapshot()
    const order: string[] = []
    const sample = sampler.sample(prompt, sampling).then(() => order.push('sample'))
    server.log.onRequest = ({ route }) => {
      if (route === 'optim_step') order.push('step')
    }
    await Promise.all([sample, model.forwardBackward([datum()], loss), model.optimStep(adam)])
    expect(order).toEqual(['sample', 'step'])
  })
})

describe('a service', () => {
  it('leaves no listeners and no warnings behind, whatever is in flight', async () => {
    const server = await serve({ dialect: 'hosted', scripted: { sampleMs: 5 } })
    const service = await connected(server)
    const warnings: Error[] = []
    const hear = (warning: Error) => warnings.push(warning)
    process.on('warning', hear)
    const { signal } = new AbortController()
    const model = await (await service.createSession({ signal })).createModel(spec, { signal })
    const sampler = await model.snapshot({ signal })
    await Promise.all(
      Array.from({ length: 100 }, (_, seed) => sampler.sample(prompt, { ...sampling, seed, signal })),
    )
    for (let round = 0; round < 20; round++)
      await Promise.all([
        model.forwardBackward([datum()], loss, { signal }),
        model.optimStep(adam, { signal }),
      ])
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    expect(warnings).toEqual([])
  })
})

describe('keys', () => {
  it('are exchanged for tokens where the server says so, again before these end', async () => {
    const server = await serve({ dialect: 'hosted', jwtMs: 400 })
    const model = await (await (await connected(server)).createSession()).createModel(spec)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await model.forwardBackward([datum()], loss)
    expect(server.log.count('auth/token')).toBeGreaterThan(1)
    expect(String(server.log.of('forward_backward')[0]!.headers['x-api-key'])).toMatch(/^eyJ/)
  })
})

describe('sessions', () => {
  it('are kept by heartbeats, and said to be over once the server forgot them', async () => {
    const server = await serve({ dialect: 'skyrl', sessionTimeoutMs: 300 })
    const warnings: string[] = []
    const service = await connected(server, {
      patience: { heartbeatMs: 20 },
      onWarning: (said) => warnings.push(said),
    })
    const session = await service.createSession()
    const model = await session.createModel(spec)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await model.forwardBackward([datum()], loss)
    await server.restart({ state: 'lost' })
    await vi.waitFor(() => expect(session.lost).toBeDefined(), { timeout: 5000 })
    await expect(model.forwardBackward([datum()], loss)).rejects.toThrow(`Session ${session.id} is over`)
    expect(warnings.some((said) => said.includes('is over'))).toBe(true)
    const beats = server.log.count('session_heartbeat')
    await new Promise((resolve) => setTimeout(resolve, 80))
    expect(server.log.count('session_heartbeat')).toBe(beats)
  })

  it('are over as well where a server only fails at heartbeats of those it does not know', async () => {
    const server = await serve({ dialect: 'tuft' })
    const service = await connected(server, { patience: { heartbeatMs: 20 } })
    const session = await service.createSession()
    server.fault({ on: 'session_heartbeat', kind: 'crash', times: 2 })
    await vi.waitFor(() => expect(server.faults.left).toBe(0))
    const model = await session.createModel(spec)
    expect(session.lost).toBeUndefined()
    await server.restart({ state: 'lost' })
    await vi.waitFor(() => expect(session.lost).toBeDefined(), { timeout: 5000 })
    await expect(model.forwardBackward([datum()], loss)).rejects.toThrow('is over')
  })
})

describe('checkpoints', () => {
  it.each(['hosted', 'skyrl', 'tuft'] as const)('of %s are listed, fetched and deleted', async (dialect) => {
    const server = await serve({ dialect })
    const service = await connected(server)
    const model = await (await service.createSession()).createModel(spec)
    const { path } = await model.saveWeightsForSampler('final')
    await model.saveWeights('state')
    const list = await service.checkpoints(model.id)
    expect(list.map(({ type }) => type).sort()).toEqual(['sampler', 'training'])
    const saved = list.find(({ type }) => type === 'sampler')!
    if (dialect !== 'skyrl') expect(saved.path).toBe(path)
    const file = join(temporaryFolder(), 'final.tar.gz')
    if (dialect === 'hosted') server.fault({ on: 'archive', kind: 'status', status: 503, times: 2 })
    await service.downloadArchive(saved, file)
    expect([...readFileSync(file).subarray(0, 2)]).toEqual([0x1f, 0x8b])
    expect(existsSync(`${file}.part`)).toBe(false)
    await service.deleteCheckpoint(saved)
    expect(await service.checkpoints(model.id)).toHaveLength(1)
  })

  it('are sent for to a signed address without the key', async () => {
    const server = await serve({ dialect: 'hosted', archive: 'json' })
    const service = await connected(server)
    const model = await (await service.createSession()).createModel(spec)
    await model.saveWeightsForSampler('final')
    const file = join(temporaryFolder(), 'final.tar.gz')
    await service.downloadArchive((await service.checkpoints(model.id))[0]!, file)
    expect(existsSync(file)).toBe(true)
  })
})

describe('WaitBoard', () => {
  it('tells of waits longer than 10 s, all of a kind together, and every 10 s from then on', () => {
    vi.useFakeTimers()
    const waits: object[] = []
    const board = new WaitBoard((wait) => waits.push(wait))
    const handles = [1, 2, 3].map(() => board.begin('samples'))
    const other = board.begin('a step')
    vi.advanceTimersByTime(9500)
    other.end()
    expect(waits).toEqual([])
    vi.advanceTimersByTime(1000)
    expect(waits).toEqual([{ what: 'samples', seconds: 10, count: 3 }])
    handles[0]!.end()
    vi.advanceTimersByTime(10_000)
    expect(waits[1]).toEqual({ what: 'samples', seconds: 20, count: 2 })
    for (const handle of handles) handle.end()
    vi.advanceTimersByTime(60_000)
    expect(waits).toHaveLength(2)
    expect(vi.getTimerCount()).toBe(0)
  })
})
