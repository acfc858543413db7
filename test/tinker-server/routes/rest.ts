/** The REST routes: what the server can do, its runs and checkpoints, and their archives. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { archiveOf, type Checkpoint, type CheckpointKind } from '../checkpoints.js'
import { Refusal } from '../errors.js'
import type { Reply } from '../http.js'
import type { Model, World } from '../world.js'
import type { Context, Handler } from './context.js'

const ok = (body: unknown): Reply => ({ status: 200, body })

async function capabilities({ world }: Context): Promise<Reply> {
  const { models, backend, profile } = world.around
  const names = Object.keys(models)
  const bare = { supported_models: names.map((model_name) => ({ model_name })) }
  if (profile.dialect === 'skyrl') return ok(bare)
  if (profile.dialect === 'openrl') return ok({ ...bare, default_model: names[0], single_process: true })
  const abilities =
    profile.dialect === 'tuft'
      ? { capabilities: ['training', 'sampling'] }
      : { trainable: true, sampleable: true }
  const supported = names.map(async (model_name) => {
    const { context } = await backend.shapeOf(model_name)
    return { model_name, max_context_length: context, ...abilities }
  })
  return ok({ supported_models: await Promise.all(supported) })
}

function runOf({ id, base, adapter, createdAt }: Model, world: World) {
  const last = (kind: CheckpointKind) => world.around.checkpoints.list(id).findLast((c) => c.kind === kind)
  const [training, sampler] = [last('weights'), last('sampler_weights')]
  return {
    training_run_id: id,
    base_model: base,
    model_owner: 'default',
    is_lora: true,
    corrupted: false,
    lora_rank: adapter.rank,
    last_request_time: createdAt,
    last_checkpoint: training ? described(training, world) : null,
    last_sampler_checkpoint: sampler ? described(sampler, world) : null,
    user_metadata: null,
  }
}

function described({ run, name, kind, time, path, public: shown, expires }: Checkpoint, world: World) {
  const bare = world.around.profile.dialect === 'skyrl'
  return {
    checkpoint_id: bare ? name : `${kind}/${name}`,
    checkpoint_type: kind === 'weights' ? 'training' : 'sampler',
    time,
    tinker_path: bare ? `tinker://${run}/${kind}/${name}` : path,
    ...(!bare && { public: shown, ...(expires !== undefined && { expires_at: expires }) }),
  }
}

function page<T>(items: T[], { query }: Context, most: number) {
  const limit = Number(query.get('limit') ?? most)
  const offset = Number(query.get('offset') ?? 0)
  return {
    items: items.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: items.length },
  }
}

function listed(context: Context, run?: string): Reply {
  const { world } = context
  if (run !== undefined && !world.models.has(run)) throw new Refusal(404, 'Model not found')
  const { items, cursor } = page(world.around.checkpoints.list(run), context, 100)
  return ok({ checkpoints: items.map((checkpoint) => described(checkpoint, world)), cursor })
}

/** `weights/name` or `sampler_weights/name`; a bare name where `bare` says what it is of. */
function namedCheckpoint({ world, params }: Context, bare?: CheckpointKind): Checkpoint {
  const [run, id] = params as [string, string]
  const [, kind, name] = /^(?:(weights|sampler_weights)\/)?([^/]+)$/.exec(id) ?? []
  const meant = (kind as CheckpointKind | undefined) ?? bare
  if (name === undefined || meant === undefined || (bare !== undefined && kind !== undefined))
    throw new Refusal(400, 'Invalid checkpoint identifier')
  const checkpoint = world.around.checkpoints.get(run, meant, name)
  if (!checkpoint) throw new Refusal(404, `Checkpoint not found: ${run}/${id}`)
  if (!checkpoint.ready) throw new Refusal(425, 'Checkpoint is still being created')
  return checkpoint
}

async function archive(context: Context): Promise<Reply> {
  const { world, origin, params, settings } = context
  const { dialect } = world.around.profile
  const checkpoint = namedCheckpoint(context, dialect === 'skyrl' ? 'sampler_weights' : undefined)
  const expires = new Date(Date.now() + 7200_000).toUTCString()
  const redirect = (url: string): Reply => ({ status: 302, headers: { location: url, expires } })
  const [run, id] = params.map(encodeURIComponent)
  if (dialect === 'skyrl') return redirect(`${origin}/api/v1/training_runs/${run}/checkpoints/${id}/download`)
  if (dialect === 'tuft') {
    const path = join(checkpoint.folder, 'archive.tar.gz')
    await writeFile(path, await archiveOf(checkpoint))
    return redirect(pathToFileURL(path).href)
  }
  const url = `${origin}/api/v1/signed/${run}/${checkpoint.kind}/${encodeURIComponent(checkpoint.name)}`
  return settings.archive === 'json' ? ok({ url, expires }) : redirect(url)
}

