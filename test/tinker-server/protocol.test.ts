import { describe, expect, it } from 'vitest'
import { decodeForwardBackwardOutput, protobufType } from '../../src/tinker/wire.js'
import type { Dialect } from './index.js'
import { datum, serve } from './support.js'

const dialects: Dialect[] = ['hosted', 'skyrl', 'tuft', 'openrl']

describe.each(dialects)('the %s dialect', (dialect) => {
  it('trains, saves, samples and is asked for what it promised', async () => {
    const { server, client } = await serve({ dialect })
    const model = await client.model(await client.session())
    const output = await client.trained({ modelId: model, seqId: 1 })
    expect(Array.from(output.outputs[0]!.logprobs!.data)).toHaveLength(3)
    await client.result(client.step(model, 2))
    const session = await client.snapshot(model, 3)
    const { sequences } = await client.sampled(session, { num_samples: 3 })
    expect(sequences).toHaveLength(3)
    const saved = await client.result(
      client.post('save_weights', { model_id: model, seq_id: 4, path: 'step-1', type: 'save_weights' }),
    )
    expect(saved.path).toMatch(/^tinker:\/\/[^/]+\/weights\/step-1$/)
    expect(server.applied).toMatchObject([{ model, seq: 2, learningRate: 1e-3 }])
    expect(server.steps(model)).toBe(1)
    expect(server.held).toMatchObject({ models: 1, pending: 0, samples: 0 })
  })

  it('answers JSON where protobuf is not asked for, SkyRL protobuf even so', async () => {
    const { client } = await serve({ dialect })
    const model = await client.model(await client.session())
    if (dialect === 'skyrl') {
      const bytes = await client.result(client.forwardBackward({ modelId: model }))
      expect(decodeForwardBackwardOutput(bytes).outputs[0]!.logprobs!.data).toHaveLength(3)
      return
    }
    const { loss_fn_outputs: outputs } = await client.result(client.forwardBackward({ modelId: model }))
    expect(outputs[0].logprobs).toMatchObject({ dtype: 'float32', shape: [3] })
    const { sequences } = await client.result(client.sample(await client.snapshot(model, 2)))
    expect(sequences[0].tokens).toHaveLength(8)
    expect(sequences[0].logprobs).toHaveLength(8)
  })

  it('has the routes that it has', async () => {
    const { server, client } = await serve({ dialect })
    const lacks = async (method: string, path: string, name: string) => {
      const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } }
      const { status } = await client.ask(method, path, body)
      expect([path, status === 404]).toEqual([path, server.profile.missing.has(name)])
    }
    for (const path of [
      'client/config',
      'client/dynamic_config',
      'forward',
      'unload_model',
      'delete_model',
      'auth/token',
    ])
      await lacks('POST', path, path)
    for (const path of ['training_runs', 'checkpoints', 'sessions']) await lacks('GET', path, path)
    expect((await client.get('nowhere')).status).toBe(404)
    expect((await client.get('healthz')).body).toEqual({ status: 'ok' })
  })
})

