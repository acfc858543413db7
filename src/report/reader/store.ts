/** The rollouts of a run, found by round and role. Files are read when they are asked for; their texts stay on the disk. */
import { setTimeout as sleep } from 'node:timers/promises'
import { folderName } from '../../runs/checkpoint.js'
import type { Coverage, RolloutRef } from '../api/rollouts.js'
import { Block, type Dictionaries, Dictionary } from './block.js'
import { namesWithin, openWithin } from './files.js'
import { LONGEST_LINE, parseObject } from './lines.js'
import type { RawRecord } from './record.js'

/** Bytes that the blocks of a run may take: two and a half million rollouts. */
const MOST_BYTES = 128 * 2 ** 20

/** Seconds to wait for files that are not read yet: at first, and of who asks for the same again, since answers cost as well. */
const FIRST = 0.25
const AGAIN = 1

/** Seconds for which reading goes on when nobody waits for it. */
const GOES_ON = 10

export interface File {
  round: number
  role: string
  block: Block
}

export class RolloutStore {
  readonly dictionaries: Dictionaries = { outcomes: new Dictionary(), stops: new Dictionary() }
  readonly #root: string
  readonly #most: number
  #rounds: number[] = []
  #roles = new Map<number, readonly string[]>()
  #blocks = new Map<number, Map<string, Block>>()
  #bytes = 0
  #asked = ''
  #reading = new Map<string, Promise<Block>>()
  /** Changes when what is being read no longer counts. */
  #era = 0

  /** What was last asked for; every role where none is named. */
  #wanted: { rounds: ReadonlySet<number>; role: string | undefined } = { rounds: new Set(), role: undefined }

  /** @param most bytes that the index of rollouts may take. */
  constructor(root: string, most = MOST_BYTES) {
    this.#root = root
    this.#most = most
  }

  /** Rounds with rollouts, ascending. */
  get rounds(): readonly number[] {
    return this.#rounds
  }

