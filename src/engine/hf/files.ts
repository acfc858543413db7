/** What every reader and writer of model folders shares: JSON objects read with checks, files written whole or not at all. */
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { CheckpointError, DataError, messageOf, SparringError } from '../../core/errors.js'
import { syncFolder } from '../../core/folders.js'

export type JsonObject = Record<string, unknown>

/** One `write` or `read` system call moves less than 2 GiB; larger arrays go in pieces of this size. */
const pieceBytes = 2 ** 30

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** Text of a file, or undefined where there is none. Throws DataError where it cannot be read. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new DataError(`${path} cannot be read: ${messageOf(error)}.`, {
      hint: 'Check that it is a file and that you may read it.',
      cause: error,
    })
  }
}

/** The JSON object in a file, or undefined where there is no such file. Throws DataError where it holds anything else. */
export async function readJson(path: string): Promise<JsonObject | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  const hint = 'The file is damaged or only half downloaded: fetch it again.'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DataError(`${path} is not valid JSON: ${messageOf(error)}.`, { hint, cause: error })
  }
  if (!isObject(value)) throw new DataError(`${path} does not hold a JSON object.`, { hint })
  return value
}

/** Fills `bytes` from `position` of the file; the number of bytes that were there is returned. */
export async function readFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < bytes.length) {
    const length = Math.min(pieceBytes, bytes.length - done)
    const { bytesRead } = await file.read(bytes, done, length, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}

export type Write = (bytes: Uint8Array) => Promise<void>

/** A file written to disk under a temporary name. */
export interface StagedFile {
  /** Gives the file its name, replacing what had it. */
  publish(): Promise<void>
  discard(): Promise<void>
}

/**
 * Writes a file beside its final name and flushes it to the disk. Nothing is left behind when that fails: throws
 * CheckpointError where the disk refuses, and passes on whatever `produce` itself throws.
 */
export async function stageFile(path: string, produce: (write: Write) => Promise<void>): Promise<StagedFile> {
  const staged = `${path}.partial`
  const discard = () => rm(staged, { force: true })
  try {
    const file = await open(staged, 'w')
    try {
      await produce((bytes) => writeFully(file, bytes))
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    await discard()
    throw asWriteError(path, error)
  }
  const publish = () => rename(staged, path).catch((error) => Promise.reject(asWriteError(path, error)))
  return { publish, discard }
}

/** Writes a small file whole or not at all. Throws CheckpointError. */
export async function writeFileWhole(path: string, content: string): Promise<void> {
  const file = await stageFile(path, (write) => write(Buffer.from(content)))
  await file.publish()
  await syncFolder(dirname(path))
}

async function writeFully(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, Math.min(pieceBytes, bytes.length - done))
    done += bytesWritten
  }
}

/** Errors of the file system become CheckpointError; all others stay what they are. */
export function asWriteError(path: string, error: unknown): unknown {
  const code = errorCode(error)
  if (code === undefined || SparringError.isInstance(error)) return error
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CheckpointError(
      `The disk is full: ${basename(path)} could not be written to ${dirname(path)}.`,
      {
        hint: 'Free some space or choose another folder; nothing was left half-written.',
        cause: error,
      },
    )
  }
  return new CheckpointError(`${path} could not be written: ${messageOf(error)}.`, {
    hint: 'Check that the folder exists and that you may write to it.',
    cause: error,
  })
}
