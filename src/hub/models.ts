/** Models of the Hugging Face Hub: pulled into the cache or a folder, and found there by their names. Data sets are pulled alike. */
import { existsSync, readFileSync } from 'node:fs'
import { constants, copyFile, readdir, readFile, rename, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CheckpointError, ConfigError, DataError } from '../core/errors.js'
import { makeFolders } from '../core/folders.js'
import { HubCache, type HubFile, type HubRepo, originInCache, type Shelf } from './cache.js'
import { asDiskError, type HubOptions, isOffline, openHub } from './client.js'
import { fetchFile, isSame } from './download.js'

export interface ModelSource {
  /** As `owner/name`. */
  model: string
  /** Branch, tag or commit. @default 'main' */
  revision?: string | undefined
  /** @default 'model' */
  kind?: HubRepo['kind']
}

export interface PullOptions extends HubOptions {
  /** Folder that the files go to. @default the cache */
  to?: string | undefined
  /** Without them, what a service's models need here: configuration and tokenizer. @default true */
  weights?: boolean | undefined
  /** Folder of a data set whose files are wanted. @default all */
  only?: string | undefined
  /** Called once all but the weights are there, and may throw before they are fetched. */
  check?: (folder: string) => Promise<unknown>
  progress?: (progress: PullProgress) => void
}

export interface PullProgress {
  /** File that grows. */
  file: string
  /** Bytes of all files that are there, out of `total`. */
  bytes: number
  total: number
  /** Bytes that arrived by now, without those of an earlier try. */
  arrived: number
}

export interface PulledModel {
  model: string
  revision: string
  commit: string
  folder: string
  files: string[]
  /** Of all files. */
  bytes: number
  /** Bytes that had to be fetched. */
  fetched: number
}

/** Beside files pulled into a folder: where they are from. */
const record = 'pulled.json'

/**
 * Fetches what Sparring needs of a model: configuration, tokenizer, chat template, licence and safetensors weights; of a data
 * set, its files in Parquet and JSONL.
 * What is there already is not fetched again. Throws DataError (no such model, no permission, weights in another form,
 * not in the cache when offline), ConfigError, ServiceError, or CheckpointError where the disk refuses.
 */
export async function pullModel(source: ModelSource, options: PullOptions = {}): Promise<PulledModel> {
  const { to, weights = true, env = process.env } = options
  const repo = repoOf(source)
  const cache = new HubCache(repo, env)
  const isData = repo.kind === 'dataset'
  if (isData && isOffline(options)) throw offlineData(repo)
  const commit = isOffline(options) ? cachedCommit(repo, cache, weights) : undefined
  if (commit !== undefined) return fromCache(repo, cache, commit, to)

  const hub = await openHub(repo, options, 'take what the cache holds with --offline')
  const found = await hub.commit()
  const files = isData
    ? chooseData(await hub.list(found, true), repo, options.only)
    : chooseFiles(await hub.list(found), repo, weights)
  const folder = to ?? cache.snapshot(found)
  const cached = cache.shelf(found)
  const shelf = to === undefined ? cached : folderShelf(to, cached, cache.snapshot(found))
  const missing: HubFile[] = []
  for (const file of files) if (!(await shelf.has(file))) missing.push(file)
  await checkSpace(folder, missing, shelf)

  const total = sum(files)
  let bytes = total - sum(missing)
  let arrived = 0
  const ordered = [...missing].sort((a, b) => Number(isWeights(a.path)) - Number(isWeights(b.path)))
  let checked = false
  for (const file of ordered) {
    if (isWeights(file.path) && !checked) {
      await options.check?.(folder)
      checked = true
    }
    const heard = (count: number, earlier: boolean) => {
      bytes += count
      if (!earlier) arrived += count
      options.progress?.({ file: file.path, bytes, total, arrived })
    }
    const { signal, note } = options
    await fetchFile(hub, file, found, shelf, { signal, note, heard })
  }
  if (to === undefined) await cache.writeRef(found)
  else if (!isData) await writeRecord(to, repo, found)
  const { name: model, revision } = repo
  return {
    model,
    revision,
    commit: found,
    folder,
    files: files.map(({ path }) => path),
    bytes: total,
    fetched: arrived,
  }
}

