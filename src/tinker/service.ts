/** Connecting to a server of the Tinker protocol. */
import { ConfigError } from '../core/errors.js'
import { link } from './abort.js'
import type { Operation } from './call.js'
import { deleteCheckpoint, downloadArchive, listCheckpoints } from './checkpoints.js'
import type {
  Call,
  CallOptions,
  Checkpoint,
  ConnectOptions,
  Model,
  Patience,
  Resumed,
  Service,
  Session,
  SessionOptions,
} from './client.js'
import { Connection, type Limits } from './connection.js'
import { dialectOfHost, findDialect, sdkVersion } from './dialect.js'
import { UserError } from './errors.js'
import { Journal } from './journal.js'
import type { Hearing } from './persistence.js'
import { type Profile, profiles } from './profile.js'
import { keyless } from './reply.js'
import { RemoteSession } from './session.js'
import { TransportLayer } from './transport.js'
import { WaitBoard } from './waits.js'
import { type Answer, answers, type RequestBody } from './wire/endpoints.js'

const hostedUrl = 'https://tinker.thinkingmachines.dev/services/tinker-prod'
const defaultPatience: Patience = {
  giveUpMs: 300_000,
  reachMs: 15_000,
  backoffMs: 1000,
  billingMs: 3600_000,
  heartbeatMs: 10_000,
  answerMs: 60_000,
}

/**
 * Connects and asks the server what it is. Throws Auth where it wants another key, Transport where it is out of reach,
 * ConfigError where the address is none.
 */
export async function connect(options: ConnectOptions = {}): Promise<Service> {
  const url = addressOf(options.baseUrl ?? (process.env.TINKER_BASE_URL || hostedUrl))
  const closing = link([options.signal])
  const waits = new WaitBoard(options.onWait)
  const patience: Patience = { ...defaultPatience, ...options.patience }
  const transport = new TransportLayer(url, process.env.TINKER_API_KEY || undefined, patience.answerMs)
  const { url: setting = settingOf(options), dialect: dialectSetting = 'dialect of connect' } =
    options.settings ?? {}
  const hearing: Hearing = {
    patience,
    url,
    setting,
    reached: () => transport.reached,
    warn: (sentence) => options.onWarning?.(sentence),
  }
  const checkKey = ({ needsKey }: Profile) => {
    if (needsKey && !transport.hasKey) throw keyless(url)
  }
  let journal: Journal | undefined
  try {
    const known = { transport, hearing, waits, signal: closing.signal, dialectSetting }
    const named = options.dialect ?? dialectOfHost(url)
    if (named) checkKey(profiles[named])
    const { profile, models, config } = await findDialect(known, named)
    checkKey(profile)
    if (config.billing_exception_max_pause_duration_sec && options.patience?.billingMs === undefined)
      patience.billingMs = config.billing_exception_max_pause_duration_sec * 1000
    const connection = new Connection(transport, profile, limitsOf(config), hearing, waits, closing.signal)
    if (options.journal !== undefined) journal = await Journal.open(options.journal)
    return new RemoteService(url, connection, models, journal, async () => {
      closing.abort(new UserError(`The connection to ${url} was closed.`))
      closing.release()
      waits.close()
      await transport.close()
      await journal?.close()
    })
  } catch (error) {
    closing.release()
    waits.close()
    await transport.close()
    throw error
  }
}

function settingOf({ baseUrl }: ConnectOptions): string {
  if (baseUrl !== undefined) return 'baseUrl'
  return process.env.TINKER_BASE_URL ? 'TINKER_BASE_URL' : 'the hosted service'
}

class RemoteService implements Service {
  constructor(
    readonly url: string,
    private readonly connection: Connection,
    readonly models: Answer<'get_server_capabilities'>['supported_models'],
    private readonly journal: Journal | undefined,
    readonly close: () => Promise<void>,
  ) {}

  get profile() {
    return this.connection.profile
  }

