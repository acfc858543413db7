/** A server that lives, dies and comes back on the same port. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { authorise } from './auth.js'
import { Checkpoints } from './checkpoints.js'
import { type Dialect, type Profile, profiles, sessionTimeoutMs } from './dialects.js'
import { Crash, Refusal } from './errors.js'
import { type Fault, Faults, type Misfortune } from './faults.js'
import { hangUpInBody, isOver, type Reply, readBytes, send, sendCrash, sendHalf, sendPage } from './http.js'
import { type Logged, RequestLog } from './log.js'
import { Requests } from './requests.js'
import type { Context, Settings } from './routes/context.js'
import { describing, type RestRoute, restRoutes } from './routes/rest.js'
import { routes } from './routes/routes.js'
import { SampleQueue } from './sampling.js'
import { type Script, type ScriptedBackend, scriptedBackend } from './scripted.js'
import { type Backend, openEngineBackend } from './weights.js'
import { type AppliedStep, type Surroundings, World } from './world.js'

export interface TinkerServerOptions {
  dialect: Dialect
  /** Folders in Hugging Face form by the names that requests call them; SkyRL and Open-RL serve a single one. */
  models: Record<string, string>
  /** Made-up weights that only take their time, instead of real ones. */
  scripted?: Script
  /** Threads of the engine behind it. @default 2 */
  threads?: number
  /** @default a free one */
  port?: number
  /** Path below which everything lies, such as `/services/tinker-prod`. */
  base?: string
  /** Keys of those who may ask. @default ['tml-test'] */
  keys?: string[]
  /** Keys are exchanged for a token that lives so long. */
  jwtMs?: number
  /** Longest wait of `retrieve_future`. @default the dialect's */
  holdMs?: number
  /** Each answer comes so much later. @default 0 */
  latencyMs?: number
  /** Time in which samples are gathered for a batch. @default 2, SkyRL 20 */
  gatherMs?: number
  /** Adapters that have room at once. @default SkyRL 31, others without end */
  slots?: number
  /** @default the dialect's */
  maxRank?: number
  /** @default SkyRL 300,000, others without end */
  sessionTimeoutMs?: number
  /** Flags of `/client/config` beside the dialect's; Open-RL has that route only where they are given. */
  flags?: Record<string, unknown>
  /** Bytes above which a result is announced by its size. @default 1 MiB */
  bigBytes?: number
  /** Samples in flight above which `asample` answers 429 to clients that say they can bear it. */
  sampleLimit?: number
  /** Delivered results that stay retrievable. @default the dialect's */
  keptResults?: number
  /** Ephemeral sampling sessions that are kept, the newest. @default all */
  samplerLimit?: number
  archive?: 'redirect' | 'json'
  /** Requests that are remembered. @default 1000 */
  logLimit?: number
}

/** The route of a request; `name` is its path where there is none. */
interface Found {
  name: string
  rest?: RestRoute
  params: string[]
  query: URLSearchParams
}

export class TinkerServer {
  readonly faults = new Faults()
  /** Every optimizer step that was really taken, over all lives of the server. */
  readonly applied: AppliedStep[] = []
  readonly log: RequestLog
  readonly profile: Profile
  readonly #requests: Requests
  readonly #settings: Settings
  readonly #around: Surroundings
  #world: World
  #http: Server | undefined
  #port: number
  #halting: Promise<void> = Promise.resolve()
  #expiry: NodeJS.Timeout | undefined
  #comesBack: NodeJS.Timeout | undefined
  /** Counts lives: what was begun in an earlier one is not answered in this. */
  #life = 0

