/**
 * Files of a run folder, opened so that nothing else can be: names come from links, folders and services that somebody
 * else made. A file counts where it is a regular one, reached without a link, inside the folder of the run.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'

/** Windows has neither flag, and opens no pipe by name. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens a file of a run, or says undefined where there is none that counts. `root` is a real path. */
export async function openWithin(root: string, ...names: string[]): Promise<FileHandle | undefined> {
  // A role of a query becomes part of a name, and must stay one.
  if (names.some((name) => /[/\\\0]|^\.\.?$/.test(name))) return undefined
  const path = join(root, ...names)
  if (!(await isWithin(root, dirname(path)))) return undefined
  const handle = await open(path, flags).catch(() => undefined)
  if (handle === undefined) return undefined
  const isFile = await handle.stat().then(
    (stats) => stats.isFile(),
    () => false,
  )
  if (isFile) return handle
  await handle.close()
  return undefined
}

/** Names in a folder of a run; none where it does not count. */
export async function namesWithin(root: string, ...names: string[]): Promise<string[]> {
  const path = join(root, ...names)
  if (!(await isWithin(root, path))) return []
  return readdir(path).catch(() => [])
}

/** Whether a folder is `root` or lies in it, links followed. */
export async function isWithin(root: string, folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => undefined)
  return real !== undefined && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep))
}

/** Reads a small file as text; undefined where there is none, or more than `most` bytes. */
export async function readWithin(root: string, name: string, most: number): Promise<string | undefined> {
  const handle = await openWithin(root, name)
  if (handle === undefined) return undefined
  try {
    const { size } = await handle.stat()
    return size > most ? undefined : await handle.readFile('utf8')
  } catch {
    return undefined
  } finally {
    await handle.close()
  }
}