  createSession(options: SessionOptions = {}): Call<Session> {
    const what = 'create_session'
    return this.connection.call(
      what,
      async ({ signal }) => {
        const body: RequestBody<'create_session'> = {
          tags: options.tags ?? [],
          user_metadata: options.metadata ?? {},
          sdk_version: sdkVersion,
          type: 'create_session',
        }
        const answer = await this.connection.ask(what, body, answers.create_session, { what, signal })
        if (answer.error_message) throw new UserError(`${this.url}: ${answer.error_message}`)
        if (answer.warning_message) this.connection.hearing.warn(`${this.url}: ${answer.warning_message}`)
        await this.journal?.session(answer.session_id, this.url)
        return new RemoteSession(this.connection, this.journal, answer.session_id)
      },
      options,
    )
  }

  resume(options: CallOptions = {}): Call<Resumed | undefined> {
    return this.connection.call('the session of the journal', ({ signal }) => this.#resume(signal), options)
  }

  weightsInfo(path: string, options: CallOptions = {}): Call<Answer<'weights_info'>> {
    const what = `weights_info ${path}`
    return this.#simple(what, options, (signal) =>
      this.connection.ask('weights_info', { tinker_path: path }, answers.weights_info, { what, signal }),
    )
  }

  checkpoints(modelId: string, options: CallOptions = {}): Call<Checkpoint[]> {
    return this.#simple(`the checkpoints of model ${modelId}`, options, (signal) =>
      listCheckpoints(this.connection, modelId, signal),
    )
  }

  downloadArchive(checkpoint: Checkpoint, file: string, options: CallOptions = {}): Call<void> {
    return this.#simple(`the archive of ${checkpoint.path}`, options, (signal) =>
      downloadArchive(this.connection, checkpoint, file, signal),
    )
  }

  deleteCheckpoint(checkpoint: Checkpoint, options: CallOptions = {}): Call<void> {
    return this.#simple(`the deletion of ${checkpoint.path}`, options, (signal) =>
      deleteCheckpoint(this.connection, checkpoint, signal),
    )
  }

  #simple<T>(what: string, options: CallOptions, work: (signal: AbortSignal) => Promise<T>): Operation<T> {
    return this.connection.call(what, ({ signal }) => work(signal), options)
  }

  async #resume(signal: AbortSignal): Promise<Resumed | undefined> {
    const past = this.journal?.past
    if (!past) return undefined
    if (past.url !== this.url)
      throw new ConfigError(`The journal is of ${past.url}, and the server is ${this.url}.`, {
        hint: 'Give the address of the run, or another folder for the journal.',
      })
    const creations = past.requests.filter(({ kind }) => kind === 'create_model')
    const taken = { models: past.models, resumes: past.resumes + 1 }
    const session = new RemoteSession(this.connection, this.journal, past.session, taken)
    if (!(await session.alive(signal))) {
      session.close()
      return undefined
    }
    await this.journal!.resumed()
    const models: Model[] = []
    for (const creation of creations) {
      const own = past.requests.filter(({ model }) => model !== undefined && model === creation.result)
      const model = await session.takeUp(creation, own, signal)
      if (model) models.push(model)
    }
    return { session, models }
  }
}

function addressOf(given: string): string {
  const wrong = (why: string) =>
    new ConfigError(`"${given}" is no address of a Tinker server: ${why}.`, {
      hint: 'Give it as http://HOST:PORT, in TINKER_BASE_URL or the run file.',
    })
  if (!URL.canParse(given)) throw wrong('it is no URL')
  const url = new URL(given)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw wrong('it begins neither http:// nor https://')
  if (url.username || url.password) throw wrong('keys belong into TINKER_API_KEY')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

function limitsOf(config: Answer<'client/config'>): Limits {
  return {
    chunkDatums: config.fwdbwd_max_chunk_len ?? 1024,
    chunkBytes: config.fwdbwd_max_chunk_bytes_count ?? 5_000_000,
    sampleBytes: config.sample_dispatch_bytes_semaphore_size ?? 10 * 2 ** 20,
    trainBytes: config.fwdbwd_dispatch_bytes_semaphore_size ?? 50_000_000,
    answerBytes: config.inflight_response_bytes_semaphore_size ?? 50 * 2 ** 20,
    samples: config.sample_max_concurrent_requests ?? 2000,
  }
}
