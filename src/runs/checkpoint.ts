/**
 * A checkpoint is one folder with every role's weights and optimizer state and the game's state: both sides, or
 * nothing. It is written aside, put on the disk, renamed, and only then recorded with the sums of its files.
 */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { CheckpointError } from '../core/errors.js'
import type { Policy } from '../engine/engine.js'
import type { Disk } from './disk.js'
import { type FileSums, hex, type JournalRecord } from './journal.js'

export interface CheckpointState {
  /** Rounds done. */
  round: number
  game: string
  state: unknown
}

/** Name of a checkpoint's or a round's folder: six digits. */
export function folderName(round: number): string {
  return String(round).padStart(6, '0')
}

/** Writes a checkpoint into `checkpoints` and returns the sums of its files. */
export async function writeCheckpoint(
  disk: Disk,
  checkpoints: string,
  policies: Record<string, Policy>,
  content: CheckpointState,
): Promise<FileSums> {
  const final = join(checkpoints, folderName(content.round))
  const aside = `${final}.partial`
  await disk.remove(aside)
  await disk.remove(final)
  try {
    await disk.folder(aside)
    for (const [role, policy] of Object.entries(policies)) {
      await policy.save(join(aside, role), { optimizer: true })
    }
    await disk.write(join(aside, 'state.json'), JSON.stringify(content))
    await disk.sync(aside)
    const sums = await sumFiles(aside)
    await disk.rename(aside, final)
    return sums
  } catch (error) {
    await disk.remove(aside).catch(() => {})
    throw error
  }
}

/** Index in the journal of the newest checkpoint whose files are all as they were written; -1 where there is none. */
export async function newestIntact(checkpoints: string, records: JournalRecord[]): Promise<number> {
  for (let at = records.length - 1; at >= 0; at--) {
    const record = records[at]!
    if (
      record.kind === 'checkpoint' &&
      (await isIntact(join(checkpoints, folderName(record.round)), record.files))
    ) {
      return at
    }
  }
  return -1
}

/** Whether the files of a checkpoint are as they were written. */
export async function isIntact(folder: string, files: FileSums): Promise<boolean> {
  try {
    for (const [name, { bytes }] of Object.entries(files)) {
      if ((await stat(join(folder, name))).size !== bytes) return false
    }
    for (const [name, sums] of Object.entries(files)) {
      if ((await sumFile(join(folder, name))).crc32 !== sums.crc32) return false
    }
    return true
  } catch {
    return false
  }
}

/** The rounds and game state of a checkpoint folder. */
export async function readCheckpointState(folder: string): Promise<CheckpointState> {
  const path = join(folder, 'state.json')
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new CheckpointError(`${path} cannot be read.`, {
      cause,
      hint: 'Name a checkpoint folder that is whole.',
    })
  }
}

/** Removes the checkpoint folders of all other rounds. */
export async function prune(disk: Disk, checkpoints: string, kept: ReadonlySet<number>): Promise<void> {
  for (const name of await wholeCheckpoints(checkpoints))
    if (!kept.has(Number(name))) await disk.remove(join(checkpoints, name))
}

/** Names of the checkpoint folders that were written to their end, oldest first. */
export async function wholeCheckpoints(checkpoints: string): Promise<string[]> {
  return (await readdir(checkpoints)).filter((name) => /^\d+$/.test(name)).sort()
}

async function sumFiles(folder: string, within = ''): Promise<FileSums> {
  const sums: FileSums = {}
  const entries = await readdir(join(folder, within), { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = within === '' ? entry.name : `${within}/${entry.name}`
    if (entry.isDirectory()) Object.assign(sums, await sumFiles(folder, name))
    else sums[name] = await sumFile(join(folder, name))
  }
  return sums
}

async function sumFile(path: string): Promise<{ bytes: number; crc32: string }> {
  let bytes = 0
  let crc = 0
  for await (const chunk of createReadStream(path)) {
    bytes += chunk.length
    crc = crc32(chunk, crc)
  }
  return { bytes, crc32: hex(crc) }
}
