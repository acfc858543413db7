/** Follows one append-only file of a run, which is cut back and written again where the run goes back to a checkpoint. */
import type { FileHandle } from 'node:fs/promises'
import { openWithin } from './files.js'
import { eachLine, parseObject } from './lines.js'

/** Bytes before the place reached that must still be what they were. */
const MARK = 512

export interface Follower {
  /** A complete line. */
  add(record: Record<string, unknown>): void
  /** The file is not what it was: what it said before no longer holds. */
  clear(): void
}

export class Tail {
  /** Complete lines that hold no JSON object. */
  damaged = 0
  /** When the file was last written; 0 before it was seen. */
  modified = 0
  readonly #root: string
  readonly #name: string
  #at = 0
  #size = -1
  #inode = 0
  #mark: Buffer = Buffer.alloc(0)

  constructor(root: string, name: string) {
    this.#root = root
    this.#name = name
  }

  /** Hands on what was written since the last call; true where there was anything new. */
  async read(follower: Follower): Promise<boolean> {
    const file = await openWithin(this.#root, this.#name)
    if (file === undefined) {
      if (this.#at === 0) return false
      this.#restart(follower)
      return true
    }
    try {
      const { size, mtimeMs, ino } = await file.stat()
      if (size === this.#size && mtimeMs === this.modified && ino === this.#inode) return false
      const before = this.#at
      const continues = ino === this.#inode && size >= this.#at && (await this.#isAsLeft(file))
      if (!continues) this.#restart(follower)
      this.#at = await eachLine(file, this.#at, ({ bytes }) => {
        const record = parseObject(bytes)
        if (record === undefined) this.damaged++
        else follower.add(record)
      })
      this.#mark = await read(file, Math.max(0, this.#at - MARK), this.#at)
      this.#size = size
      this.modified = mtimeMs
      this.#inode = ino
      return !continues || this.#at > before
    } finally {
      await file.close()
    }
  }

  async #isAsLeft(file: FileHandle): Promise<boolean> {
    return (await read(file, this.#at - this.#mark.length, this.#at)).equals(this.#mark)
  }

  #restart(follower: Follower): void {
    this.#at = 0
    this.#size = -1
    this.#mark = Buffer.alloc(0)
    this.damaged = 0
    follower.clear()
  }
}

async function read(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from)
  const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
  return bytes.subarray(0, bytesRead)
}
