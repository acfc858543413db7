import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and the folders above it that are missing. Rejects with the error of the system where one cannot be made;
 * Node's own `recursive` never settles where a file system refuses new folders as "not found", as /proc does.
 *
 * @returns the topmost folder that was made, or undefined where all were there.
 */
export async function makeFolders(path: string): Promise<string | undefined> {
  try {
    await mkdir(path)
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await isFolder(path))) return undefined
    const above = dirname(path)
    if (code !== 'ENOENT' || above === path || (await isFolder(above))) throw error
    const top = await makeFolders(above)
    const made = await makeFolders(path)
    return top ?? made
  }
}

/** Makes renames in a folder survive a power cut. Windows cannot open a folder, and does not need it synced. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Whether there is a folder at a path that can be looked at. */
export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
