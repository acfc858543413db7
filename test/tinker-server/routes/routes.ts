/** The routes of the protocol proper, all of them POST below /api/v1. */
import { newJwt } from '../auth.js'
import { Crash } from '../errors.js'
import { type Future, outcomeOf } from '../futures.js'
import { parseJson, type Reply } from '../http.js'
import { fingerprintOf } from '../order.js'
import { createModel, load } from '../training.js'
import {
  bodyOf,
  type Context,
  type Handler,
  isNeverKept,
  madeBefore,
  neverKept,
  ok,
  promised,
} from './context.js'
import { creatingSamplingSession, retrieving, sampling } from './sampling.js'
import { loading, savedState, saving, stepping, train, weightsInfo } from './training.js'

/** Makes what a session numbers: once, where a retry is known by its number. */
function createdOnce(
  context: Context,
  kind: 'create_model' | 'load_weights',
  body: { session_id: string; model_seq_id?: number | null | undefined },
  make: () => { future: Future; said?: Record<string, unknown> },
): Reply {
  const { world, fault } = context
  if (isNeverKept(fault)) return neverKept(context, kind)
  const session = world.around.profile.dialect === 'hosted' ? world.session(body.session_id) : undefined
  const key = `model ${body.model_seq_id}`
  const fingerprint = fingerprintOf(body)
  const known = session?.created.get(key)
  if (madeBefore(known, fingerprint, 'model_seq_id')) {
    const future = world.futures.again(known.id, kind)
    known.id = future.id
    return promised(context, future)
  }
  const { future, said } = make()
  session?.created.set(key, { fingerprint, id: future.id })
  if (fault?.kind === 'lose') future.lost = true
  return promised(context, future, said)
}

function creatingModel(context: Context): Reply {
  const { world } = context
  const body = bodyOf(context, 'create_model')
  return createdOnce(context, 'create_model', body, () => {
    const { model, future } = createModel(world, body)
    if (world.around.profile.dialect !== 'skyrl') return { future }
    const { id, base } = model
    return {
      future,
      said: { model_id: id, base_model: base, lora_config: body.lora_config, status: 'created' },
    }
  })
}

/** `load_weights` of hosted that names no model: one is made from what was saved. */
function creatingFromWeights(context: Context): Reply {
  const { world } = context
  const body = bodyOf(context, 'load_as_model')
  return createdOnce(context, 'load_weights', body, () => {
    const checkpoint = savedState(world, body.path)
    const { base, adapter, trains } = checkpoint
    const request = { ...body, base_model: base, lora_config: { rank: adapter.rank, ...trains }, type: null }
    const { model } = createModel(world, request)
    const future = world.futures.create('load_weights', model.id)
    void world.work(async () => {
      const loaded = async () => {
        await load(world, model, checkpoint, body.optimizer)
        return { model_id: model.id, path: body.path, type: 'load_weights' }
      }
      world.futures.settle(future, await outcomeOf(loaded))
    })
    return { future }
  })
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
    const { sessions, around } = context.world
    if (around.profile.dialect === 'tuft' && !sessions.has(id)) throw new Crash(`Unknown session ${id}`)
    // Open-RL hears of any session.
    if (around.profile.dialect !== 'openrl') context.world.session(id).beatAt = Date.now()
    return ok({ type: 'session_heartbeat' })
  },
  create_model: creatingModel,
  get_info: info,
  unload_model: (context) => unloading(context, 'unload_model'),
  delete_model: (context) => unloading(context, 'delete_model'),
  forward_backward: (context) => train(context, 'forward_backward'),
  forward: (context) => train(context, 'forward'),
  optim_step: stepping,
  save_weights: (context) => saving(context, 'save_weights'),
  save_weights_for_sampler: (context) => saving(context, 'save_weights_for_sampler'),
  load_weights: (context) => {
    const asked = parseJson(context.raw) as { model_id?: unknown } | null
    const makes = context.world.around.profile.dialect === 'hosted' && asked?.model_id === undefined
    return makes ? creatingFromWeights(context) : loading(context)
  },
  weights_info: weightsInfo,
  create_sampling_session: creatingSamplingSession,
  asample: sampling,
  retrieve_future: retrieving,
}
