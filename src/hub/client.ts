/** The Hub's own client, patient, behind proxies where they are set, its failures said in the user's words. */
import {
  CheckpointError,
  ConfigError,
  DataError,
  messageOf,
  ServiceError,
  SparringError,
} from '../core/errors.js'
import { isPage } from '../core/page.js'
import type { HubFile, HubRepo } from './cache.js'

export interface HubOptions {
  /** Only what the cache holds is used. @default what HF_HUB_OFFLINE says */
  offline?: boolean | undefined
  /** HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and proxies are read from here. @default process.env */
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal
  /** Says in a sentence what is waited for. */
  note?: (text: string) => void
}

export interface Hub {
  /** What the revision stands for now. */
  commit(): Promise<string>
  /** Files in the topmost folder, or in all. */
  list(commit: string, all?: boolean): Promise<HubFile[]>
  /** The file of that path, or undefined where there is none. */
  find(path: string, commit: string): Promise<HubFile | undefined>
  /** The content from a byte on; the status is 206, or 200 where the server sends all of it. */
  read(path: string, commit: string, from: number, signal: AbortSignal): Promise<Response>
}

export function isOffline({ offline, env = process.env }: HubOptions): boolean {
  return offline ?? /^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? '')
}

/** `instead` ends hints: what else the user can do than ask the Hub. */
export async function openHub(
  { kind, name, revision }: HubRepo,
  { env = process.env, signal }: HubOptions,
  instead: string,
): Promise<Hub> {
  const { datasetInfo, fileDownloadInfo, HUB_URL, HubApiError, listFiles, modelInfo, pathsInfo } =
    await import('@huggingface/hub')
  const repo = { type: kind, name }
  const refusal: Refusal = {}
  const token = env.HF_TOKEN
  const via = {
    hubUrl: env.HF_ENDPOINT ? env.HF_ENDPOINT.replace(/\/+$/, '') : HUB_URL,
    ...(token && { accessToken: token }),
    fetch: await patientFetch(env, signal, refusal),
  }
  const asking = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      const status = error instanceof HubApiError ? error.statusCode : undefined
      throw explain(error, { kind, name, revision, status, refusal, instead })
    }
  }
  const asked = { name, revision, additionalFields: ['sha' as const], ...via }
  return {
    commit: () =>
      asking(async () => {
        const { sha } = kind === 'model' ? await modelInfo(asked) : await datasetInfo(asked)
        if (/^[0-9a-f]{40}$/.test(sha)) return sha
        throw new ServiceError(`${new URL(via.hubUrl).host} does not say which commit ${name} is at.`, {
          hint: `Check HF_ENDPOINT, if it is set, or ${instead}.`,
          retryable: false,
        })
      }),
    list: (commit, all = false) =>
      asking(async () => {
        const files: HubFile[] = []
        for await (const entry of listFiles({ repo, revision: commit, recursive: all, ...via })) {
          if (entry.type === 'file') files.push(asFile(entry))
        }
        return files
      }),
    find: (path, commit) =>
      asking(async () => {
        const [entry] = await pathsInfo({ repo, paths: [path], revision: commit, ...via })
        return entry && asFile(entry)
      }),
    read: (path, commit, from, ending) =>
      asking(async () => {
        const found = await fileDownloadInfo({ repo, path, revision: commit, ...via })
        if (!found) throw new DataError(`${name} has no file ${path} at commit ${commit.slice(0, 7)}.`)
        // Content may lie with another host, whose address is signed: the token is not for it.
        const own = new URL(found.url).origin === new URL(via.hubUrl).origin
        const response = await via.fetch(found.url, {
          headers: { Range: `bytes=${from}-`, ...(token && own && { Authorization: `Bearer ${token}` }) },
          signal: ending,
        })
        if (response.ok) return response
        await response.body?.cancel()
        throw new HubApiError(response.url, response.status)
      }),
  }
}

/** The identifier becomes the name of a file, so that it must be nothing else. */
function asFile(entry: { path: string; size: number; oid?: string; lfs?: { oid: string } }): HubFile {
  const id = entry.lfs?.oid ?? entry.oid ?? ''
  if (/^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(id)) return { path: entry.path, bytes: entry.size, id }
  throw new ServiceError(`The Hub names no sum of ${entry.path} that it could be checked by.`, {
    hint: 'Check HF_ENDPOINT, if it is set.',
    retryable: false,
  })
}

/** What the Hub said of the last request that it refused: its client does not pass the header on. */
interface Refusal {
  code?: string | undefined
}