describe('status codes', () => {
  it.each([
    ['hosted', 200, 200],
    ['skyrl', 200, 200],
    ['tuft', 201, 202],
    ['openrl', 200, 200],
  ] as const)('%s answers a session with %i and a promise with %i', async (dialect, session, promise) => {
    const { client } = await serve({ dialect })
    const created = await client.post('create_session', {
      tags: [],
      user_metadata: {},
      sdk_version: '0.25.0',
    })
    expect(created.status).toBe(session)
    const model = await client.model(created.body.session_id)
    expect((await client.step(model, 1)).status).toBe(promise)
  })

  it.each([
    ['hosted', 401],
    ['skyrl', 200],
    ['tuft', 401],
    ['openrl', 200],
  ] as const)('%s answers %i without a key', async (dialect, status) => {
    const { client } = await serve({ dialect })
    client.headers = {}
    const body = { tags: [], user_metadata: {}, sdk_version: '0.25.0' }
    expect((await client.post('create_session', body)).status).toBe(status)
    const open = dialect === 'tuft' ? 200 : status
    expect((await client.get('get_server_capabilities')).status).toBe(open)
    expect((await client.get('healthz')).status).toBe(200)
  })

  it.each([
    ['hosted', 401],
    ['tuft', 403],
  ] as const)('%s answers %i to a key that it does not know', async (dialect, status) => {
    const { client } = await serve({ dialect })
    client.headers = { 'x-api-key': 'tml-other' }
    expect((await client.post('client/config', { sdk_version: '0.25.0' })).status).toBe(status)
  })

  it.each([
    ['hosted', 422],
    ['skyrl', 200],
    ['tuft', 422],
    ['openrl', 200],
  ] as const)('%s answers %i to a field that it does not know', async (dialect, status) => {
    const { client } = await serve({ dialect })
    const answer = await client.post('create_session', {
      tags: [],
      user_metadata: {},
      sdk_version: '0.25.0',
      model_role: 'policy',
    })
    expect(answer.status).toBe(status)
    if (status === 422)
      expect(answer.body.detail[0]).toMatchObject({ type: 'extra_forbidden', loc: ['body', 'model_role'] })
  })

  it.each(dialects)(
    '%s asks for the version of the client and, where it is strict, for metadata',
    async (dialect) => {
      const { client } = await serve({ dialect })
      const open = dialect === 'skyrl' || dialect === 'openrl'
      expect((await client.post('create_session', { tags: [], user_metadata: {} })).status).toBe(422)
      const { status } = await client.post('create_session', { tags: [], sdk_version: '0.25.0' })
      expect(status).toBe(open ? 200 : 422)
    },
  )

  it('a broken body is 422, an unknown model or session 404', async () => {
    const { client } = await serve({ dialect: 'hosted' })
    const broken = await client.ask('POST', 'optim_step', {
      body: '{"model_id":',
      headers: { 'content-type': 'application/json' },
    })
    expect(broken.status).toBe(422)
    expect((await client.step('nobody', 1)).status).toBe(404)
    expect((await client.post('session_heartbeat', { session_id: 'nobody' })).status).toBe(404)
    const tuft = await serve({ dialect: 'tuft' })
    expect((await tuft.client.post('session_heartbeat', { session_id: 'nobody' })).status).toBe(500)
    expect((await client.sample('nobody')).status).toBe(404)
  })
})

describe('capabilities', () => {
  it.each([
    ['hosted', { model_name: 'tiny', max_context_length: 1 << 20, trainable: true, sampleable: true }],
    ['skyrl', { model_name: 'tiny' }],
    ['tuft', { model_name: 'tiny', max_context_length: 1 << 20, capabilities: ['training', 'sampling'] }],
  ] as const)('of %s', async (dialect, model) => {
    const { client } = await serve({ dialect })
    const { body } = await client.get('get_server_capabilities')
    expect(body).toEqual({ supported_models: [model] })
  })

  it('of Open-RL', async () => {
    const { client } = await serve({ dialect: 'openrl' })
    const { body } = await client.get('get_server_capabilities')
    expect(body).toEqual({
      supported_models: [{ model_name: 'tiny' }],
      default_model: 'tiny',
      single_process: true,
    })
    expect((await client.post('session_heartbeat', { session_id: 'any' })).status).toBe(200)
  })

  it('flags say what a client may do', async () => {
    const config = async (dialect: Dialect) => {
      const { client } = await serve({ dialect })
      return (await client.post('client/config', { sdk_version: '0.25.0' })).body
    }
    expect(await config('skyrl')).toEqual({ pjwt_auth_enabled: false })
    expect(await config('openrl')).toEqual({ detail: 'Not Found' })
    const { client } = await serve({ dialect: 'openrl', flags: {} })
    expect((await client.post('client/config', { sdk_version: '0.25.0' })).status).toBe(200)
    expect(await config('tuft')).toEqual({ pjwt_auth_enabled: false, parallel_fwdbwd_chunks: false })
    expect(await config('hosted')).toMatchObject({ fwdbwd_max_chunk_len: 1024, parallel_fwdbwd_chunks: true })
  })

  it('one base model for SkyRL and Open-RL', async () => {
    await expect(serve({ dialect: 'skyrl', models: { a: '', b: '' } })).rejects.toThrow('one base model')
    const { client } = await serve({ dialect: 'hosted', models: { a: '', b: '' } })
    const session = await client.session()
    await client.model(session, { base_model: 'a' })
    await client.model(session, { base_model: 'b', model_seq_id: 1 })
  })
})

