import { type FileHandle, open } from 'node:fs/promises'

export interface Written {
  /** Byte offset of the line. */
  start: number
  /** Bytes of the line, its line feed left out. */
  length: number
}

/**
 * A file that JSON lines are added to. A line is on the disk before it counts; lines that come while a write is under
 * way go together in the next. After a write that failed all others fail, so that no half line comes to lie within.
 */
export class Appender {
  readonly #file: FileHandle
  #end: number
  #pending: Buffer[] = []
  /** The write that a new line will be part of; it waits for the one under way. */
  #coming: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
  }

  /** Opens the file for adding behind its first `end` bytes; what lies behind them is cut off. */
  static async open(path: string, end: number): Promise<Appender> {
    const file = await open(path, 'a')
    await file.truncate(end)
    return new Appender(file, end)
  }

  /** Resolves when the line is on the disk. */
  async append(value: object): Promise<Written> {
    const line = Buffer.from(`${JSON.stringify(value)}\n`)
    const written = { start: this.#end, length: line.length - 1 }
    this.#end += line.length
    this.#pending.push(line)
    if (this.#coming === undefined) {
      this.#coming = this.#write(this.#last)
      this.#last = this.#coming
    }
    await this.#coming
    return written
  }

  async close(): Promise<void> {
    await this.#last.catch(() => {})
    await this.#file.close()
  }

  async #write(before: Promise<void>): Promise<void> {
    await before
    const lines = this.#pending
    this.#pending = []
    this.#coming = undefined
    await this.#file.appendFile(Buffer.concat(lines))
    await this.#file.datasync()
  }
}
