/** Routes of training and of saved weights. */
import {
  decodeForwardBackwardRequest,
  type ForwardBackwardRequest,
  type Tensor,
  type WireDatum,
} from '../../../src/tinker/wire.js'
import type { Checkpoint, CheckpointKind } from '../checkpoints.js'
import type { TrainingKind } from '../dialects.js'
import { OperationError, Refusal } from '../errors.js'
import type { Future } from '../futures.js'
import { decompressed, isProtobuf, type Reply } from '../http.js'
import { type Batch, checkLoss } from '../losses.js'
import type { Body } from '../requests.js'
import { openSamplingSession, snapshotSource } from '../sampling.js'
import { forwardBackward, load, optimStep, save } from '../training.js'
import type { Model, World } from '../world.js'
import { bodyOf, type Context, isNeverKept, neverKept, ok, promised } from './context.js'

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

export function train(context: Context, route: 'forward_backward' | 'forward'): Reply {
  const { world } = context
  const { profile } = world.around
  const asked = readBatch(context, route)
  const batch: Batch = { data: asked.data, lossFn: asked.lossFn, config: asked.lossFnConfig }
  if (profile.strictFields && asked.seqId < (profile.dialect === 'hosted' ? 1 : 0))
    throw new Refusal(422, 'seq_id is missing')
  checkLoss(profile.losses, batch)
  const kind = asked.forwardOnly ? 'forward' : 'forward_backward'
  if (asked.data.length === 0 && profile.nothing === 'hangs')
    return promised(context, world.futures.create(kind, world.model(asked.modelId).id))
  const seq = asked.seqId < 0 ? undefined : asked.seqId
  return training(
    context,
    kind,
    { model_id: asked.modelId, seq_id: seq },
    batch,
    (model) => () => forwardBackward(world, model, batch, asked.forwardOnly),
  )
}

export function saving(context: Context, route: 'save_weights' | 'save_weights_for_sampler'): Reply {
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
      const of = { session: model.session, number: sessionSeq! }
      const source = await snapshotSource(world, model, checkpoint)
      const session = openSamplingSession(world, source, of, { ephemeral: true })
      return { path: null, sampling_session_id: session.id, type: route }
    }
  })
}

/** What can be loaded into a model. Throws a Refusal. */
export function savedState(world: World, path: string): Checkpoint {
  const checkpoint = world.around.checkpoints.find(path)
  if (checkpoint && !checkpoint.ready) throw new Refusal(425, 'Checkpoint is still being created')
  if (!checkpoint) throw new Refusal(404, `Checkpoint not found: ${path}`)
  if (checkpoint.kind !== 'weights')
    throw new Refusal(400, 'request.path must be in format tinker://source_model_id/weights/checkpoint_id')
  return checkpoint
}

export function loading(context: Context): Reply {
  const { world } = context
  const { profile } = world.around
  const body = bodyOf(context, 'load_weights')
  return training(context, 'load_weights', body, body, (model) => {
    if (profile.loadFirstOnly && (body.seq_id !== 1 || model.taken > 0))
      throw new Refusal(400, `LoadWeights is not permitted with seq_id ${body.seq_id}`)
    const checkpoint = savedState(world, body.path)
    return async () => {
      await load(world, model, checkpoint, body.optimizer)
      return { path: body.path, type: 'load_weights' }
    }
  })
}

export function stepping(context: Context): Reply {
  const body = bodyOf(context, 'optim_step')
  return training(
    context,
    'optim_step',
    body,
    body,
    (model) => (future) => optimStep(context.world, model, body, future.id),
  )
}

export function weightsInfo(context: Context): Reply {
  const { world } = context
  const { tinker_path: path } = bodyOf(context, 'weights_info')
  const checkpoint = world.around.checkpoints.find(path)
  if (world.around.profile.dialect === 'skyrl' && !/^tinker:\/\/[^/]+\/weights\/[^/]+$/.test(path))
    throw new Refusal(400, 'Invalid tinker path format. Expected: tinker://model_id/weights/checkpoint_id')
  if (!checkpoint?.ready) throw new Refusal(404, `Checkpoint not found: ${path}`)
  const known = world.around.profile.dialect === 'skyrl' ? {} : checkpoint.trains
  return ok({ base_model: checkpoint.base, is_lora: true, lora_rank: checkpoint.adapter.rank, ...known })
}
