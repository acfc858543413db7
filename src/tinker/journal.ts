/**
 * The journal of requests: what a session sent to its models, written before the answer is awaited. A process that was
 * killed finds there which requests the server may have carried out, and under which number and promise.
 *
 * One JSON object a line. `send` is on the disk before the request leaves, `accepted` once the server gave a promise,
 * `settled` once its outcome was known. Keys and data are never written: payloads stand there as digests. A journal that
 * has grown is written anew with what is still of use, beside the old one, and takes its place whole.
 */
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CheckpointError, messageOf } from '../core/errors.js'
import { makeFolders, syncFolder } from '../core/folders.js'
import { JournalState, type Line, line, type Past } from './journal-state.js'

const fileName = 'requests.jsonl'

/** Bytes below which a journal is not written anew, and how many times what is of use it may hold. */
const leastBytes = 256 * 1024
const mostTimes = 4

export class Journal {
  /** The last session that was journaled here before this process. */
  readonly past: Past | undefined
  /** The last write that was begun or is to begin, and that one while it is still to begin. */
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #lines: string[] = []
  #bytes: number
  #limit: number

  private constructor(
    private file: FileHandle,
    private readonly path: string,
    private readonly state: JournalState,
    bytes: number,
  ) {
    this.past = state.past
    this.#bytes = bytes
    this.#limit = Math.max(leastBytes, bytes)
  }

  /** Opens the journal of a folder, which is made where there is none. A last line that was cut off is dropped. */
  static async open(folder: string): Promise<Journal> {
    const path = join(folder, fileName)
    try {
      await makeFolders(folder)
      const text = await readFile(path, 'utf8').catch((error) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      const whole = text.slice(0, text.lastIndexOf('\n') + 1)
      const state = stateOf(whole, path)
      await rm(anew(path), { force: true })
      const file = await open(path, 'a')
      const bytes = Buffer.byteLength(whole)
      await file.truncate(bytes)
      return new Journal(file, path, state, bytes)
    } catch (cause) {
      if (cause instanceof CheckpointError) throw cause
      throw new CheckpointError(`${path} cannot be opened: ${messageOf(cause)}.`, { cause })
    }
  }

  session(session: string, url: string): Promise<void> {
    return this.#write({ event: 'session', session, url })
  }

  resumed(): Promise<void> {
    return this.#write({ event: 'resumed' })
  }

  /** Gives the id of the entry; resolves when it is on the disk. */
  async send(entry: Omit<Extract<Line, { event: 'send' }>, 'event' | 'id'>): Promise<number> {
    const id = this.state.nextId
    await this.#write({ event: 'send', id, ...entry })
    return id
  }

  unloaded(model: string): Promise<void> {
    return this.#write({ event: 'unloaded', model })
  }

  /** What is known of a model's requests will not be asked for again. */
  forgotten(model: string): Promise<void> {
    return this.#write({ event: 'forgotten', model })
  }

  accepted(id: number, request: string): Promise<void> {
    return this.#write({ event: 'accepted', id, request })
  }

  settled(id: number, outcome: 'done' | 'failed', result?: unknown): Promise<void> {
    return this.#write({ event: 'settled', id, outcome, ...(result !== undefined && { result }) })
  }

  async close(): Promise<void> {
    await this.#last.catch(() => {})
    await this.file.close()
  }

  /** Lines that come while a write is under way go together in the next; after a failed write all others fail. */
  #write(entry: Line): Promise<void> {
    this.state.apply(entry)
    this.#lines.push(textOf(entry))
    if (this.#next === undefined) {
      this.#next = this.#last.then(() => {
        this.#next = undefined
        return this.#flush()
      })
      this.#next.catch(() => {})
      this.#last = this.#next
    }
    return this.#next
  }

  async #flush(): Promise<void> {
    const text = this.#lines.join('')
    this.#lines = []
    try {
      await this.file.appendFile(text)
      await this.file.datasync()
      this.#bytes += Buffer.byteLength(text)
      if (this.#bytes > this.#limit) await this.#renew()
    } catch (cause) {
      throw new CheckpointError(`${this.path} cannot be written: ${messageOf(cause)}.`, {
        hint: 'Make room on the disk; without its journal a run cannot be taken up safely.',
        cause,
      })
    }
  }

  /** Writes the journal anew. Where that fails the old one is whole, and goes on. */
  async #renew(): Promise<void> {
    this.state.reduce()
    const waiting = this.#lines.length
    const text = this.state.lines().map(textOf).join('')
    try {
      await writeSynced(anew(this.path), text)
    } catch {
      this.#limit = 2 * this.#bytes
      return
    }
    this.#lines.splice(0, waiting)
    await this.file.close()
    await rename(anew(this.path), this.path)
    // Or a power cut might bring the old one back, without what is written from here on.
    await syncFolder(dirname(this.path))
    this.file = await open(this.path, 'a')
    this.#bytes = Buffer.byteLength(text)
    this.#limit = Math.max(leastBytes, mostTimes * this.#bytes)
  }
}

const anew = (path: string) => `${path}.new`
const textOf = (entry: Line) => `${JSON.stringify(entry)}\n`

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(text)
    await file.datasync()
  } finally {
    await file.close()
  }
}

function stateOf(text: string, path: string): JournalState {
  const state = new JournalState()
  for (const [i, row] of text.split('\n').entries()) {
    if (row === '') continue
    const where = `${path}:${i + 1}`
    const entry = parse(row, where)
    if (entry.event !== 'session' && !state.begun) throw broken(`${where}: a request before any session`)
    state.apply(entry)
  }
  return state
}

function parse(row: string, where: string): Line {
  try {
    return line.parse(JSON.parse(row))
  } catch (cause) {
    throw broken(`${where} is no line of a journal`, cause)
  }
}

function broken(what: string, cause?: unknown): CheckpointError {
  return new CheckpointError(`${what}.`, {
    hint: 'Move the file away; the run then begins from its last saved weights.',
    cause,
  })
}
