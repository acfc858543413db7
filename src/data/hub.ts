/**
 * Files of data sets on the Hugging Face Hub, kept in the cache that the Hub's Python tools keep as well
 * (`snapshots/COMMIT/FILE`, `refs/REVISION`), so that neither fetches what the other has.
 */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { ConfigError, DataError, messageOf, ServiceError } from '../core/errors.js'

export interface HubSource {
  /** Data set, as `owner/name`. */
  repo: string
  files: string[]
  /** Branch, tag or commit. @default 'main' */
  revision?: string
}

export interface HubFiles {
  /** Where the files lie, in the order asked for. */
  paths: string[]
  /** Commit that the revision stood for. */
  commit: string
}

export interface HubOptions {
  /** Only what the cache holds is used. @default what HF_HUB_OFFLINE says */
  offline?: boolean | undefined
  /** HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and proxies are read from here. @default process.env */
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal
  /** Says that a file is being fetched. */
  note?: (text: string) => void
}

/**
 * Finds files of a data set, in the cache or on the Hub. Where the Hub cannot be reached, what the cache holds of the
 * revision is taken. Throws DataError (no such file, no permission, offline and not cached) or ServiceError.
 */
export async function hubFiles(source: HubSource, options: HubOptions = {}): Promise<HubFiles> {
  const { env = process.env, offline = isSet(env.HF_HUB_OFFLINE), signal, note } = options
  const cache = new HubCache(source, env)
  if (offline) return cache.files('Sparring was told to stay offline')
  const hub = await openHub(source, env, signal)
  const commit = await hub.commit().catch((error) => error)
  if (commit instanceof Error) {
    if (!(commit instanceof ServiceError)) throw commit
    return cache.files('').catch(() => {
      throw commit
    })
  }
  const paths = source.files.map((file) => cache.path(commit, file))
  for (const [i, file] of source.files.entries()) {
    if (await exists(paths[i]!)) continue
    note?.(`fetching ${file} of ${source.repo}`)
    await hub.fetch(file, commit, paths[i]!)
  }
  // A cache that may only be read still serves.
  await cache.writeRef(commit).catch(() => {})
  return { paths, commit }
}

/** The Hub's own client, its failures said in the user's words. */
async function openHub(source: HubSource, env: NodeJS.ProcessEnv, signal: AbortSignal | undefined) {
  const { datasetInfo, downloadFile, pathsInfo, HubApiError } = await import('@huggingface/hub')
  const { repo: name, revision = 'main' } = source
  const repo = { type: 'dataset' as const, name }
  const via = {
    ...(env.HF_ENDPOINT && { hubUrl: env.HF_ENDPOINT.replace(/\/+$/, '') }),
    ...(env.HF_TOKEN && { accessToken: env.HF_TOKEN }),
    fetch: await patientFetch(env, signal),
  }
  const asking = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw explain(error, source, HubApiError)
    }
  }
  return {
    commit: () =>
      asking(async () => (await datasetInfo({ name, revision, additionalFields: ['sha'], ...via })).sha),
    fetch: (path: string, commit: string, to: string) =>
      asking(async () => {
        const [info] = await pathsInfo({ repo, paths: [path], revision: commit, ...via })
        const blob = info && (await downloadFile({ repo, path, revision: commit, ...via }))
        if (!blob) throw noFile(source, path, commit)
        await save(blob, { size: info.size, sha256: info.lfs?.oid }, to)
      }),
  }
}

/** The cache folder of one data set. */
class HubCache {
  readonly #folder: string
  readonly #source: HubSource
  readonly #revision: string

  constructor(source: HubSource, env: NodeJS.ProcessEnv) {
    const users = env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
    const home = env.HF_HOME ?? join(users, 'huggingface')
    const root = env.HF_HUB_CACHE ?? env.HUGGINGFACE_HUB_CACHE ?? join(home, 'hub')
    this.#folder = join(root, `datasets--${source.repo.replaceAll('/', '--')}`)
    this.#source = source
    this.#revision = source.revision ?? 'main'
  }