  /** Looks which rounds are there. A later one than `last` is still being written. */
  async list(last: number): Promise<void> {
    const names = await namesWithin(this.#root, 'rollouts')
    const rounds = names.flatMap((name) => {
      const round = /^round-\d{6,}$/.test(name) ? Number(name.slice('round-'.length)) : Number.NaN
      return round <= last ? [round] : []
    })
    this.#rounds = rounds.sort((a, b) => a - b)
  }

  /** Forgets everything that was read. */
  clear(): void {
    this.#era++
    this.#roles = new Map()
    this.#blocks = new Map()
    this.#reading = new Map()
    this.#bytes = 0
  }

  /** The rounds of a range, newest first. */
  within(from = 0, to = Number.MAX_SAFE_INTEGER): number[] {
    return this.#rounds.filter((round) => round >= from && round <= to).reverse()
  }

  /** Names of a round's files, without their endings. */
  async roles(round: number): Promise<readonly string[]> {
    const known = this.#roles.get(round)
    if (known) return known
    const names = await namesWithin(this.#root, 'rollouts', folder(round))
    const roles = names
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => name.slice(0, -'.jsonl'.length))
    this.#roles.set(round, roles.sort())
    return roles
  }

  /** Roles of the rounds that were looked at. */
  knownRoles(): string[] {
    return [...new Set([...this.#roles.values()].flat())].sort()
  }

  /**
   * Reads what is not read yet of some rounds, and waits for it for a moment; then it goes on for a while, so that who asks
   * again finds more.
   *
   * @param wait seconds to wait at most.
   */
  async read(
    rounds: readonly number[],
    role: string | undefined,
    wait = this.#patience(`${rounds[0]} ${rounds.length} ${role}`),
  ): Promise<Coverage> {
    const until = performance.now() + (wait + GOES_ON) * 1000
    const work = this.#readAll(rounds, role, until)
    // What goes wrong once nobody waits is found again by who asks next.
    work.catch(() => {})
    const patience = new AbortController()
    await Promise.race([work, sleep(wait * 1000, undefined, { signal: patience.signal }).catch(() => {})])
    patience.abort()
    return this.#coverage(rounds, role)
  }

  #patience(asked: string): number {
    const wait = asked === this.#asked ? AGAIN : FIRST
    this.#asked = asked
    return wait
  }

  #coverage(rounds: readonly number[], role: string | undefined): Coverage {
    const read = rounds.filter((round) => this.#isRead(round, role))
    const isFull = read.length < rounds.length && this.#bytesOf(rounds, role) >= this.#most
    let damaged = 0
    for (const { block } of this.files(read, role)) damaged += block.damaged
    return {
      read: read.length,
      of: rounds.length,
      ...(isFull && { ends: 'memory' as const }),
      ...(damaged > 0 && { damaged }),
    }
  }

  #bytesOf(rounds: Iterable<number>, role: string | undefined): number {
    let bytes = 0
    for (const { block } of this.files(rounds, role)) bytes += block.bytes
    return bytes
  }

  async #readAll(rounds: readonly number[], role: string | undefined, until: number): Promise<void> {
    const era = this.#era
    let room = this.#most - this.#bytesOf(rounds, role)
    this.#wanted = { rounds: new Set(rounds), role }
    for (const round of rounds) {
      if (this.#isRead(round, role)) continue
      if (room <= 0) return
      for (const name of role === undefined ? await this.roles(round) : [role]) {
        room -= (await this.block(round, name)).bytes
      }
      if (performance.now() > until || this.#era !== era) return
    }
  }

  #isRead(round: number, role: string | undefined): boolean {
    const wanted = role === undefined ? this.#roles.get(round) : [role]
    return wanted?.every((name) => this.#blocks.get(round)?.has(name)) ?? false
  }

  /** Files that were read, of some rounds in their order. */
  *files(rounds: Iterable<number>, role?: string): Iterable<File> {
    for (const round of rounds) {
      for (const [name, block] of this.#blocks.get(round) ?? []) {
        if (role === undefined || role === name) yield { round, role: name, block }
      }
    }
  }

  /** An empty block where there is no such file. */
  block(round: number, role: string): Promise<Block> {
    const known = this.#blocks.get(round)?.get(role)
    if (known) return Promise.resolve(known)
    const key = `${round}/${role}`
    const reading = this.#reading.get(key) ?? this.#readBlock(round, role, key)
    this.#reading.set(key, reading)
    return reading
  }

  async #readBlock(round: number, role: string, key: string): Promise<Block> {
    const era = this.#era
    const file = await openWithin(this.#root, 'rollouts', folder(round), `${role}.jsonl`)
    let block: Block
    try {
      block = file ? await Block.read(file, this.dictionaries) : new Block(0, 0, new Uint32Array())
    } catch {
      // A file that cannot be read to its end counts as damage of one line.
      block = new Block(0, 1, new Uint32Array())
    } finally {
      await file?.close()
    }
    if (this.#era !== era) return block
    this.#reading.delete(key)
    this.#keep(round, role, block)
    return block
  }

  #keep(round: number, role: string, block: Block): void {
    const files = this.#blocks.get(round) ?? new Map<string, Block>()
    this.#blocks.set(round, files)
    files.set(role, block)
    this.#bytes += block.bytes
    for (const [old, blocks] of this.#blocks) {
      if (this.#bytes <= this.#most) break
      for (const [name, { bytes }] of blocks) {
        if (this.#isWanted(old, name) || (old === round && name === role)) continue
        this.#bytes -= bytes
        blocks.delete(name)
      }
      if (blocks.size === 0) this.#blocks.delete(old)
    }
  }

  /** What is asked for goes on being asked for until all of it is there. */
  #isWanted(round: number, role: string): boolean {
    return this.#wanted.rounds.has(round) && (this.#wanted.role ?? role) === role
  }

  /** Damaged lines in what was read. */
  damaged(): { file: string; lines: number }[] {
    return [...this.files(this.#rounds)].flatMap(({ round, role, block }) =>
      block.damaged === 0 ? [] : { file: `rollouts/${folder(round)}/${role}.jsonl`, lines: block.damaged },
    )
  }

  /** The records of some rows of a file, those that cannot be read left out. */
  async records(round: number, role: string, rows: readonly number[]): Promise<[RolloutRef, RawRecord][]> {
    const block = await this.block(round, role)
    const file = await openWithin(this.#root, 'rollouts', folder(round), `${role}.jsonl`)
    if (file === undefined) return []
    const found: [RolloutRef, RawRecord][] = []
    try {
      for (const row of rows) {
        const { offset, length } = block.place(row)
        if (length > LONGEST_LINE) continue
        const bytes = Buffer.allocUnsafe(length)
        await file.read(bytes, 0, length, offset)
        const record = parseObject(bytes)
        if (record) found.push([{ round, role, line: block.line(row) }, record])
      }
    } finally {
      await file.close()
    }
    return found
  }

  /** The file itself, for those who look through all of its text. */
  open(round: number, role: string) {
    return openWithin(this.#root, 'rollouts', folder(round), `${role}.jsonl`)
  }
}

function folder(round: number): string {
  return `round-${folderName(round)}`
}
