/** Which dialect a server speaks, as far as it shows. */
import { z } from 'zod'
import { TinkerError, Transport, UserError } from './errors.js'
import { type Hearing, Passing, Persistence } from './persistence.js'
import { type DialectName, type Profile, profiles } from './profile.js'
import { accept, jsonOf } from './reply.js'
import { shaped } from './shape.js'
import type { Exchange, Reply, TransportLayer } from './transport.js'
import type { WaitBoard } from './waits.js'
import { type Answer, answers } from './wire/endpoints.js'

/** Version of the official SDK whose requests these are: servers ask for one. */
export const sdkVersion = '0.25.0'

type Models = Answer<'get_server_capabilities'>['supported_models']
type ClientConfig = Answer<'client/config'>

const hostedHost = /(^|\.)thinkingmachines\.(dev|ai)$/

/** The dialect of an address that is known. */
export function dialectOfHost(url: string): DialectName | undefined {
  return hostedHost.test(new URL(url).hostname) ? 'hosted' : undefined
}

const description = z.object({
  info: z.object({ title: z.string() }),
  paths: z.record(z.string(), z.unknown()),
})

/**
 * What a server is by its own description (FastAPI's openapi.json), where that leaves no doubt. SkyRL's versions that
 * still have the route `forward` are left out: not all of them know a retry.
 */
export function statedDialect(described: unknown): DialectName | undefined {
  const { data } = description.safeParse(described)
  if (data?.info.title === 'TuFT') return 'tuft'
  return data?.info.title === 'Tinker API Mock' && !('/api/v1/forward' in data.paths) ? 'skyrl' : undefined
}

/**
 * What a server is most like where it does not say. Open-RL has no client configuration; TuFT says what each model can
 * do, or takes no chunks out of order; SkyRL says neither the length of a model's context nor any limit; the others are
 * taken for the hosted service.
 */
export function recogniseDialect(models: Models, config: ClientConfig | undefined): DialectName {
  if (!config) return 'openrl'
  if (models.some(({ capabilities }) => capabilities) || config.parallel_fwdbwd_chunks === false)
    return 'tuft'
  const limits = [config.sample_max_concurrent_requests, config.fwdbwd_max_chunk_len]
  const says = [...limits, ...models.map((model) => model.max_context_length ?? model.trainable)]
  return says.every((value) => value == null) ? 'skyrl' : 'hosted'
}

interface Known {
  transport: TransportLayer
  hearing: Hearing
  waits: WaitBoard
  signal: AbortSignal
  /** How the user knows the dialect's setting, for sentences. */
  dialectSetting: string
}

/**
 * Asks the server for its configuration and models; named dialects are taken as they are. Where the dialect is a guess,
 * nothing is sent again that could be applied twice.
 */
export async function findDialect(
  known: Known,
  named: DialectName | undefined,
): Promise<{ profile: Profile; models: Models; config: ClientConfig }> {
  const { transport } = known
  const body = JSON.stringify({ sdk_version: sdkVersion })
  const answered = await ask(known, 'client/config', { method: 'POST', path: 'client/config', body })
  const config = answered && shaped(answers['client/config'], jsonOf(answered))
  if (config?.pjwt_auth_enabled) transport.exchangeKey()
  const listed = await ask(known, 'get_server_capabilities', {
    method: 'GET',
    path: 'get_server_capabilities',
  })
  if (!listed)
    throw new UserError(`${transport.url} is no server of the Tinker protocol: it lists no models.`, {
      hint: 'Give the address without /api/v1, as in http://HOST:PORT.',
    })
  const { supported_models } = shaped(answers.get_server_capabilities, jsonOf(listed))
  const certain = named ?? (await identify(known))
  if (certain) return { profile: profiles[certain], models: supported_models, config: config ?? {} }
  let like = recogniseDialect(supported_models, config)
  if (like === 'skyrl') {
    // Only SkyRL lists its runs.
    const runs = await ask(known, 'training_runs', { method: 'GET', path: 'training_runs?limit=1' })
    if (!runs) like = 'openrl'
  }
  if (like !== 'openrl')
    known.hearing.warn(
      `${transport.url} does not say which kind of server it is, and is taken for ${like}: a step whose answer is lost is not sent again. Set ${known.dialectSetting} to ${like} if that is right, or to what it is.`,
    )
  const profile: Profile = { ...profiles[like], deduplicates: 'none', guessed: true }
  return { profile, models: supported_models, config: config ?? {} }
}

async function identify(known: Known): Promise<DialectName | undefined> {
  const exchange = { method: 'GET', path: '../../openapi.json' } as const
  const described = await ask(known, 'openapi.json', exchange).catch((error) => {
    if (error instanceof Transport || !(error instanceof TinkerError)) throw error
    return undefined
  })
  return described && statedDialect(jsonOf(described))
}

/** The successful reply; undefined where there is no such route. */
async function ask(
  { transport, hearing, waits, signal }: Known,
  what: string,
  exchange: Omit<Exchange, 'signal'>,
): Promise<Reply | undefined> {
  const persistence = new Persistence(what, hearing)
  const wait = waits.begin(`${transport.url} to answer`)
  try {
    for (;;) {
      try {
        const reply = await transport.exchange({ ...exchange, signal })
        if (reply.status === 404 || reply.status === 405) return undefined
        accept(reply, { what, transport })
        jsonOf(reply)
        return reply
      } catch (error) {
        if (!(error instanceof Passing)) throw error
        await persistence.failed(error, signal)
      }
    }
  } finally {
    wait.end()
  }
}