  path(commit: string, file: string): string {
    return join(this.#folder, 'snapshots', commit, file)
  }

  /** The files as the cache holds them; `why` is the reason that the Hub was not asked. */
  async files(why: string): Promise<HubFiles> {
    const { repo, files } = this.#source
    const commit = await this.#commit()
    const paths = files.map((file) => this.path(commit ?? '', file))
    for (const [i, file] of files.entries()) {
      if (commit !== undefined && (await exists(paths[i]!))) continue
      throw new DataError(`${why}, and ${file} of ${repo} is not in the cache ${this.#folder}.`, {
        hint: 'Fetch it once with access to the Hub, or give a folder that holds the data with --data.',
      })
    }
    return { paths, commit: commit! }
  }

  async writeRef(commit: string): Promise<void> {
    if (this.#revision === commit) return
    const ref = join(this.#folder, 'refs', this.#revision)
    await mkdir(dirname(ref), { recursive: true })
    await writeFile(ref, commit)
  }

  async #commit(): Promise<string | undefined> {
    if (/^[0-9a-f]{40}$/.test(this.#revision)) return this.#revision
    const ref = await readFile(join(this.#folder, 'refs', this.#revision), 'utf8').catch(() => undefined)
    return ref?.trim()
  }
}

/** Written beside its place and renamed, so that half a file never counts. */
async function save(
  blob: Blob,
  { size, sha256 }: { size: number; sha256: string | undefined },
  path: string,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const part = `${path}.${process.pid}.part`
  const hash = createHash('sha256')
  let bytes = 0
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  try {
    const body = Readable.fromWeb(blob.stream() as ReadableStream)
    await pipeline(body, check, createWriteStream(part))
    if (bytes !== size || (sha256 !== undefined && hash.digest('hex') !== sha256)) {
      throw new ServiceError(`${basename(path)} arrived damaged from the Hub: ${bytes} of ${size} bytes.`, {
        hint: 'Run the same command again.',
        retryable: true,
      })
    }
    await rename(part, path)
  } finally {
    await rm(part, { force: true })
  }
}

/** Servers under load refuse now and then: asked twice more, a second and two seconds later. */
async function patientFetch(env: NodeJS.ProcessEnv, signal: AbortSignal | undefined): Promise<typeof fetch> {
  const ask = await fetchThroughProxy(env)
  return async (input, init) => {
    for (let wait = 1; ; wait *= 2) {
      const response = await ask(input, { ...init, ...(signal && { signal }) })
      if (wait > 2 || (response.status !== 429 && response.status < 500)) return response
      await response.body?.cancel()
      await new Promise((resolve) => setTimeout(resolve, wait * 1000))
    }
  }
}

/** Node's own fetch knows no proxies. */
async function fetchThroughProxy(env: NodeJS.ProcessEnv): Promise<typeof fetch> {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY
  if (!httpProxy && !httpsProxy) return fetch
  const undici = await import('undici')
  const noProxy = [env.no_proxy ?? env.NO_PROXY, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(',')
  const proxies = { ...(httpProxy && { httpProxy }), ...(httpsProxy && { httpsProxy }), noProxy }
  try {
    const dispatcher = new undici.EnvHttpProxyAgent(proxies)
    const through = (input: string | URL, init?: object) => undici.fetch(input, { ...init, dispatcher })
    return through as unknown as typeof fetch
  } catch (cause) {
    throw new ConfigError(
      `The proxy that http_proxy or https_proxy names cannot be used: ${messageOf(cause)}.`,
      {
        hint: 'Give it as http://HOST:PORT, or unset the variable.',
        cause,
      },
    )
  }
}

function explain(
  error: unknown,
  { repo, revision = 'main' }: HubSource,
  HubApiError: typeof import('@huggingface/hub').HubApiError,
): unknown {
  if (error instanceof DataError || error instanceof ServiceError) return error
  if (error instanceof Error && error.name === 'AbortError') return error
  if (error instanceof TypeError && /access token/.test(error.message)) {
    return new ConfigError('HF_TOKEN is no token of the Hub: it does not begin with hf_.', {
      hint: 'Set it to an access token of your account, or leave it unset.',
    })
  }
  if (error instanceof Error && 'syscall' in error && 'path' in error) {
    return new DataError(`What the Hub sent cannot be kept: ${error.message}.`, {
      hint: 'Free some space, or set HF_HUB_CACHE to a folder that can be written.',
      cause: error,
    })
  }
  if (!(error instanceof HubApiError)) {
    return new ServiceError(`The Hub could not be asked for ${repo}: ${reason(error)}.`, {
      hint: 'Check the connection (and HF_ENDPOINT, if it is set), or give a folder that holds the data with --data.',
      retryable: true,
      cause: error,
    })
  }
  const { statusCode } = error
  if (statusCode === 401 || statusCode === 403) {
    return new DataError(
      `The Hub does not let ${repo} be read (HTTP ${statusCode}): it is gated, private or not there.`,
      {
        hint: `Accept its terms on the page of ${repo} at the Hub, and set HF_TOKEN to an access token of your account.`,
        cause: error,
      },
    )
  }
  if (statusCode === 404) {
    return new DataError(`The Hub has no data set ${repo} with the revision ${revision}.`, {
      hint: 'It may have been renamed or removed: give a folder that holds the data with --data.',
      cause: error,
    })
  }
  return new ServiceError(`The Hub failed over ${repo}: HTTP ${statusCode}.`, {
    hint: 'Try again later, or give a folder that holds the data with --data.',
    retryable: true,
    cause: error,
  })
}

function noFile({ repo }: HubSource, file: string, commit: string): DataError {
  return new DataError(`${repo} has no file ${file} at commit ${commit.slice(0, 7)}.`, {
    hint: 'It may have been moved: fetch it yourself, and give its folder with --data.',
  })
}

/** What a failed connection says lies in the cause of fetch's own error. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error).replace(/\.$/, '')
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && /^(1|true|yes|on)$/i.test(value)
}