/** Servers under load refuse or hang up now and then: asked twice more, a second and two seconds later. */
async function patientFetch(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal | undefined,
  refusal: Refusal,
): Promise<typeof fetch> {
  const ask = await fetchThroughProxy(env)
  return async (input, init) => {
    const signals = [signal, init?.signal].filter((each) => each instanceof AbortSignal)
    for (let wait = 1; ; wait *= 2) {
      const response = await ask(input, { ...init, signal: AbortSignal.any(signals) }).catch((error) => {
        if (wait > 2 || !isHungUp(error)) throw error
      })
      if (response) {
        refuseLogin(response)
        if (!response.ok) refusal.code = response.headers.get('x-error-code') ?? undefined
        if (wait > 2 || (response.status !== 429 && response.status < 500)) return response
        await response.body?.cancel()
      }
      await new Promise((resolve) => setTimeout(resolve, wait * 1000))
    }
  }
}

/** What the Hub is asked for is never a page, and its own refusals are none: such an answer is another's. */
function refuseLogin({ status, headers, url }: Response): void {
  const open = status < 300 || [401, 403, 407, 511].includes(status)
  if (!open || !isPage('', headers.get('content-type') ?? '')) return
  throw new ServiceError(
    `${new URL(url).host} answers with a web page (HTTP ${status}) in the place of the Hub.`,
    {
      hint: 'A proxy or a login may stand in between: check HF_ENDPOINT, http_proxy and https_proxy, or take what the cache holds with --offline.',
      retryable: false,
    },
  )
}

/** A connection that was kept open may have been closed over there by the time it is used. */
function isHungUp(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return (
    cause instanceof Error && 'code' in cause && /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(`${cause.code}`)
  )
}

/** Node's own fetch knows no proxies. */
async function fetchThroughProxy(env: NodeJS.ProcessEnv): Promise<typeof fetch> {
  const { hasProxy, openAgent } = await import('../core/proxy.js')
  if (!hasProxy(env)) return fetch
  const undici = await import('undici')
  const dispatcher = openAgent({}, env)
  const through = (input: string | URL, init?: object) => undici.fetch(input, { ...init, dispatcher })
  return through as unknown as typeof fetch
}

interface Failed extends HubRepo {
  status: number | undefined
  refusal: Refusal
  instead: string
}

function explain(error: unknown, failed: Failed): unknown {
  const { kind, name, revision, status, instead } = failed
  if (SparringError.isInstance(error)) return error
  if (error instanceof Error && error.name === 'AbortError') return error
  if (error instanceof TypeError && /access token/.test(error.message)) {
    return new ConfigError('HF_TOKEN is no token of the Hub: it does not begin with hf_.', {
      hint: 'Set it to an access token of your account, or leave it unset.',
    })
  }
  if (error instanceof SyntaxError) {
    return new ServiceError(`The Hub's answer about ${name} is no JSON, or was cut off.`, {
      hint: `See whether a proxy stands in between (HF_ENDPOINT, http_proxy, https_proxy), or ${instead}.`,
      retryable: true,
      cause: error,
    })
  }
  if (status === undefined) {
    return new ServiceError(`The Hub could not be asked for ${name}: ${reason(error)}.`, {
      hint: `Check the connection (and HF_ENDPOINT, if it is set), or ${instead}.`,
      retryable: true,
      cause: error,
    })
  }
  if (status === 401 || status === 403) return forbidden(error, failed, status)
  if (status === 404) {
    const what = kind === 'model' ? 'model' : 'data set'
    return new DataError(`The Hub has no ${what} ${name} with the revision ${revision}.`, {
      hint: `Check both names: it may have been renamed or removed; or ${instead}.`,
      cause: error,
    })
  }
  return new ServiceError(`The Hub failed over ${name}: HTTP ${status}.`, {
    hint: `Try again later, or ${instead}.`,
    retryable: true,
    cause: error,
  })
}

/** Of a name that does not exist the Hub says no more than of a private one, but of a gated one it says so. */
function forbidden(cause: unknown, { name, refusal }: Failed, status: number): DataError {
  if (refusal.code === 'GatedRepo') {
    return new DataError(`${name} is gated: the Hub gives it only to those who accepted its terms.`, {
      hint: `Accept them on the page of ${name} at the Hub, and set HF_TOKEN to an access token of that account.`,
      cause,
    })
  }
  return new DataError(
    `The Hub does not let ${name} be read (HTTP ${status}): it is gated, private or not there.`,
    {
      hint: `Check the name; accept its terms on the page of ${name} at the Hub, and set HF_TOKEN to an access token of your account.`,
      cause,
    },
  )
}

/** What a failed connection says lies in the cause of fetch's own error. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error).replace(/\.$/, '')
}

/** A write that the disk refused; any other error stays what it is. */
export function asDiskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'path' in error)) return error
  const { code } = error as NodeJS.ErrnoException
  const full = code === 'ENOSPC' || code === 'EDQUOT'
  return new CheckpointError(`${what} cannot be kept: ${full ? 'the disk is full' : error.message}.`, {
    hint: `${full ? 'Free some space' : 'Mend that'}, or set HF_HUB_CACHE to another folder; what has arrived is kept, and the same command goes on from there.`,
    cause: error,
  })
}