describe('encodings', () => {
  const json = (model: string) => ({
    model_id: model,
    seq_id: 1,
    forward_backward_input: {
      data: [
        {
          model_input: { chunks: [{ type: 'encoded_text', tokens: [10, 11, 12] }] },
          loss_fn_inputs: {
            target_tokens: { data: [11, 12, 13], dtype: 'int64', shape: [3] },
            weights: { data: [0, 1, 1], dtype: 'float32', shape: [3] },
          },
        },
      ],
      loss_fn: 'cross_entropy',
    },
  })

  it.each([
    ['hosted', 415],
    ['skyrl', 415],
    ['tuft', 415],
    ['openrl', 200],
  ] as const)('%s answers JSON training with %i', async (dialect, status) => {
    const { client } = await serve({ dialect })
    const model = await client.model(await client.session())
    const answer = await client.post('forward_backward', json(model))
    expect(answer.status).toBe(status)
    if (status === 200) expect((await client.result(answer)).loss_fn_outputs).toHaveLength(1)
  })

  it('a forward pass has its own route where JSON is taken, and a flag everywhere', async () => {
    const { client, server } = await serve({ dialect: 'openrl' })
    const model = await client.model(await client.session())
    const { forward_backward_input: forward_input, ...head } = json(model)
    const { loss_fn_outputs: outputs } = await client.result(
      client.post('forward', { ...head, forward_input }),
    )
    expect(outputs).toHaveLength(1)
    expect((await client.trained({ modelId: model, seqId: 2, forwardOnly: true })).outputs).toHaveLength(1)
    expect(server.log.count('forward')).toBe(1)
  })

  it.each(['skyrl', 'tuft', 'hosted'] as const)('%s refuses bytes that are no message', async (dialect) => {
    const { client } = await serve({ dialect })
    const { status } = await client.ask('POST', 'forward_backward', {
      body: Uint8Array.of(0x1a, 0x7f, 1),
      headers: { 'content-type': protobufType },
    })
    expect(status).toBe(422)
  })

  /** Frames as the reference implementation writes them: raw blocks, their size in the header. */
  const zstd = (content: Uint8Array) => {
    const head = Buffer.alloc(4 + 1 + 4 + 3)
    head.writeUInt32LE(0xfd2fb528, 0)
    head[4] = 0xa0
    head.writeUInt32LE(content.length, 5)
    head.writeUIntLE((content.length << 3) | 1, 9, 3)
    return Buffer.concat([head, content])
  }
  const compressed = { 'content-type': protobufType, 'content-encoding': 'zstd' }

  it.each([
    ['hosted', 415],
    ['skyrl', 200],
    ['tuft', 202],
    ['openrl', 415],
  ] as const)('%s answers zstd with %i', async (dialect, status) => {
    const { client, server } = await serve({ dialect })
    const model = await client.model(await client.session())
    await client.forwardBackward({ modelId: model, seqId: 1 })
    const { raw } = server.log.of('forward_backward')[0]!
    const body = zstd(raw)
    const answer = await client.ask('POST', 'forward_backward', { body, headers: compressed })
    expect(answer.status).toBe(status)
  })

  it('hosted takes zstd where its flags say so', async () => {
    const { client } = await serve({ dialect: 'hosted', flags: { proto_compress_fwdbwd: true } })
    const { status } = await client.ask('POST', 'forward_backward', {
      body: zstd(Buffer.from([0x12])),
      headers: compressed,
    })
    expect(status).toBe(422)
  })

  it('a body that grows too large is refused before it is opened', async () => {
    const { client } = await serve({ dialect: 'tuft' })
    const frame = zstd(new Uint8Array(8))
    frame.writeUInt32LE(65 * 2 ** 20, 5)
    expect((await client.ask('POST', 'forward_backward', { body: frame, headers: compressed })).status).toBe(
      413,
    )
  })

  it('a loss or a setting of it that the server lacks is 422', async () => {
    const { client } = await serve({ dialect: 'skyrl' })
    const model = await client.model(await client.session())
    const ask = (lossFn: string, lossFnConfig = {}) =>
      client.forwardBackward({ modelId: model, lossFn, lossFnConfig }).then(({ status }) => status)
    expect(await ask('dro')).toBe(422)
    expect(await ask('cross_entropy', { clip_low_threshold: 0.8 })).toBe(422)
    expect(await ask('ppo', { clip_low_threshold: 0.8 })).toBe(200)
  })

  it('no data are refused, taken, or never answered', async () => {
    const outcome = async (dialect: Dialect) => {
      const { client, server } = await serve({ dialect, holdMs: 20 })
      const model = await client.model(await client.session())
      const promise = await client.forwardBackward({ modelId: model, data: [] })
      const { status, body } = await client.post('retrieve_future', { request_id: promise.body.request_id })
      return [status, body.error ?? body.detail ?? body.error_message, server.held.pending]
    }
    expect(await outcome('hosted')).toEqual([200, 'The batch holds no data.', 0])
    expect(await outcome('openrl')).toEqual([400, 'The batch holds no data.', 0])
    expect(await outcome('tuft')).toEqual([200, undefined, 0])
    expect(await outcome('skyrl')).toEqual([408, 'Timeout waiting for result', 1])
  })

  it.each(dialects)('%s says of wrong data that the request failed', async (dialect) => {
    const { client } = await serve({ dialect })
    const model = await client.model(await client.session())
    const promise = await client.forwardBackward({ modelId: model, data: [datum({ weights: [1] })] })
    const answer = await client.retrieve(promise.body.request_id)
    const said = "'weights' holds 1 values for 3 tokens."
    const expected = {
      hosted: [200, { error: said, category: 'user' }],
      skyrl: [400, { detail: said }],
      tuft: [400, { detail: `Failed to retrieve future: ${said}` }],
      openrl: [400, { type: 'RequestFailedResponse', error_message: said }],
    }
    expect([answer.status, answer.body]).toEqual(expected[dialect])
  })

  it('hosted refuses a mask and weights beside a policy loss; SkyRL takes both', async () => {
    const failed = async (dialect: Dialect, extra: string) => {
      const { client } = await serve({ dialect })
      const model = await client.model(await client.session())
      const inputs = { logprobs: [0, -1, -1], advantages: [0, 1, 1], [extra]: [0, 1, 1] }
      const data = [datum(inputs)]
      if (extra !== 'weights') delete data[0]!.inputs.weights
      const promise = await client.forwardBackward({ modelId: model, data, lossFn: 'importance_sampling' })
      return (await client.retrieve(promise.body.request_id)).body.error !== undefined
    }
    expect(await failed('hosted', 'mask')).toBe(true)
    expect(await failed('hosted', 'weights')).toBe(true)
    expect(await failed('skyrl', 'mask')).toBe(false)
    expect(await failed('skyrl', 'weights')).toBe(false)
  })
})

