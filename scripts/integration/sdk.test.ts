/** The client sends what the official Python SDK sends for the same calls, but for differences that are named here. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { Datum } from '../../src/core/datum.js'
import { projectRoot } from '../../src/core/paths.js'
import { connect } from '../../src/tinker/index.js'
import { decodeForwardBackwardRequest, encodeForwardBackwardRequest } from '../../src/tinker/wire.js'
import { startTinkerServer } from '../../test/tinker-server/index.js'

const folder = join(projectRoot(), 'scripts', 'integration', 'fixtures')

interface Request {
  method: string
  path: string
  headers: Record<string, unknown>
  json?: Record<string, unknown>
  protobuf?: Uint8Array
}

/** The calls of sdk_calls.py. */
async function calls(baseUrl: string): Promise<void> {
  const service = await connect({ baseUrl, dialect: 'hosted' })
  const session = await service.createSession()
  const model = await session.createModel({ baseModel: 'tiny', rank: 8, seed: 1 })
  await model.forwardBackward([datum], { name: 'cross_entropy' })
  await model.forwardBackward([datum], { name: 'importance_sampling' })
  await model.forwardBackward([datum, datum], { name: 'ppo', clipLow: 0.8, clipHigh: 1.2 })
  const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 }
  await model.optimStep(adam)
  await model.forward([datum])
  const sampler = await model.snapshot()
  await sampler.sample(full.slice(0, 5), { n: 2, maxTokens: 8, seed: 3, stop: [2], temperature: 1 })
  await sampler.computeLogprobs(full)
  const { path } = await model.saveWeightsForSampler('named')
  await session.createSampler({ path })
  const saved = await model.saveWeights('step-1')
  const { base_model, lora_rank } = await service.weightsInfo(saved.path)
  const resumed = await session.createModel({ baseModel: base_model, rank: lora_rank! })
  await resumed.loadWeights(saved.path, { optimizer: true })
  await service.close()
}

const full = Int32Array.of(5, 6, 7, 8, 9, 20, 21, 22)
const datum: Datum = {
  tokens: full.slice(0, -1),
  targets: full.slice(1),
  weights: Float32Array.of(0, 0, 0, 0, 1, 1, 1),
  logprobs: Float32Array.of(0, 0, 0, 0, -0.5, -1, -1.5),
  advantages: Float32Array.of(0, 0, 0, 0, 0.75, 0.75, 0.75),
}

/** Fields that say no more than the protocol's default, by route; whoever sends them, they are left out. */
const defaults: Record<string, Record<string, unknown>> = {
  create_model: { user_metadata: {}, optimizer_config: { type: 'adamw' } },
  asample: {
    prompt_logprobs: false,
    topk_prompt_logprobs: 0,
    topk_sample_logprobs: 0,
    prompt_alt_tokens_k: 0,
    record_stability_info: false,
  },
  save_weights: { overwrite: false },
  save_weights_for_sampler: { kind: 'snapshot' },
  retrieve_future: { allow_metadata_only: false },
}

const ours: Request[] = []

beforeAll(async () => {
  vi.stubEnv('TINKER_API_KEY', 'tml-test')
  const server = await startTinkerServer({ dialect: 'hosted', models: { tiny: 'models/tiny' }, scripted: {} })
  server.log.onRequest = ({ method, path, headers, raw }) => {
    const protobuf = headers['content-type'] === 'application/x-protobuf'
    const body = protobuf ? { protobuf: raw } : raw.length > 0 && { json: JSON.parse(raw.toString()) }
    ours.push({ method, path, headers, ...body })
  }
  await calls(server.url)
  await server.close()
  vi.unstubAllEnvs()
})

const fixtures = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))