/**
 * Folder of a model that was pulled, by `owner/name` or `owner/name@revision`; undefined where the name is none of the
 * Hub's, or the cache lacks the model or, with `weights`, a part of its weights.
 */
export function pulledModel(
  name: string,
  { weights = true, env = process.env }: { weights?: boolean; env?: NodeJS.ProcessEnv } = {},
): { folder: string; commit: string } | undefined {
  const source = hubName(name)
  if (!source) return undefined
  const cache = new HubCache(repoOf(source), env)
  const commit = cache.commit()
  if (commit === undefined || missingFile(cache.snapshot(commit), weights) !== undefined) return undefined
  return { folder: cache.snapshot(commit), commit }
}

/** A name of the Hub in its parts, `owner/name` with or without `@revision`; undefined for any other text. */
export function hubName(text: string): ModelSource | undefined {
  const [, model, revision] = /^([\w-][\w.-]*\/[\w-][\w.-]*)(?:@([\w./-]+))?$/.exec(text) ?? []
  return model === undefined ? undefined : { model, ...(revision !== undefined && { revision }) }
}

/** Where a model folder came from, as far as it is a pulled one. */
export async function modelOrigin(folder: string): Promise<{ model: string; commit: string } | undefined> {
  const text = await readFile(join(folder, record), 'utf8').catch(() => undefined)
  return text === undefined ? originInCache(folder) : JSON.parse(text)
}

function repoOf({ model, revision = 'main', kind = 'model' }: ModelSource): HubRepo {
  if (hubName(model)?.model === model && !revision.split('/').includes('..'))
    return { kind, name: model, revision }
  const what = kind === 'model' ? 'a model' : 'a data set'
  throw new ConfigError(`${JSON.stringify(model)} is not the name of ${what} of the Hub.`, {
    hint: 'Names are of the form owner/name, such as Qwen/Qwen3-0.6B; a branch, tag or commit goes with --revision.',
  })
}

const settingsFiles = [
  /^(config|generation_config|special_tokens_map|added_tokens)\.json$/,
  /^tokenizer/,
  /^chat_template\.(jinja|json)$/,
  /^(LICENSE|NOTICE)/i,
]

function isWeights(path: string): boolean {
  return path.endsWith('.safetensors')
}

/** Throws DataError where the repository is none of a model that can be loaded here. */
function chooseFiles(all: HubFile[], { name }: HubRepo, weights: boolean): HubFile[] {
  const has = (path: string) => all.some((file) => file.path === path)
  const needed = ['config.json', 'tokenizer.json'].find((path) => !has(path))
  if (needed !== undefined) {
    throw new DataError(`${name} has no ${needed}.`, {
      hint: 'Name the repository of the original model, not one of a converted form such as GGUF.',
    })
  }
  const settings = all.filter(({ path }) => settingsFiles.some((pattern) => pattern.test(path)))
  if (!weights) return settings
  const single = has('model.safetensors')
  const shards = single
    ? /^model\.safetensors$/
    : /^model(-\d+-of-\d+\.safetensors|\.safetensors\.index\.json)$/
  const stored = all.filter(({ path }) => shards.test(path))
  if (single || stored.some(({ path }) => path.endsWith('.index.json'))) return [...settings, ...stored]
  throw new DataError(`${name} has no weights in safetensors form.`, {
    hint: 'Name the repository of the original model; a pickled one can be saved anew with save_pretrained of transformers.',
  })
}

