/** Fetches a file so that nothing that arrived is fetched again, and nothing that is damaged counts. */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { ServiceError } from '../core/errors.js'
import { makeFolders } from '../core/folders.js'
import type { HubFile, Shelf } from './cache.js'
import { asDiskError, type Hub } from './client.js'

export interface FetchOptions {
  signal?: AbortSignal | undefined
  note?: ((text: string) => void) | undefined
  /** Hears of bytes that are there: those of an earlier try at once, then those that arrive. */
  heard?: ((bytes: number, earlier: boolean) => void) | undefined
}

/** A connection that brings nothing for so long is given up, and another one asked for the rest. Milliseconds. */
const SILENCE = 30_000

/** How often in a row a connection may bring nothing. */
const TRIES = 3

/**
 * Puts a file onto the shelf, going on from where an earlier try ended. Throws ServiceError (the Hub failed, or what it
 * sent is damaged), DataError (the Hub refused) or CheckpointError (the disk did).
 */
export async function fetchFile(
  hub: Hub,
  file: HubFile,
  commit: string,
  shelf: Shelf,
  options: FetchOptions = {},
): Promise<void> {
  const part = shelf.part(file)
  try {
    await makeFolders(dirname(part))
    const growing = await Growing.open(part, file)
    try {
      if (growing.bytes > 0) options.heard?.(growing.bytes, true)
      await receive(hub, growing, commit, options)
    } finally {
      await growing.close()
    }
    if (!growing.isRight()) {
      await rm(part, { force: true })
      throw new ServiceError(`${basename(file.path)} arrived damaged from the Hub.`, {
        hint: 'Run the same command again: it is fetched anew.',
        retryable: true,
      })
    }
    await shelf.keep(file)
  } catch (error) {
    throw asDiskError(error, `${file.path} of the Hub`)
  }
}

/** Asks again for the rest where a connection breaks, as long as every few of them bring something. */
async function receive(hub: Hub, growing: Growing, commit: string, options: FetchOptions): Promise<void> {
  const { file } = growing
  for (let fruitless = 0; growing.bytes < file.bytes; ) {
    const before = growing.bytes
    try {
      await receiveSome(hub, growing, commit, options)
    } catch (error) {
      if (!isBroken(error) || options.signal?.aborted) throw error
      fruitless = growing.bytes > before ? 0 : fruitless + 1
      if (fruitless === TRIES) throw lost(file, growing.bytes, error)
      options.note?.(`the connection broke within ${file.path}: asking for the rest`)
      await new Promise((resolve) => setTimeout(resolve, fruitless * 1000))
    }
  }
}

async function receiveSome(hub: Hub, growing: Growing, commit: string, options: FetchOptions): Promise<void> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error('nothing arrived for 30 seconds')), SILENCE)
  try {
    const response = await hub.read(growing.file.path, commit, growing.bytes, silence.signal)
    if (growing.bytes > 0 && response.status !== 206) await growing.restart()
    for await (const chunk of response.body ?? []) {
      timer.refresh()
      await growing.add(chunk)
      options.heard?.(chunk.length, false)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Whether asking for the rest may help: not where the Hub or the disk refused. */
function isBroken(error: unknown): boolean {
  if (error instanceof ServiceError) return error.retryable
  return error instanceof Error && !('syscall' in error && 'path' in error) && error.name !== 'DataError'
}

function lost({ path, bytes }: HubFile, have: number, cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause
  const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return new ServiceError(
    `The connection to the Hub broke within ${path}, at ${have} of ${bytes} bytes: ${(why as Error).message}.`,
    { hint: 'Run the same command again: it goes on from there.', retryable: true, cause },
  )
}

/** A file that grows, and the sum of what it holds so far. */
class Growing {
  bytes = 0
  #hash: Hash

  private constructor(
    readonly file: HubFile,
    private readonly handle: FileHandle,
  ) {
    this.#hash = newHash(file)
  }

  static async open(path: string, file: HubFile): Promise<Growing> {
    const growing = new Growing(file, await open(path, 'a'))
    for await (const chunk of createReadStream(path)) growing.#count(chunk)
    if (growing.bytes > file.bytes) await growing.restart()
    return growing
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.handle.appendFile(chunk)
    this.#count(chunk)
  }

  async restart(): Promise<void> {
    await this.handle.truncate()
    this.#hash = newHash(this.file)
    this.bytes = 0
  }

  isRight(): boolean {
    return this.bytes === this.file.bytes && this.#hash.digest('hex') === this.file.id
  }

  async close(): Promise<void> {
    await this.handle.sync()
    await this.handle.close()
  }

  #count(chunk: Uint8Array): void {
    this.#hash.update(chunk)
    this.bytes += chunk.length
  }
}

/** SHA-256 for large files; Git's own sum, which begins with the length, for the others. */
function newHash({ id, bytes }: HubFile): Hash {
  return id.length === 64 ? createHash('sha256') : createHash('sha1').update(`blob ${bytes}\0`)
}

/** Whether a file on the disk is the Hub's, byte for byte. */
export async function isSame(path: string, file: HubFile): Promise<boolean> {
  const hash = newHash(file)
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex') === file.id
}
