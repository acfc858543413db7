/**
 * Every write of a run goes through here: durable where it must be, and with one sentence for the user when the disk
 * refuses. Passed in rather than imported, so that tests can play a full disk or a sudden death at any write.
 */
import { type FileHandle, open, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CheckpointError, messageOf } from '../core/errors.js'
import { makeFolders, syncFolder } from '../core/folders.js'

export interface Disk {
  /** Adds text to the end of a file and waits until it is on the disk. */
  append(path: string, text: string): Promise<void>
  /** Writes a whole file, not yet synced. */
  write(path: string, text: string): Promise<void>
  /** Renames, and waits until the new name is on the disk. */
  rename(from: string, to: string): Promise<void>
  /** Waits until a file, or everything in a folder, is on the disk. */
  sync(path: string): Promise<void>
  truncate(path: string, bytes: number): Promise<void>
  /** Removes a file or a folder, if there is one. */
  remove(path: string): Promise<void>
  /** Makes a folder and the folders above it. */
  folder(path: string): Promise<void>
}

export const disk: Disk = {
  append: (path, text) =>
    withFile(path, 'a', async (file) => {
      await file.appendFile(text)
      await file.datasync()
    }),
  write: (path, text) => writeFile(path, text),
  async rename(from, to) {
    await rename(from, to)
    await syncFolder(dirname(to))
  },
  async sync(path) {
    if (!(await stat(path)).isDirectory()) return withFile(path, 'r+', (file) => file.sync())
    for (const name of await readdir(path)) await disk.sync(join(path, name))
    await syncFolder(path)
  },
  truncate: (path, bytes) => truncate(path, bytes),
  remove: (path) => rm(path, { recursive: true, force: true }),
  folder: async (path) => {
    await makeFolders(path)
  },
}

async function withFile<T>(path: string, flags: string, work: (file: FileHandle) => Promise<T>) {
  const file = await open(path, flags)
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

/** Does work that writes into a run, and says it in the user's words when the disk refuses. */
export async function writing<T>(run: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (diskCode(error) === undefined) throw error
    const full = isFull(error)
    const reason = full ? 'the disk is full' : messageOf(error)
    throw new CheckpointError(`${run}: ${what} could not be written: ${reason}.`, {
      hint: `${full ? 'Free some space' : 'Mend that'}, then continue from the last checkpoint, which is intact: sparring train --run ${run} --resume`,
      cause: error,
    })
  }
}

/** Whether a write failed for want of space. */
export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(diskCode(error) ?? '')
}

/** The operating system's code of a failed write, also where the engine wrapped the error. */
function diskCode(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (typeof code === 'string' && /^E[A-Z]{2,}$/.test(code)) return code
    if (/\bENOSPC\b|no space left on device|disk is full/i.test(cause.message)) return 'ENOSPC'
  }
  return undefined
}
