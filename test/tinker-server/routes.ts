/** The routes of the protocol proper, all of them POST below /api/v1. */
import type { IncomingMessage } from 'node:http'
import {
  decodeForwardBackwardRequest,
  type ForwardBackwardRequest,
  type Tensor,
  type WireDatum,
} from '../../src/tinker/wire.js'
import { newJwt } from './auth.js'
import type { CheckpointKind } from './checkpoints.js'
import type { TrainingKind } from './dialects.js'
import { OperationError, Refusal } from './errors.js'
import type { Misfortune } from './faults.js'
import type { Future } from './futures.js'
import { decompressed, isProtobuf, parseJson, type Reply } from './http.js'
import { type Batch, checkLoss } from './losses.js'
import { fingerprintOf, type Known, remember } from './order.js'
import type { Body, Requests, Schemas } from './requests.js'
import { answerOf } from './results.js'
import { mannerOf, openSamplingSession, snapshotSource, sourceOf } from './sampling.js'
import { createModel, forwardBackward, load, optimStep, save } from './training.js'
import type { Model, World } from './world.js'

export interface Settings {
  /** Flags of `/client/config`. */
  flags: Record<string, unknown>
  keys: string[]
  /** Keys are exchanged for a token before anything else. */
  jwt: boolean
  jwtMs: number
  holdMs: number
  bigBytes: number
  /** `json`: an archive's address is told in the body instead of by a redirection. */
  archive: 'redirect' | 'json'
}

export interface Context {
  world: World
  settings: Settings
  requests: Requests
  request: IncomingMessage
  raw: Buffer
  /** Fires when the client is gone. */
  signal: AbortSignal
  fault: Misfortune | undefined
  /** Where this server is reached, with its base path. */
  origin: string
  /** Captures of a REST route. */
  params: string[]
  query: URLSearchParams
}

export type Handler = (context: Context) => Reply | Promise<Reply>

function bodyOf<R extends keyof Schemas>({ requests, request, raw }: Context, route: R): Body<R> {
  if (request.headers['content-encoding']) throw new Refusal(415, 'Unsupported content encoding')
  if (!/json/.test(request.headers['content-type'] ?? ''))
    throw new Refusal(422, [{ type: 'model_attributes_type', loc: ['body'], msg: 'A JSON body is needed' }])
  return requests.read(route, parseJson(raw))
}

const ok = (body: unknown): Reply => ({ status: 200, body })

function promised({ world }: Context, future: Future, extra: Record<string, unknown> = {}): Reply {
  const { dialect, futureStatus } = world.around.profile
  const row = dialect === 'skyrl' ? { future_id: future.id, status: 'pending' } : {}
  const model = dialect === 'skyrl' || future.modelId === undefined ? {} : { model_id: future.modelId }
  return { status: futureStatus, body: { request_id: future.id, ...model, ...row, ...extra } }
}

/** A promise that is lost before anything came of it. */
function neverKept(context: Context, kind: string, model?: string): Reply {
  const future = context.world.futures.create(kind, model)
  future.lost = true
  return promised(context, future)
}

function isNeverKept(fault: Misfortune | undefined): boolean {
  return fault?.kind === 'lose' && !fault.applied
}

/** Promises an operation of a model in its order. */
function training(
  context: Context,
  kind: TrainingKind,
  body: { model_id: string; seq_id?: number | null | undefined },
  payload: unknown,
  make: (model: Model) => (future: Future) => Promise<unknown>,
): Reply {
  const { world, fault } = context
  const model = world.model(body.model_id)
  if (isNeverKept(fault)) return neverKept(context, kind, model.id)
  const future = model.line.submit(kind, body.seq_id ?? undefined, payload, () => {
    const run = make(model)
    model.taken++
    const future = world.futures.create(kind, model.id)
    const fail = async () => {
      throw new OperationError(
        (fault as { message: string }).message,
        (fault as { category?: 'user' }).category,
      )
    }
    return { future, run: fault?.kind === 'fail' ? fail : () => run(future) }
  })
  if (fault?.kind === 'lose') future.lost = true
  return promised(context, future)
}

