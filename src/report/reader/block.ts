/**
 * The rollouts of one file as numbers: thirteen words a rollout, so that a million take 52 MB. Rows of words rather than
 * columns: a file has a hundred rows, and ten arrays each would weigh more than what they hold.
 */
import type { FileHandle } from 'node:fs/promises'
import { numberOf } from './journal.js'
import { eachLine, parseWithoutTokens } from './lines.js'
import { outcomeOf, partsOf, questionOf, type RawRecord, rateOf, rewardOf, textOf } from './record.js'

const STRIDE = 13
const field = {
  offset: 0,
  length: 1,
  line: 2,
  group: 3,
  tokens: 4,
  question: 5,
  flags: 6,
  outcome: 7,
  stop: 8,
  reward: 9,
  advantage: 10,
  rate: 11,
  score: 12,
} as const

/** Bits of `flags`; the byte above them counts 4 GiB of the file before the line. */
const bit = { trained: 1, saysYes: 2, saysNo: 4, right: 8, wrong: 16, located: 32 } as const
const kinds = ['none', 'reference', 'generated', 'solution', 'planted', 'twin'] as const
export type JudgedKind = (typeof kinds)[number]
const KIND_SHIFT = 8
const HIGH_SHIFT = 16

/** More different ones are no kinds of anything. */
const MOST_WORDS = 1000

/** Words that occur again and again, by number; 0 is none. */
export class Dictionary {
  readonly words: (string | null)[] = [null]
  readonly #numbers = new Map<string, number>()

  number(word: string | null): number {
    if (word === null) return 0
    const known = this.#numbers.get(word)
    if (known !== undefined) return known
    if (this.words.length > MOST_WORDS) return 0
    this.#numbers.set(word, this.words.length)
    return this.words.push(word) - 1
  }

  find(word: string): number {
    return this.#numbers.get(word) ?? -1
  }
}

export interface Dictionaries {
  outcomes: Dictionary
  stops: Dictionary
}

export class Block {
  readonly rows: number
  readonly damaged: number
  readonly #words: Uint32Array
  readonly #numbers: Float32Array

  constructor(rows: number, damaged: number, words: Uint32Array) {
    this.rows = rows
    this.damaged = damaged
    this.#words = words
    this.#numbers = new Float32Array(words.buffer)
  }

  /** Reads a file's complete lines. Their texts are not kept. */
  static async read(file: FileHandle, { outcomes, stops }: Dictionaries): Promise<Block> {
    let words = new Uint32Array(64 * STRIDE)
    let numbers = new Float32Array(words.buffer)
    let [rows, line, damaged] = [0, 0, 0]
    const solved = new PassRates()
    await eachLine(file, 0, ({ bytes, start, length }) => {
      const record = parseWithoutTokens(bytes)
      if (record === undefined) {
        damaged++
        line++
        return
      }
      if ((rows + 1) * STRIDE > words.length) {
        words = doubled(words)
        numbers = new Float32Array(words.buffer)
      }
      solved.add(rows, record)
      const at = rows++ * STRIDE
      words[at + field.offset] = start % 2 ** 32
      words[at + field.length] = length
      words[at + field.line] = line++
      words[at + field.group] = Number(record.group) || 0
      words[at + field.tokens] = Number(record.tokens) || 0
      words[at + field.question] = hashText(questionOf(record))
      words[at + field.flags] = flagsOf(record) | (Math.floor(start / 2 ** 32) << HIGH_SHIFT)
      words[at + field.outcome] = outcomes.number(outcomeOf(record))
      words[at + field.stop] = stops.number(textOf(record.stop))
      numbers[at + field.reward] = rewardOf(record) ?? Number.NaN
      numbers[at + field.advantage] = numberOf(record.advantage) ?? Number.NaN
      numbers[at + field.rate] = rateOf(record) ?? Number.NaN
      numbers[at + field.score] = scoreOf(record)
    })
    for (const [row, rate] of solved.rates()) numbers[row * STRIDE + field.rate] = rate
    return new Block(rows, damaged, words.slice(0, rows * STRIDE))
  }

  get bytes(): number {
    return this.#words.byteLength + 300
  }

