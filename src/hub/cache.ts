/**
 * The cache of Hugging Face's own tools, which Sparring shares with them, so that neither fetches what the other has:
 * `blobs/ID` holds each content once, `snapshots/COMMIT/FILE` links to it, `refs/REVISION` names the commit.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { copyFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { makeFolders } from '../core/folders.js'

export interface HubRepo {
  kind: 'dataset' | 'model'
  /** As `owner/name`. */
  name: string
  /** Branch, tag or commit. */
  revision: string
}

/** A file of a repository as the Hub lists it. */
export interface HubFile {
  path: string
  bytes: number
  /** SHA-256 of a large file's content, else Git's id of the blob. Hexadecimal. */
  id: string
}

/** Where files that are fetched are kept, and what is kept there already. */
export interface Shelf {
  /** Whether the file is there, whole. */
  has(file: HubFile): Promise<boolean>
  /** Where the file grows while it is fetched. */
  part(file: HubFile): string
  /** Gives a file that was fetched and checked its place. */
  keep(file: HubFile): Promise<void>
}

/** The part of the cache that belongs to one repository. */
export class HubCache {
  readonly folder: string

  constructor(
    private readonly repo: HubRepo,
    env: NodeJS.ProcessEnv = process.env,
  ) {
    this.folder = join(cacheRoot(env), `${repo.kind}s--${repo.name.replaceAll('/', '--')}`)
  }

  /** Commit that the revision stood for when it was last asked for. */
  commit(): string | undefined {
    const { revision } = this.repo
    if (/^[0-9a-f]{40}$/.test(revision)) return revision
    const ref = join(this.folder, 'refs', revision)
    return existsSync(ref) && statSync(ref).isFile() ? readFileSync(ref, 'utf8').trim() : undefined
  }

  /** Folder of a commit's files. */
  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit)
  }

  async writeRef(commit: string): Promise<void> {
    const { revision } = this.repo
    if (revision === commit) return
    const ref = join(this.folder, 'refs', revision)
    await makeFolders(dirname(ref))
    await writeFile(ref, commit)
  }

  shelf(commit: string): Shelf {
    const blob = ({ id }: HubFile) => join(this.folder, 'blobs', id)
    const place = ({ path }: HubFile) => join(this.snapshot(commit), path)
    return {
      has: async (file) => {
        if (await holds(place(file), file.bytes)) return true
        if (!(await holds(blob(file), file.bytes))) return false
        await link(blob(file), place(file))
        return true
      },
      part: (file) => `${blob(file)}.incomplete`,
      keep: async (file) => {
        await rename(`${blob(file)}.incomplete`, blob(file))
        await link(blob(file), place(file))
      },
    }
  }
}

function cacheRoot(env: NodeJS.ProcessEnv): string {
  const users = env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const home = env.HF_HOME ?? join(users, 'huggingface')
  return env.HF_HUB_CACHE ?? env.HUGGINGFACE_HUB_CACHE ?? join(home, 'hub')
}

/** Windows lets only some users make links: there the file is copied. */
async function link(blob: string, place: string): Promise<void> {
  await makeFolders(dirname(place))
  await symlink(relative(dirname(place), blob), place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM' || process.platform !== 'win32') throw error
    return copyFile(blob, place)
  })
}

async function holds(path: string, bytes: number): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size === bytes,
    () => false,
  )
}

/** Where a folder's model came from, if it lies in the cache. */
export function originInCache(folder: string): { model: string; commit: string } | undefined {
  const owner = basename(dirname(dirname(folder)))
  const commit = basename(folder)
  if (basename(dirname(folder)) !== 'snapshots' || !owner.startsWith('models--')) return undefined
  return { model: owner.slice('models--'.length).replace('--', '/'), commit }
}