/** The batch of a request in either encoding. */
function readBatch(context: Context, route: 'forward_backward' | 'forward'): ForwardBackwardRequest {
  const { world, request, raw, settings } = context
  const { profile } = world.around
  const protobuf = isProtobuf(request.headers['content-type'])
  if (!protobuf) {
    if (!profile.json) throw new Refusal(415, 'forward_backward takes application/x-protobuf')
    const body = bodyOf(context, route)
    const input = 'forward_input' in body ? body.forward_input : body.forward_backward_input
    return {
      modelId: body.model_id,
      seqId: body.seq_id ?? -1,
      data: input.data.map(datumOf),
      lossFn: input.loss_fn,
      lossFnConfig: input.loss_fn_config ?? {},
      forwardOnly: route === 'forward',
    }
  }
  if (route === 'forward') throw new Refusal(415, 'forward takes JSON')
  const zstd =
    profile.zstd === 'yes' || (profile.zstd === 'flag' && settings.flags.proto_compress_fwdbwd === true)
  const bytes = decompressed(raw, request, zstd, profile.bodyLimit)
  if (bytes.length > profile.bodyLimit) throw new Refusal(413, 'forward_backward body is too large')
  try {
    return decodeForwardBackwardRequest(bytes)
  } catch (error) {
    throw new Refusal(422, `Invalid proto forward_backward body: ${(error as Error).message}`)
  }
}

function datumOf(datum: Body<'forward_backward'>['forward_backward_input']['data'][number]): WireDatum {
  const inputs = Object.entries(datum.loss_fn_inputs).map(
    ([name, { data, dtype, shape }]): [string, Tensor] => {
      const values = data.map((value) => value ?? Number.NaN)
      const form = shape ? { shape } : {}
      const integer = dtype === 'int64' || (dtype == null && name === 'target_tokens')
      return integer
        ? [name, { dtype: 'int64', data: Int32Array.from(values), ...form }]
        : [name, { dtype: 'float32', data: Float32Array.from(values), ...form }]
    },
  )
  return {
    tokens: Int32Array.from(datum.model_input.chunks.flatMap(({ tokens }) => tokens)),
    inputs: Object.fromEntries(inputs),
  }
}

function train(context: Context, route: 'forward_backward' | 'forward'): Reply {
  const { world } = context
  const { profile } = world.around
  const asked = readBatch(context, route)
  const batch: Batch = { data: asked.data, lossFn: asked.lossFn, config: asked.lossFnConfig }
  if (profile.strictFields && asked.seqId < (profile.dialect === 'hosted' ? 1 : 0))
    throw new Refusal(422, 'seq_id is missing')
  checkLoss(profile.losses, batch)
  const kind = asked.forwardOnly ? 'forward' : 'forward_backward'
  const seq = asked.seqId < 0 ? undefined : asked.seqId
  return training(
    context,
    kind,
    { model_id: asked.modelId, seq_id: seq },
    batch,
    (model) => () => forwardBackward(world, model, batch, asked.forwardOnly),
  )
}

function saving(context: Context, route: 'save_weights' | 'save_weights_for_sampler'): Reply {
  const { world } = context
  const { checkpoints, profile } = world.around
  const body = bodyOf(context, route)
  const { path: name, ttl_seconds: ttl, seq_id: seq } = body
  const sessionSeq = 'sampling_session_seq_id' in body ? body.sampling_session_seq_id : undefined
  const overwrite = 'overwrite' in body && body.overwrite === true
  const kind: CheckpointKind = route === 'save_weights' ? 'weights' : 'sampler_weights'
  const ephemeral = kind === 'sampler_weights' && name == null && sessionSeq != null
  if (
    kind === 'sampler_weights' &&
    name == null &&
    !ephemeral &&
    ['skyrl', 'hosted'].includes(profile.dialect)
  )
    throw new Refusal(422, "Either 'path' or 'sampling_session_seq_id' must be given")
  return training(context, route, body, body, (model) => {
    const about = { run: model.id, kind, base: model.base, adapter: model.adapter, trains: model.trains }
    // SkyRL keeps ephemeral snapshots as checkpoints of a name that it makes up.
    const given = ephemeral ? `ss${sessionSeq}_seq${seq}` : (name ?? undefined)
    const written = !ephemeral || profile.sampler === 'slot'
    const checkpoint = written ? checkpoints.reserve(about, given, { ttl }) : undefined
    return async () => {
      if (checkpoint) await save(world, model, checkpoint, overwrite)
      if (!ephemeral) return { path: checkpoint!.path, type: route }
      const source = await snapshotSource(world, model, checkpoint)
      const session = openSamplingSession(world, source, { ephemeral: true })
      return { path: null, sampling_session_id: session.id, type: route }
    }
  })
}

function loading(context: Context): Reply {
  const { world } = context
  const { profile, checkpoints } = world.around
  const body = bodyOf(context, 'load_weights')
  return training(context, 'load_weights', body, body, (model) => {
    if (profile.loadFirstOnly && (body.seq_id !== 1 || model.taken > 0))
      throw new Refusal(400, `LoadWeights is not permitted with seq_id ${body.seq_id}`)
    const checkpoint = checkpoints.find(body.path)
    if (checkpoint && !checkpoint.ready) throw new Refusal(425, 'Checkpoint is still being created')
    if (!checkpoint) throw new Refusal(404, `Checkpoint not found: ${body.path}`)
    if (checkpoint.kind !== 'weights')
      throw new Refusal(400, 'request.path must be in format tinker://source_model_id/weights/checkpoint_id')
    return async () => {
      await load(world, model, checkpoint, body.optimizer)
      return { path: body.path, type: 'load_weights' }
    }
  })
}