describe('futures', () => {
  it.each([
    ['hosted', 408, { queue_state: 'active' }],
    ['skyrl', 408, {}],
    ['tuft', 200, { type: 'try_again', queue_state: 'active' }],
    ['openrl', 200, { type: 'try_again', queue_state: 'active' }],
  ] as const)('%s says %i when nothing has come of a promise yet', async (dialect, status, body) => {
    const { client, server } = await serve({ dialect, holdMs: 30 })
    const model = await client.model(await client.session())
    server.pause('active')
    const { body: promise } = await client.step(model, 1)
    const answer = await client.post('retrieve_future', { request_id: promise.request_id })
    expect(answer).toMatchObject({ status, body })
    server.proceed()
    expect((await client.retrieve(promise.request_id)).status).toBe(200)
  })

  it.each([
    ['hosted', 410],
    ['skyrl', 404],
    ['tuft', 404],
    ['openrl', 400],
  ] as const)('%s says %i to a promise that it does not know', async (dialect, status) => {
    const { client } = await serve({ dialect })
    expect((await client.post('retrieve_future', { request_id: '99999' })).status).toBe(status)
  })

  it('a wait ends when the result is there, not when the time is over', async () => {
    const { client } = await serve({ dialect: 'skyrl', holdMs: 30_000, scripted: { stepMs: 50 } })
    const model = await client.model(await client.session())
    const started = performance.now()
    await client.result(client.step(model, 1))
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('tells why nothing moves', async () => {
    const { client, server } = await serve({ dialect: 'hosted', holdMs: 20 })
    const model = await client.model(await client.session())
    server.pause('paused_capacity', 'no room')
    const { body } = await client.step(model, 1)
    expect((await client.post('retrieve_future', { request_id: body.request_id })).body).toMatchObject({
      type: 'try_again',
      queue_state: 'paused_capacity',
      queue_state_reason: 'no room',
    })
    server.proceed()
    expect((await client.retrieve(body.request_id)).status).toBe(200)
  })

  it('announces a large result by its size where it is asked to', async () => {
    const { client } = await serve({ dialect: 'hosted', bigBytes: 10 })
    const model = await client.model(await client.session())
    const { body } = await client.forwardBackward({ modelId: model })
    const ask = (allow_metadata_only: boolean) =>
      client.post(
        'retrieve_future',
        { request_id: body.request_id, allow_metadata_only },
        { accept: protobufType },
      )
    const announced = await ask(true)
    const told = await ask(false)
    expect(announced.body).toEqual({ status: 'complete_metadata', response_payload_size: told.body.length })
  })

  it('forgets results that were told long ago', async () => {
    const { client } = await serve({ dialect: 'hosted', keptResults: 1 })
    const model = await client.model(await client.session())
    const first = (await client.step(model, 1)).body.request_id
    await client.retrieve(first)
    expect((await client.retrieve(first)).status).toBe(200)
    await client.result(client.step(model, 2))
    expect((await client.retrieve(first)).status).toBe(410)
  })
})

describe('sessions', () => {
  it('SkyRL unloads the models of a session that is not heard of', async () => {
    const { client, server } = await serve({ dialect: 'skyrl', sessionTimeoutMs: 1000 })
    const [kept, left] = [await client.session(), await client.session()]
    const [one, other] = [await client.model(kept), await client.model(left)]
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      await client.post('session_heartbeat', { session_id: kept })
    }
    expect((await client.step(one, 1)).status).toBe(200)
    expect((await client.step(other, 1)).status).toBe(404)
    expect(server.held.models).toBe(1)
  })

  it('hosted exchanges keys for tokens where its flags say so', async () => {
    const { client } = await serve({ dialect: 'hosted', jwtMs: 1500 })
    expect((await client.post('client/config', { sdk_version: '0.25.0' })).body.pjwt_auth_enabled).toBe(true)
    expect((await client.get('get_server_capabilities')).status).toBe(401)
    const { jwt } = (await client.post('auth/token', {})).body
    const key = client.headers
    client.headers = { 'x-api-key': jwt }
    expect((await client.get('get_server_capabilities')).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 1600))
    expect((await client.get('get_server_capabilities')).status).toBe(401)
    client.headers = key
    expect((await client.post('auth/token', {})).status).toBe(200)
  })
})