describe.each(fixtures.map((fixture) => [fixture.sdk, fixture.requests] as const))('%s', (sdk, recorded) => {
  const theirs: Request[] = recorded.map(({ protobuf, ...request }: { protobuf?: string }) => ({
    ...request,
    ...(protobuf !== undefined && { protobuf: Buffer.from(protobuf, 'base64') }),
  }))

  it.each([
    'client/config',
    'create_session',
    'create_model',
    'optim_step',
    'save_weights_for_sampler',
    'asample',
    'save_weights',
    'create_sampling_session',
  ])('%s: the same JSON in the same order', (route) => {
    const sent = bodiesOf(ours, route)
    expect(sent.length).toBeGreaterThan(0)
    const wanted = bodiesOf(theirs, route)
    // The SDK asks for its configuration a second time; later ones resume without create_model, see below.
    expect(sent.slice(0, wanted.length)).toEqual(wanted.slice(0, sent.length))
  })

  it('forward_backward: the same bytes, once map fields are in one order', () => {
    const [mine, wanted] = [ours, theirs].map((requests) => of(requests, 'forward_backward').map(messageOf))
    expect(mine).toHaveLength(4)
    // Log-probabilities alone take no weights from the caller: the client sends ones.
    const forward = wanted![3]!
    expect(forward.forwardOnly).toBe(true)
    expect(forward.data[0]!.inputs.weights!.data).toEqual(datum.weights)
    forward.data[0]!.inputs.weights!.data = new Float32Array(7).fill(1)
    for (const [i, message] of mine!.entries())
      expect(encoded(message), `request ${i}`).toEqual(encoded(wanted![i]!))
  })

  it('forward_backward: what is read and written again is what the SDK wrote', () => {
    for (const request of of(theirs, 'forward_backward')) {
      const sdk = Buffer.from(request.protobuf!).toString('hex')
      const bytes = encoded(messageOf(request), 'MODEL_ID-1')
      expect(sdk.slice(0, bytes.length)).toBe(bytes)
      // Later SDKs write the loss's settings a second time, as field 7, behind all others.
      const further = Buffer.from(sdk.slice(bytes.length), 'hex')
      if (further.length > 0) expect([messageOf(request).lossFn, further[0]! >> 3]).toEqual(['ppo', 7])
    }
  })

  it('resuming: the protocol of 0.25 in three requests, which 0.38 makes one', () => {
    const mine = [...bodiesOf(ours, 'weights_info'), ...bodiesOf(ours, 'load_weights')]
    const wanted = [...bodiesOf(theirs, 'weights_info'), ...bodiesOf(theirs, 'load_weights')]
    if (wanted.length === 2) return expect(mine).toEqual(wanted)
    const { model_id, seq_id, ...rest } = mine[1]!
    expect(wanted).toEqual([{ ...rest, session_id: '<session_id>', model_seq_id: 1 }])
    expect(seq_id).toBe(1)
  })

  it('headers: kinds of body, key, idempotency and what a poll is for', () => {
    const named = ['content-type', 'x-api-key', 'x-idempotency-key', 'x-tinker-sampling-backpressure']
    // The SDK gives every POST such a key; the client's polls, which change nothing, have none.
    for (const route of ['create_model', 'forward_backward', 'asample', 'retrieve_future'])
      for (const name of named.filter((name) => route !== 'retrieve_future' || !name.includes('idempotency')))
        expect(of(ours, route)[0]!.headers[name] !== undefined, `${name} of ${route}`).toBe(
          of(theirs, route)[0]!.headers[name] !== undefined,
        )
    const accepted = (requests: Request[]) =>
      new Set(
        of(requests, 'retrieve_future')
          .filter(({ headers }) => String(headers.accept).includes('application/x-protobuf'))
          .map(({ headers }) => headers['x-tinker-request-type']),
      )
    expect(accepted(ours)).toEqual(new Set(['ForwardBackward', 'Forward', 'Sample']))
    expect(accepted(theirs)).toEqual(new Set(['ForwardBackward', 'Forward', 'Sample']))
  })

  it('covers every route that the SDK used', () => {
    // What later SDKs ask of a model or sampler that they made is known here already.
    const extra = new Set(['get_info', 'samplers'])
    const used = new Set(theirs.map(routeOf).filter((route) => !extra.has(route)))
    expect(
      [...used].filter((route) => of(ours, route).length === 0),
      sdk,
    ).toEqual([])
  })
})

const routeOf = ({ path }: Request) => path.replace('/api/v1/', '').replace(/^samplers\/.*/, 'samplers')
const of = (requests: Request[], route: string) => requests.filter((request) => routeOf(request) === route)

/** Without ids, which every run has of its own, and without fields at their defaults. */
function bodiesOf(requests: Request[], route: string): Record<string, unknown>[] {
  return of(requests, route).map(({ json }) => {
    const body: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(json!)) {
      if (key === 'sdk_version') body[key] = '<version>'
      else if (JSON.stringify(defaults[route]?.[key]) === JSON.stringify(value)) continue
      else if (/^(.*_id|base_model|model_path|tinker_path)$/.test(key) && typeof value === 'string')
        body[key] = `<${key}>`
      else if (key === 'path' && /^(tinker:|PATH)/.test(String(value))) body[key] = '<path>'
      else body[key] = value
    }
    return body
  })
}

const messageOf = ({ protobuf }: Request) => decodeForwardBackwardRequest(protobuf!)

function encoded(message: ReturnType<typeof messageOf>, modelId = 'MODEL'): string {
  const data = message.data.map(({ tokens, inputs }) => ({ tokens, inputs: inOrder(inputs) }))
  const plain = { ...message, modelId, data, lossFnConfig: inOrder(message.lossFnConfig) }
  return Buffer.from(encodeForwardBackwardRequest(plain)).toString('hex')
}

const inOrder = <T>(map: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