/** A promise that was made under this number before; throws a Refusal where it was for something else. */
function madeBefore(known: Known | undefined, fingerprint: string, what: string): known is Known {
  if (known && known.fingerprint !== fingerprint)
    throw new Refusal(400, `${what} was used for another request`)
  return known !== undefined
}

/** SDK 0.38 counts on hosted naming the samples in advance. */
function promisedSamples(context: Context, future: Future, n: number): Reply {
  if (context.world.around.profile.dialect !== 'hosted') return promised(context, future)
  const ids = Array.from({ length: n }, (_, index) => `${future.id}:${index}`)
  return promised(context, future, { sample_sequence_ids: ids })
}

function sampling(context: Context): Reply {
  const { world, fault } = context
  const { profile, sampleLimit } = world.around
  const body = bodyOf(context, 'asample')
  const id = body.sampling_session_id ?? undefined
  if (profile.dialect === 'skyrl' && id?.includes(':'))
    throw new Refusal(400, "sampling_session_id must not contain ':' (the routing-key delimiter)")
  const session = id === undefined ? undefined : world.samplers.get(id)
  if (id !== undefined && !session) throw new Refusal(404, 'Sampling session not found')
  if (session && body.seq_id == null && profile.dialect !== 'openrl')
    throw new Refusal(422, "'seq_id' must be provided when 'sampling_session_id' is used")
  const source = session?.source ?? sourceOf(world, body)
  if (source.kind === 'slot') {
    world.model(source.model.id)
    if (!source.checkpoint.ready) throw new Refusal(425, 'Checkpoint is still being created')
  }
  const manner = mannerOf(world, body.sampling_params)
  const bears = context.request.headers['x-tinker-sampling-backpressure'] === '1'
  if (bears && world.queue.open >= sampleLimit) throw new Refusal(429, 'Too many samples in flight')
  const remembers = profile.dialect === 'hosted' && session && body.seq_id != null
  const fingerprint = remembers ? fingerprintOf(body) : ''
  const known = remembers ? session.known.get(body.seq_id!) : undefined
  if (madeBefore(known, fingerprint, 'seq_id')) {
    const future = world.futures.again(known.id, 'sample')
    known.id = future.id
    return promisedSamples(context, future, body.num_samples)
  }
  if (isNeverKept(fault)) return neverKept(context, 'sample')
  const future = world.futures.create('sample')
  if (remembers) remember(session.known, body.seq_id!, { fingerprint, id: future.id })
  if (fault?.kind === 'fail')
    world.futures.settle(future, { error: new OperationError(fault.message, fault.category) })
  else world.queue.add({ body, manner, source, future })
  if (fault?.kind === 'lose') future.lost = true
  return promisedSamples(context, future, body.num_samples)
}

async function retrieving({ world, settings, signal, request, fault, ...context }: Context): Promise<Reply> {
  const { profile } = world.around
  const body = bodyOf({ world, settings, signal, request, fault, ...context }, 'retrieve_future')
  const future = world.futures.get(body.request_id)
  if (!future) throw new Refusal(profile.unknownFuture, 'Future not found')
  if (!future.lost) await world.futures.wait(future, settings.holdMs, signal)
  const reply = answerOf(profile, future, {
    protobuf: isProtobuf(request.headers.accept),
    metadataOnly: body.allow_metadata_only === true && profile.dialect === 'hosted',
    bigBytes: settings.bigBytes,
    queue: world.paused,
    fault,
  })
  if (future.outcome && !signal.aborted) world.futures.delivered(future)
  return reply
}

function creatingModel(context: Context): Reply {
  const { world, fault } = context
  const { dialect } = world.around.profile
  const body = bodyOf(context, 'create_model')
  if (isNeverKept(fault)) return neverKept(context, 'create_model')
  const session = dialect === 'hosted' ? world.session(body.session_id) : undefined
  const key = `model ${body.model_seq_id}`
  const fingerprint = fingerprintOf(body)
  const known = session?.created.get(key)
  if (madeBefore(known, fingerprint, 'model_seq_id')) {
    const future = world.futures.again(known.id, 'create_model')
    known.id = future.id
    return promised(context, future)
  }
  const { model, future } = createModel(world, body)
  session?.created.set(key, { fingerprint, id: future.id })
  if (fault?.kind === 'lose') future.lost = true
  if (dialect !== 'skyrl') return promised(context, future)
  const said = {
    model_id: model.id,
    base_model: model.base,
    lora_config: body.lora_config,
    status: 'created',
  }
  return promised(context, future, said)
}