describe('models', () => {
  it('a retried create makes a second model on SkyRL and TuFT, and none on hosted', async () => {
    const twice = async (dialect: Dialect) => {
      const { client, server } = await serve({ dialect })
      const session = await client.session()
      const ids = [await client.model(session), await client.model(session)]
      return [new Set(ids).size, server.held.models]
    }
    expect(await twice('skyrl')).toEqual([2, 2])
    expect(await twice('tuft')).toEqual([2, 2])
    expect(await twice('hosted')).toEqual([1, 1])
  })

  it('has so many adapters and no more', async () => {
    const skyrl = await serve({ dialect: 'skyrl', slots: 1 })
    const session = await skyrl.client.session()
    const model = await skyrl.client.model(session)
    await expect(skyrl.client.model(session)).rejects.toThrow('failed with 400')
    await skyrl.client.result(skyrl.client.post('unload_model', { model_id: model }))
    await skyrl.client.model(session)
    const tuft = await serve({ dialect: 'tuft', slots: 1 })
    const other = await tuft.client.session()
    await tuft.client.model(other)
    await expect(tuft.client.model(other)).rejects.toThrow('refused with 429')
  })

  it.each([
    ['hosted', { rank: 129 }, 'refused with 400'],
    ['skyrl', { rank: 33 }, 'failed with 400'],
    ['tuft', { rank: 17 }, 'refused with 400'],
  ] as const)('%s has a largest rank', async (dialect, lora_config, said) => {
    const { client } = await serve({ dialect })
    const session = await client.session()
    await expect(client.model(session, { lora_config })).rejects.toThrow(said)
    await expect(client.model(session, { base_model: 'other', model_seq_id: 1 })).rejects.toThrow(/40[04]/)
  })

  it('TuFT needs a LoRA configuration', async () => {
    const { client } = await serve({ dialect: 'tuft' })
    const session = await client.session()
    await expect(client.model(session, { lora_config: undefined })).rejects.toThrow('refused with 400')
  })
})