/** Files that data are read from, in a folder of the set or anywhere in it. Throws DataError where there are none. */
function chooseData(all: HubFile[], { name }: HubRepo, only: string | undefined): HubFile[] {
  const folder = only?.replace(/\/*$/, '/') ?? ''
  const readable = all.filter(
    ({ path }) => /\.(parquet|jsonl)$/.test(path) && !path.split('/').includes('..'),
  )
  const chosen = readable.filter(({ path }) => path.startsWith(folder))
  if (chosen.length > 0) return chosen
  const places = [...new Set(readable.map(({ path }) => dirname(path)))].slice(0, 8)
  throw new DataError(`${name} has no Parquet or JSONL files${only === undefined ? '' : ` in ${only}`}.`, {
    hint:
      places.length > 0
        ? `It has some in ${places.join(', ')}.`
        : 'Most sets have them in another branch: --revision refs/convert/parquet.',
  })
}

function offlineData({ name }: HubRepo): DataError {
  return new DataError(`Sparring was told to stay offline, and the data set ${name} has to be asked for.`, {
    hint: 'Leave --offline out, and HF_HUB_OFFLINE unset.',
  })
}

/** The first file that a model folder lacks to be loaded. */
function missingFile(folder: string, weights: boolean): string | undefined {
  const lacks = (name: string) => !existsSync(join(folder, name))
  const settings = ['config.json', 'tokenizer.json'].find(lacks)
  if (settings !== undefined || !weights || !lacks('model.safetensors')) return settings
  const index = 'model.safetensors.index.json'
  if (lacks(index)) return 'model.safetensors'
  const map: object = JSON.parse(readFileSync(join(folder, index), 'utf8')).weight_map ?? {}
  return Object.values(map).map(String).find(lacks)
}

function cachedCommit({ name, revision }: HubRepo, cache: HubCache, weights: boolean): string {
  const commit = cache.commit()
  const lacking = commit === undefined ? undefined : missingFile(cache.snapshot(commit), weights)
  if (commit !== undefined && lacking === undefined) return commit
  const what = lacking === undefined ? `${name} (${revision})` : `${lacking} of ${name}`
  throw new DataError(`Sparring was told to stay offline, and ${what} is not in the cache ${cache.folder}.`, {
    hint: `Fetch it once with access to the Hub: sparring pull ${name}.`,
  })
}

async function fromCache(
  { name: model, revision }: HubRepo,
  cache: HubCache,
  commit: string,
  to: string | undefined,
): Promise<PulledModel> {
  if (to !== undefined) {
    throw new ConfigError('--to and --offline cannot be given together.', {
      hint: `The model lies in ${cache.snapshot(commit)}: copy it from there.`,
    })
  }
  const folder = cache.snapshot(commit)
  const files = await readdir(folder)
  let bytes = 0
  for (const file of files) bytes += await sizeOf(join(folder, file))
  return { model, revision, commit, folder, files, bytes, fetched: 0 }
}

/** A plain folder; what the cache holds is copied rather than fetched. */
function folderShelf(folder: string, cache: Shelf, snapshot: string): Shelf {
  const place = ({ path }: HubFile) => join(folder, path)
  const part = (file: HubFile) => `${place(file)}.${file.id.slice(0, 8)}.incomplete`
  return {
    part,
    has: async (file) => {
      if (existsSync(place(file))) {
        if (await isSame(place(file), file)) return true
        throw new ConfigError(`${place(file)} is another file than the one on the Hub.`, {
          hint: 'Name a new folder with --to.',
        })
      }
      if (!(await cache.has(file))) return false
      await makeFolders(dirname(place(file)))
      await copyFile(join(snapshot, file.path), part(file), constants.COPYFILE_FICLONE)
      await rename(part(file), place(file))
      return true
    },
    keep: (file) => rename(part(file), place(file)),
  }
}

async function writeRecord(folder: string, { name, revision }: HubRepo, commit: string): Promise<void> {
  await writeFile(join(folder, record), `${JSON.stringify({ model: name, revision, commit }, null, 2)}\n`)
}

/** Throws CheckpointError where the disk has too little room for what is left to be fetched. */
async function checkSpace(folder: string, files: HubFile[], shelf: Shelf): Promise<void> {
  let needed = 0
  for (const file of files) needed += file.bytes - (await sizeOf(shelf.part(file)))
  let parent = folder
  while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent)
  const { bavail, bsize } = await statfs(parent).catch((error) => {
    throw asDiskError(error, folder)
  })
  const free = bavail * bsize
  if (needed <= free) return
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`
  throw new CheckpointError(
    `${gb(needed)} are left to be fetched, and the disk of ${folder} has ${gb(free)} free.`,
    {
      hint: 'Free some space, or take another disk with --to or HF_HUB_CACHE.',
    },
  )
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

function sum(files: HubFile[]): number {
  return files.reduce((total, { bytes }) => total + bytes, 0)
}