function unloading(context: Context, route: 'unload_model' | 'delete_model'): Reply {
  const { world } = context
  const { model_id: id } = bodyOf(context, route)
  const model = world.model(id)
  const future = world.futures.create(route, id)
  void world.work(async () => {
    await model.creation
    await world.unload(model)
    world.futures.settle(future, { value: { model_id: id, type: 'unload_model' } })
  })
  return promised(context, future)
}

function creatingSession(context: Context): Reply {
  const { world } = context
  const body = bodyOf(context, 'create_session')
  const id = world.newId('session')
  const createdAt = new Date().toISOString()
  world.sessions.set(id, {
    id,
    tags: body.tags,
    metadata: body.user_metadata ?? {},
    beatAt: Date.now(),
    createdAt,
    created: new Map(),
  })
  return {
    status: world.around.profile.sessionStatus,
    body: {
      type: 'create_session',
      session_id: id,
      info_message: null,
      warning_message: null,
      error_message: null,
    },
  }
}

function creatingSamplingSession(context: Context): Reply {
  const { world } = context
  const { profile } = world.around
  const body = bodyOf(context, 'create_sampling_session')
  const session = profile.dialect === 'openrl' ? undefined : world.session(body.session_id)
  const key = `sampling ${body.sampling_session_seq_id}`
  const fingerprint = fingerprintOf(body)
  const known = profile.dialect === 'hosted' ? session?.created.get(key) : undefined
  const id = madeBefore(known, fingerprint, 'sampling_session_seq_id')
    ? known.id
    : openSamplingSession(world, sourceOf(world, body), { path: body.model_path ?? undefined }).id
  session?.created.set(key, { fingerprint, id })
  return { status: profile.sessionStatus, body: { type: 'create_sampling_session', sampling_session_id: id } }
}

function info(context: Context): Reply {
  const { world } = context
  const { id, base, adapter, status } = world.model(bodyOf(context, 'get_info').model_id)
  const { rank } = adapter
  if (world.around.profile.dialect === 'skyrl')
    return ok({
      model_id: id,
      status,
      model_data: { base_model: base, lora_config: { rank }, model_name: base },
    })
  return ok({
    type: 'get_info',
    model_id: id,
    model_data: { arch: 'unknown', model_name: base, tokenizer_id: base },
    is_lora: true,
    lora_rank: rank,
    model_name: base,
  })
}

function weightsInfo(context: Context): Reply {
  const { world } = context
  const { tinker_path: path } = bodyOf(context, 'weights_info')
  const checkpoint = world.around.checkpoints.find(path)
  if (world.around.profile.dialect === 'skyrl' && !/^tinker:\/\/[^/]+\/weights\/[^/]+$/.test(path))
    throw new Refusal(400, 'Invalid tinker path format. Expected: tinker://model_id/weights/checkpoint_id')
  if (!checkpoint?.ready) throw new Refusal(404, `Checkpoint not found: ${path}`)
  const known = world.around.profile.dialect === 'skyrl' ? {} : checkpoint.trains
  return ok({ base_model: checkpoint.base, is_lora: true, lora_rank: checkpoint.adapter.rank, ...known })
}

export const routes: Record<string, Handler> = {
  'client/config': (context) => {
    bodyOf(context, 'client/config')
    return ok(context.settings.flags)
  },
  'client/dynamic_config': () => ok({ refresh_interval_sec: 300 }),
  'auth/token': (context) => {
    bodyOf(context, 'auth/token')
    return ok({ jwt: newJwt(context.settings.jwtMs) })
  },
  telemetry: () => ok({ status: 'accepted' }),
  create_session: creatingSession,
  session_heartbeat: (context) => {
    const { session_id: id } = bodyOf(context, 'session_heartbeat')
    context.world.session(id).beatAt = Date.now()
    return ok({ type: 'session_heartbeat' })
  },
  create_model: creatingModel,
  get_info: info,
  unload_model: (context) => unloading(context, 'unload_model'),
  delete_model: (context) => unloading(context, 'delete_model'),
  forward_backward: (context) => train(context, 'forward_backward'),
  forward: (context) => train(context, 'forward'),
  optim_step: (context) => {
    const body = bodyOf(context, 'optim_step')
    return training(
      context,
      'optim_step',
      body,
      body,
      (model) => (future) => optimStep(context.world, model, body, future.id),
    )
  },
  save_weights: (context) => saving(context, 'save_weights'),
  save_weights_for_sampler: (context) => saving(context, 'save_weights_for_sampler'),
  load_weights: loading,
  weights_info: weightsInfo,
  create_sampling_session: creatingSamplingSession,
  asample: sampling,
  retrieve_future: retrieving,
}