  place(row: number): { offset: number; length: number } {
    const high = this.#word(row, 'flags') >>> HIGH_SHIFT
    return { offset: high * 2 ** 32 + this.#word(row, 'offset'), length: this.#word(row, 'length') }
  }

  /** Number of the row's line in its file. */
  line(row: number): number {
    return this.#word(row, 'line')
  }

  /** Row of a line, or -1. */
  rowOfLine(line: number): number {
    for (let row = Math.min(line, this.rows - 1); row >= 0; row--) if (this.line(row) === line) return row
    return -1
  }

  group(row: number): number {
    return this.#word(row, 'group')
  }

  tokens(row: number): number {
    return this.#word(row, 'tokens')
  }

  /** Hash of the question. */
  question(row: number): number {
    return this.#word(row, 'question')
  }

  /** Number of a word of the dictionaries. */
  outcome(row: number): number {
    return this.#word(row, 'outcome')
  }

  stop(row: number): number {
    return this.#word(row, 'stop')
  }

  /** Numbers as written, to the nearest of 32 bits; NaN where there is none. */
  number(row: number, name: 'reward' | 'advantage' | 'rate' | 'score'): number {
    return this.#numbers[row * STRIDE + field[name]]!
  }

  trained(row: number): boolean {
    return this.#has(row, 'trained')
  }

  /** Verdict of a judgment; null where it cannot be read. */
  saysYes(row: number): boolean | null {
    return this.#has(row, 'saysYes') ? true : this.#has(row, 'saysNo') ? false : null
  }

  /** Whether what was judged is right; null where nobody knows. */
  isRight(row: number): boolean | null {
    return this.#has(row, 'right') ? true : this.#has(row, 'wrong') ? false : null
  }

  /** Whether a critique of a planted error names the changed step. */
  located(row: number): boolean {
    return this.#has(row, 'located')
  }

  kind(row: number): JudgedKind {
    return kinds[(this.#word(row, 'flags') >>> KIND_SHIFT) & 0xff]!
  }

  #has(row: number, name: keyof typeof bit): boolean {
    return (this.#word(row, 'flags') & bit[name]) !== 0
  }

  #word(row: number, name: keyof typeof field): number {
    return this.#words[row * STRIDE + field[name]]!
  }
}

/** Answers do not say how often their question was solved: it is counted over their group. */
class PassRates {
  readonly #groups = new Map<unknown, { rows: number[]; solved: number }>()

  add(row: number, record: RawRecord): void {
    const { verdict, right } = partsOf(record)
    const isCompared = typeof verdict === 'string' && yesOf(verdict) === null
    if (rateOf(record) !== null || !(isCompared || typeof right === 'boolean')) return
    const group = this.#groups.get(record.group) ?? { rows: [], solved: 0 }
    this.#groups.set(record.group, group)
    group.rows.push(row)
    if (isCompared ? verdict === 'equal' : right) group.solved++
  }

  *rates(): Iterable<[row: number, rate: number]> {
    for (const { rows, solved } of this.#groups.values()) {
      for (const row of rows) yield [row, solved / rows.length]
    }
  }
}

/** GAR says `verdict`, `source` and `answer_right` of a slice, the critic `said_correct`, `kind` and `right`. */
function flagsOf(record: RawRecord): number {
  const parts = partsOf(record)
  const said = typeof parts.said_correct === 'boolean' ? parts.said_correct : yesOf(parts.verdict)
  const right = typeof parts.answer_right === 'boolean' ? parts.answer_right : parts.right
  const kind = kinds.indexOf((parts.source ?? parts.kind ?? 'none') as JudgedKind)
  return (
    (record.trained === true ? bit.trained : 0) |
    (said === true ? bit.saysYes : said === false ? bit.saysNo : 0) |
    (right === true ? bit.right : right === false ? bit.wrong : 0) |
    (parts.planted != null && parts.first_error === parts.planted ? bit.located : 0) |
    (Math.max(0, kind) << KIND_SHIFT)
  )
}

function yesOf(verdict: unknown): boolean | null {
  return verdict === 'YES' ? true : verdict === 'NO' ? false : null
}

/** p_YES, or the critic's score. */
function scoreOf(record: RawRecord): number {
  const { p_yes, score } = partsOf(record)
  return numberOf(p_yes) ?? numberOf(score) ?? Number.NaN
}

/** FNV-1a over UTF-16 units; 0 for no text. */
export function hashText(text: string | null): number {
  if (text === null) return 0
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0 || 1
}

function doubled(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * words.length)
  larger.set(words)
  return larger
}
