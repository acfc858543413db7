/**
 * The journal: what a run can be resumed from. One JSON record a line, each ending in a CRC-32 that continues the
 * CRC-32 of the record before it, so that a changed, lost or swapped record is found. It holds no clock times: a run that
 * was killed and resumed has the journal of one that was not.
 */
import { crc32 } from 'node:zlib'
import type { Action } from './alarm-settings.js'
import type { Disk } from './disk.js'
import { cutLines, readLines } from './lines.js'

/** Size and CRC-32 of each file of a checkpoint, by its path within. */
export type FileSums = Record<string, { bytes: number; crc32: string }>

export type JournalRecord =
  | { kind: 'round'; round: number; versions: Record<string, number>; state: string; skipped?: string }
  | { kind: 'eval'; round: number; name: string; n: number; accuracy: number }
  | { kind: 'alarm'; round: number; name: string; value: number; threshold: number; action: Action }
  /** The run went back to the checkpoint of round `to`, and learning rates are multiplied with `scale` since. */
  | { kind: 'rollback'; round: number; to: number; scale: number; alarm: string }
  | { kind: 'checkpoint'; round: number; files: FileSums }

export interface JournalReading {
  /** Records up to the first corrupt one. */
  records: JournalRecord[]
  /** 1-based line of the first corrupt record, where there is one. */
  corruptLine: number | undefined
}

const sealed = /^(.*),"crc":"([0-9a-f]{8})"\}$/

export class Journal {
  readonly #disk: Disk
  readonly #path: string
  #crc = 0

  constructor(disk: Disk, path: string) {
    this.#disk = disk
    this.#path = path
  }

  /** Writes records in one go, and waits until they are on the disk. */
  async append(records: JournalRecord[]): Promise<void> {
    let crc = this.#crc
    let lines = ''
    for (const record of records) {
      const body = JSON.stringify(record)
      crc = crc32(body, crc)
      lines += `${body.slice(0, -1)},"crc":"${hex(crc)}"}\n`
    }
    await this.#disk.append(this.#path, lines)
    this.#crc = crc
  }

  async read(): Promise<JournalReading> {
    const { lines } = await readLines(this.#path)
    const records: JournalRecord[] = []
    let crc = 0
    for (const { text } of lines) {
      const match = sealed.exec(text)
      const body = match ? `${match[1]}}` : ''
      crc = crc32(body, crc)
      if (match?.[2] !== hex(crc)) return { records, corruptLine: records.length + 1 }
      records.push(JSON.parse(body))
    }
    return { records, corruptLine: undefined }
  }

  /** Cuts everything after the first `count` records; appending goes on from there. */
  async cut(count: number): Promise<void> {
    let seen = 0
    const kept = await cutLines(this.#disk, this.#path, () => seen++ < count)
    const last = kept.at(-1)
    this.#crc = last === undefined ? 0 : Number.parseInt(sealed.exec(last)![2]!, 16)
  }
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
