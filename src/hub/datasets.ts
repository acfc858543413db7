/** Files of data sets on the Hugging Face Hub, from its cache or fetched into it. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { DataError, ServiceError } from '../core/errors.js'
import { HubCache, type HubRepo } from './cache.js'
import { type HubOptions, isOffline, openHub } from './client.js'
import { fetchFile } from './download.js'

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

const instead = 'give a folder that holds the data with --data'

/**
 * Finds files of a data set, in the cache or on the Hub. Where the Hub cannot be reached, what the cache holds of the
 * revision is taken. Throws DataError (no such file, no permission, offline and not cached), ServiceError, or
 * CheckpointError where the disk refuses.
 */
export async function hubFiles(source: HubSource, options: HubOptions = {}): Promise<HubFiles> {
  const { revision = 'main', files } = source
  const repo: HubRepo = { kind: 'dataset', name: source.repo, revision }
  const cache = new HubCache(repo, options.env)
  if (isOffline(options)) return inCache(cache, source, 'Sparring was told to stay offline')
  const hub = await openHub(repo, options, instead)
  const commit = await hub.commit().catch((error) => error)
  if (commit instanceof Error) {
    if (!(commit instanceof ServiceError)) throw commit
    return inCache(cache, source, '').catch(() => {
      throw commit
    })
  }
  const shelf = cache.shelf(commit)
  const paths = files.map((file) => join(cache.snapshot(commit), file))
  for (const [i, path] of files.entries()) {
    if (await exists(paths[i]!)) continue
    options.note?.(`fetching ${path} of ${source.repo}`)
    const file = await hub.find(path, commit)
    if (!file) throw noFile(source.repo, path, commit)
    if (!(await shelf.has(file))) await fetchFile(hub, file, commit, shelf, options)
  }
  // A cache that may only be read still serves.
  await cache.writeRef(commit).catch(() => {})
  return { paths, commit }
}

/** The files as the cache holds them; `why` is the reason that the Hub was not asked. */
async function inCache(cache: HubCache, { repo, files }: HubSource, why: string): Promise<HubFiles> {
  const commit = cache.commit()
  const paths = files.map((file) => join(cache.snapshot(commit ?? ''), file))
  for (const [i, file] of files.entries()) {
    if (commit !== undefined && (await exists(paths[i]!))) continue
    throw new DataError(`${why}, and ${file} of ${repo} is not in the cache ${cache.folder}.`, {
      hint: 'Fetch it once with access to the Hub, or give a folder that holds the data with --data.',
    })
  }
  return { paths, commit: commit! }
}

function noFile(repo: string, file: string, commit: string): DataError {
  return new DataError(`${repo} has no file ${file} at commit ${commit.slice(0, 7)}.`, {
    hint: 'It may have been moved: fetch it yourself, and give its folder with --data.',
  })
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
