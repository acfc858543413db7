/** Files and folders that a command shall write: whether they can be is found out before the work, not after it. */
import { open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError, messageOf } from '../core/errors.js'
import { isFolder, makeFolders } from '../core/folders.js'

/** Makes the folders above a file. Throws ConfigError where the file cannot be written; `flag` names it to the user. */
export async function claimFile(path: string, flag = '--out'): Promise<void> {
  if (await isFolder(path)) {
    throw new ConfigError(`${path} is a folder.`, { hint: `Name a file with ${flag}.` })
  }
  await claim(path, dirname(path), `${path}.partial`, `Name a file that can be written with ${flag}.`)
}

/** Makes a folder. Throws ConfigError where nothing can be written into it. */
export async function claimFolder(path: string, flag: string): Promise<void> {
  await claim(path, path, join(path, '.partial'), `Name a folder that can be written with ${flag}.`)
}

async function claim(path: string, folder: string, probe: string, hint: string): Promise<void> {
  try {
    await makeFolders(folder)
    await (await open(probe, 'w')).close()
    await rm(probe)
  } catch (cause) {
    throw new ConfigError(`${path} cannot be written: ${messageOf(cause)}.`, { hint, cause })
  }
}