  constructor(
    private readonly options: TinkerServerOptions,
    backend: Backend,
    private readonly root: string,
  ) {
    const { dialect } = options
    this.profile = profiles[dialect]
    this.log = new RequestLog(options.logLimit ?? 1000)
    this.#port = options.port ?? 0
    this.#requests = new Requests(this.profile)
    this.#settings = {
      flags: { ...flagsOf(dialect), pjwt_auth_enabled: options.jwtMs !== undefined, ...options.flags },
      keys: options.keys ?? ['tml-test'],
      jwt: options.jwtMs !== undefined,
      jwtMs: options.jwtMs ?? 0,
      holdMs: options.holdMs ?? this.profile.holdMs,
      bigBytes: options.bigBytes ?? 2 ** 20,
      archive: options.archive ?? 'redirect',
    }
    const isSlot = this.profile.sampler === 'slot'
    this.#around = {
      profile: this.profile,
      backend,
      checkpoints: new Checkpoints(this.profile, root),
      applied: this.applied,
      models: options.models,
      slots: options.slots ?? (isSlot ? 31 : Number.POSITIVE_INFINITY),
      maxRank: options.maxRank ?? this.profile.maxRank,
      sessionTimeoutMs: options.sessionTimeoutMs ?? sessionTimeoutMs[dialect],
      gatherMs: options.gatherMs ?? (isSlot ? 20 : 2),
      sampleLimit: options.sampleLimit ?? Number.POSITIVE_INFINITY,
      keptResults: options.keptResults ?? this.profile.keptResults,
      samplerLimit: options.samplerLimit ?? Number.POSITIVE_INFINITY,
    }
    this.#world = this.#newWorld()
  }

  /** Address without /api/v1. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.options.base ?? ''}`
  }

  get alive(): boolean {
    return this.#http !== undefined
  }

  /** Milliseconds that made-up weights were at work. */
  get busyMs(): number {
    return (this.#around.backend as Partial<ScriptedBackend>).busyMs ?? 0
  }

  /** What is held at the moment, to see whether anything leaks. */
  get held(): { models: number; samplers: number; pending: number; samples: number } {
    const { models, samplers, futures, queue } = this.#world
    return {
      models: [...models.values()].filter(({ status }) => status !== 'unloaded').length,
      samplers: samplers.size,
      pending: futures.pending,
      samples: queue.open,
    }
  }

  /** Optimizer steps really taken, of a model or of all. */
  steps(model?: string): number {
    return this.applied.filter((step) => model === undefined || step.model === model).length
  }

  fault(fault: Fault): void {
    this.faults.add(fault)
  }

  /** Carries nothing out until `proceed`; who waits is told the state of the queue. */
  pause(state: 'active' | 'paused_capacity' | 'paused_rate_limit', reason?: string): void {
    this.#world.paused = { state, ...(reason !== undefined && { reason }) }
  }

  proceed(): void {
    this.#world.paused = undefined
    this.#world.resume()
  }

  async listen(): Promise<void> {
    const http = createServer((request, response) => {
      request.on('error', () => {})
      response.on('error', () => {})
      this.#serve(request, response).catch((error) => {
        process.emitWarning(error as Error)
        response.destroy()
      })
    })
    http.keepAliveTimeout = 65_000
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#port = (http.address() as AddressInfo).port
    this.#http = http
    const { sessionTimeoutMs: timeout } = this.#around
    if (Number.isFinite(timeout)) {
      const every = Math.min(60_000, Math.max(10, timeout / 5))
      this.#expiry = setInterval(() => void this.#world.work(() => this.#world.expire()), every).unref()
    }
  }

  /** Dies at once: connections break, and what was not begun is not begun. What had begun ends before the death. */
  kill(): void {
    this.#life++
    clearInterval(this.#expiry)
    this.#http?.close()
    this.#http?.closeAllConnections()
    this.#http = undefined
    this.#halting = this.#world.halt()
  }

  /**
   * Comes back on the same port. `kept`: with its sessions, models and promises, of which TuFT cancels those that it had
   * not begun; `lost`: with saved checkpoints only.
   */
  async restart({ state = 'kept' }: { state?: 'kept' | 'lost' } = {}): Promise<void> {
    if (this.alive) this.kill()
    await this.#halting
    if (state === 'lost') {
      await this.#world.end()
      this.#world = this.#newWorld()
    } else if (this.profile.cancelsOnRestart) this.#world.cancelWaiting()
    await this.listen()
    this.#world.resume()
  }

  async close(): Promise<void> {
    clearTimeout(this.#comesBack)
    this.kill()
    await this.#world.end()
    await this.#around.backend.close()
    await rm(this.root, { recursive: true, force: true })
  }

  #newWorld(): World {
    const world = new World(this.#around)
    world.queue = new SampleQueue(world)
    return world
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const life = this.#life
    const controller = new AbortController()
    response.on('close', () => controller.abort())
    if (isOver(request)) return
    const raw = await readBytes(request)
    if (life !== this.#life) return
    const found = this.#find(request)
    const logged = this.log.add(request, found.name, raw)
    const fault = this.faults.next({ route: found.name, body: logged.body })
    if (fault) logged.fault = fault.kind
    if (this.options.latencyMs) await sleep(this.options.latencyMs)
    if (fault?.kind === 'slow') await sleep(fault.ms)
    if (life !== this.#life) return
    if (fault && this.#refuses(fault, response, logged)) return
    const reply = await this.#handle(request, found, raw, controller.signal, fault)
    if (life !== this.#life) return
    logged.status = reply.status
    this.#answer(reply, fault, response, logged)
  }

  /** Faults that come before the request is looked at. True where nothing is left to do. */
  #refuses(fault: Misfortune, response: ServerResponse, logged: Logged): boolean {
    if (fault.kind === 'die' && fault.when === 'before') {
      this.#die(fault)
      return true
    }
    if (!('processed' in fault) && !['status', 'crash', 'hang up', 'page', 'silent'].includes(fault.kind))
      return false
    if ('processed' in fault && fault.processed) return false
    if (fault.kind === 'hang up' && fault.inBody) return false
    this.#mishap(fault, undefined, response, logged)
    return true
  }

  #answer(reply: Reply, fault: Misfortune | undefined, response: ServerResponse, logged: Logged): void {
    if (fault && this.#mishap(fault, reply, response, logged)) return
    send(response, reply)
  }

  /** True where the fault stands for the answer. */
  #mishap(fault: Misfortune, reply: Reply | undefined, response: ServerResponse, logged: Logged): boolean {
    switch (fault.kind) {
      case 'status': {
        logged.status = fault.status
        const body = fault.body ?? { detail: 'Service unavailable' }
        send(response, { status: fault.status, body, ...(fault.headers && { headers: fault.headers }) })
        return true
      }
      case 'crash':
        logged.status = 500
        sendCrash(response)
        return true
      case 'hang up':
        if (fault.inBody && reply) hangUpInBody(response, reply)
        else response.destroy()
        return true
      case 'page':
        logged.status = fault.status ?? 502
        sendPage(response, logged.status)
        return true
      case 'half':
        if (reply) sendHalf(response, reply)
        return true
      case 'silent':
        return true
      case 'die':
        this.#die(fault)
        return true
      default:
        return false
    }
  }

  #die({ restartMs, state = 'kept' }: Extract<Misfortune, { kind: 'die' }>): void {
    this.kill()
    if (restartMs === undefined) return
    this.#comesBack = setTimeout(() => void this.restart({ state }), restartMs)
  }

  #find(request: IncomingMessage): Found {
    const { base = '' } = this.options
    const url = new URL(request.url ?? '/', 'http://localhost')
    const nowhere: Found = { name: url.pathname, params: [], query: url.searchParams }
    if (url.pathname === `${base}/openapi.json`) return { ...nowhere, name: 'openapi', rest: describing }
    if (!url.pathname.startsWith(`${base}/api/v1/`)) return nowhere
    const path = url.pathname.slice(`${base}/api/v1/`.length)
    if (request.method === 'POST' && Object.hasOwn(routes, path)) return { ...nowhere, name: path }
    for (const rest of restRoutes) {
      const captured = rest.method === request.method ? rest.path.exec(path) : null
      if (captured) {
        const params = captured.slice(1).map((param) => decodeURIComponent(param))
        return { name: rest.name, rest, params, query: url.searchParams }
      }
    }
    return nowhere
  }

  #lacks(route: string): boolean {
    if (route === 'client/config' && this.options.flags) return false
    return this.profile.missing.has(route)
  }

  async #handle(
    request: IncomingMessage,
    { name, rest, params, query }: Found,
    raw: Buffer,
    signal: AbortSignal,
    fault: Misfortune | undefined,
  ): Promise<Reply> {
    const handler = rest?.handle ?? routes[name]
    try {
      if (!handler || this.#lacks(name)) throw new Refusal(404, 'Not Found')
      authorise(this.profile, this.#settings, name, request)
      const context: Context = {
        world: this.#world,
        settings: this.#settings,
        requests: this.#requests,
        request,
        raw,
        signal,
        fault,
        origin: this.url,
        params,
        query,
      }
      return await handler(context)
    } catch (error) {
      if (error instanceof Crash) return { status: 500, crash: true }
      if (!(error instanceof Refusal)) throw error
      return { status: error.status, headers: error.headers, body: error.body }
    }
  }
}

function flagsOf(dialect: Dialect): Record<string, unknown> {
  if (dialect === 'skyrl' || dialect === 'openrl') return {}
  if (dialect === 'tuft') return { parallel_fwdbwd_chunks: false }
  return {
    sample_dispatch_bytes_semaphore_size: 10 * 2 ** 20,
    inflight_response_bytes_semaphore_size: 50 * 2 ** 20,
    parallel_fwdbwd_chunks: true,
    proto_compress_fwdbwd: false,
    fwdbwd_max_chunk_len: 1024,
    fwdbwd_max_chunk_bytes_count: 5_000_000,
    fwdbwd_dispatch_bytes_semaphore_size: 50e6,
    billing_exception_max_pause_duration_sec: 3600,
    sample_no_retries: false,
    sample_enable_stuck_detection: true,
    sample_max_concurrent_requests: 2000,
    create_model_via_load_weights: false,
  }
}

/** Starts a server on a free port; whoever starts it closes it. */
export async function startTinkerServer(options: TinkerServerOptions): Promise<TinkerServer> {
  const names = Object.keys(options.models)
  if (['skyrl', 'openrl'].includes(options.dialect) && names.length !== 1)
    throw new Error(`A server of ${options.dialect} has one base model, not ${names.length}.`)
  const backend = options.scripted
    ? scriptedBackend(options.scripted)
    : await openEngineBackend(options.models, { threads: options.threads ?? 2 })
  const root = await mkdtemp(join(tmpdir(), 'sparring-tinker-server-'))
  const server = new TinkerServer(options, backend, root)
  await server.listen()
  return server
}