async function archiveBytes(checkpoint: Checkpoint): Promise<Reply> {
  return {
    status: 200,
    headers: { 'content-type': 'application/octet-stream' },
    body: await archiveOf(checkpoint),
  }
}

function sampler({ world, params }: Context): Reply {
  const session = world.samplers.get(params[0]!)
  if (!session) throw new Refusal(404, 'Sampler not found')
  return ok({ sampler_id: session.id, base_model: session.source.base, model_path: session.path ?? null })
}

function sessionOverview({ world, params }: Context): Reply {
  const { id } = world.session(params[0]!)
  const runs = [...world.models.values()].filter(({ session }) => session === id)
  return ok({ training_run_ids: runs.map((model) => model.id), sampler_ids: [] })
}

export interface RestRoute {
  method: string
  path: RegExp
  /** Name for faults and for what a dialect lacks. */
  name: string
  handle: Handler
}

const run = '([^/]+)'
const checkpointId = '((?:weights/|sampler_weights/)?[^/]+)'
const at = (method: string, path: string, name: string, handle: Handler): RestRoute => ({
  method,
  path: new RegExp(`^${path}$`),
  name,
  handle,
})
const ofRun = `training_runs/${run}/checkpoints`

/** What a server says of itself below its address, as FastAPI does; hosted has nothing there. */
export const describing: RestRoute = at('GET', '', 'openapi', ({ world }) => {
  const { title, missing } = world.around.profile
  if (title === undefined) throw new Refusal(404, 'Not Found')
  const paths = ['create_model', 'forward_backward', 'forward'].filter((path) => !missing.has(path))
  return ok({
    openapi: '3.1.0',
    info: { title, version: '0.0.1' },
    paths: Object.fromEntries(paths.map((path) => [`/api/v1/${path}`, { post: {} }])),
  })
})

export const restRoutes: RestRoute[] = [
  at('GET', 'healthz', 'healthz', () => ok({ status: 'ok' })),
  at('GET', 'get_server_capabilities', 'get_server_capabilities', capabilities),
  at('GET', `samplers/${run}`, 'sampler', sampler),
  at('GET', 'training_runs', 'training_runs', (context) => {
    const { world } = context
    const { items, cursor } = page([...world.models.values()], context, 20)
    return ok({ training_runs: items.map((model) => runOf(model, world)), cursor })
  }),
  at('GET', `training_runs/${run}`, 'training_run', ({ world, params }) => {
    const model = world.models.get(params[0]!)
    if (!model) throw new Refusal(404, 'Model not found')
    return ok(runOf(model, world))
  }),
  at('GET', ofRun, 'run_checkpoints', (context) => listed(context, context.params[0])),
  at('GET', `models/${run}/checkpoints`, 'models_checkpoints', (context) =>
    listed(context, context.params[0]),
  ),
  at('GET', 'checkpoints', 'checkpoints', (context) => listed(context)),
  at('GET', `${ofRun}/${checkpointId}/archive`, 'archive', archive),
  at('GET', `${ofRun}/${run}/download`, 'download', (context) =>
    archiveBytes(namedCheckpoint(context, 'sampler_weights')),
  ),
  at('GET', `signed/${run}/(sampler_weights/[^/]+|weights/[^/]+)`, 'signed', (context) =>
    archiveBytes(namedCheckpoint(context)),
  ),
  at('DELETE', `${ofRun}/${checkpointId}`, 'delete_checkpoint', async (context) => {
    await context.world.around.checkpoints.delete(namedCheckpoint(context))
    return { status: 204 }
  }),
  at('POST', `${ofRun}/${checkpointId}/publish`, 'publish', (context) => {
    namedCheckpoint(context).public = true
    return { status: 204 }
  }),
  at('DELETE', `${ofRun}/${checkpointId}/publish`, 'publish', (context) => {
    namedCheckpoint(context).public = false
    return { status: 204 }
  }),
  at('PUT', `${ofRun}/${checkpointId}/ttl`, 'ttl', (context) => {
    const { ttl_seconds: ttl } = context.requests.read('ttl', JSON.parse(context.raw.toString('utf8')))
    const checkpoint = namedCheckpoint(context)
    if (ttl === null) delete checkpoint.expires
    else checkpoint.expires = new Date(Date.now() + 1000 * ttl).toISOString()
    return { status: 204 }
  }),
  at('GET', 'sessions', 'sessions', ({ world }) => ok({ sessions: [...world.sessions.keys()] })),
  at('GET', `sessions/${run}`, 'session', sessionOverview),
]
