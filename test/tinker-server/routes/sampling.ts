/** Routes of sampling and of promises. */
import { OperationError, Refusal } from '../errors.js'
import type { Future } from '../futures.js'
import { isProtobuf, type Reply } from '../http.js'
import { fingerprintOf, remember } from '../order.js'
import { answerOf } from '../results.js'
import { mannerOf, openSamplingSession, sourceOf } from '../sampling.js'
import { bodyOf, type Context, isNeverKept, madeBefore, neverKept, promised } from './context.js'

/** SDK 0.38 counts on hosted naming the samples in advance. */
function promisedSamples(context: Context, future: Future, n: number): Reply {
  if (context.world.around.profile.dialect !== 'hosted') return promised(context, future)
  const ids = Array.from({ length: n }, (_, index) => `${future.id}:${index}`)
  return promised(context, future, { sample_sequence_ids: ids })
}

export function sampling(context: Context): Reply {
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

export async function retrieving({
  world,
  settings,
  signal,
  request,
  fault,
  ...context
}: Context): Promise<Reply> {
  const { profile } = world.around
  const body = bodyOf({ world, settings, signal, request, fault, ...context }, 'retrieve_future')
  const future = world.futures.get(body.request_id)
  if (!future && profile.dialect === 'openrl')
    return { status: 400, body: { type: 'RequestFailedResponse', error_message: 'Future not found' } }
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

export function creatingSamplingSession(context: Context): Reply {
  const { world } = context
  const { profile } = world.around
  const body = bodyOf(context, 'create_sampling_session')
  const session = profile.dialect === 'openrl' ? undefined : world.session(body.session_id)
  const key = `sampling ${body.sampling_session_seq_id}`
  const fingerprint = fingerprintOf(body)
  const known = profile.dialect === 'hosted' ? session?.created.get(key) : undefined
  const of = { session: body.session_id, number: body.sampling_session_seq_id }
  const id = madeBefore(known, fingerprint, 'sampling_session_seq_id')
    ? known.id
    : openSamplingSession(world, sourceOf(world, body), of, { path: body.model_path ?? undefined }).id
  session?.created.set(key, { fingerprint, id })
  return { status: profile.sessionStatus, body: { type: 'create_sampling_session', sampling_session_id: id } }
}
