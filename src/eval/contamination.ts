/**
 * Contamination: what texts that a model learns from share with the problems of a benchmark, by runs of n words (n = 13
 * as for GPT-3, arXiv 2005.14165, appendix C). Texts are streamed past an index of the benchmark, so they may be of
 * any size.
 */
import { wordsOf } from './contamination-words.js'

/** Where a text stands. */
export interface Place {
  path: string
  /** Number of the record or row, from 1. */
  record?: number
  /** Number of the line, from 1. */
  line?: number
  /** The record's own id. */
  id?: string
}

export interface TextPiece {
  text: string
  /** Pieces that share this object are of one record. */
  place: Place
  /** Goes on from the piece before: runs of words may reach over the border. */
  continues?: boolean
}

export interface Overlap {
  id: string
  /** Words of the problem. */
  words: number
  /** Runs of n words in the problem. A problem of fewer words is one run, all of it. */
  grams: number
  /** Runs that are found in any text. */
  found: number
  /** found / grams, 0 of no words. */
  share: number
  /** Words of the longest stretch that a text shares with the problem, 0 or at least n (or the whole problem). */
  longest: number
  /** That stretch, as words. */
  stretch: string
  /** The first text that holds it. */
  place?: Place
}

export interface ContaminationSummary {
  problems: number
  n: number
  /** Records and plain files. */
  texts: number
  /** Words of all of them. */
  words: number
  /** Problems of which any run is found. */
  any: number
  /** Problems of whose runs at least half are found. */
  half: number
  /** Problems of which every run is found. */
  whole: number
  /** Problems of fewer than n words, and those of them that are found. They are in the counts above. */
  short: number
  shortFound: number
}

/** Base of the rolling hash. Every match is compared word by word, so it decides speed alone. */
const BASE = 0x01000193

/** Problems are indexed once, texts go past; then `overlaps` and `summary` tell what was found so far. */
export class ContaminationIndex {
  readonly #ids: string[]
  readonly #vocabulary = new Map<string, number>()
  /** Words of all problems in a row, as numbers of the vocabulary. */
  readonly #words: Int32Array
  /** Of each problem, and behind the last: where its words and its runs begin. */
  readonly #wordStarts: number[] = [0]
  readonly #runStarts: number[] = [0]
  /** Runs by length, shortest first, and by hash. `power` is what the hash of words before a run weighs. */
  readonly #tables: { length: number; power: number; runs: Map<number, number[]> }[] = []
  /** Of each run: its problem, whether it was found, when last, and the words of the stretch that ended with it. */
  readonly #problemOf: Int32Array
  readonly #found: Uint8Array
  readonly #lastAt: Float64Array
  readonly #stretch: Float64Array
  readonly #best: { longest: number; end: number; place?: Place }[]
  /** Of the words of the text since one that no problem has: the last n, and the hashes of all up to each. */
  readonly #recent: Int32Array
  readonly #hashes: Int32Array
  #known = 0
  #clock = 0
  #place: Place | undefined
  #texts = 0
  #textWords = 0

  constructor(
    problems: readonly { id: string; problem: string }[],
    readonly n = 13,
  ) {
    this.#ids = problems.map(({ id }) => id)
    const numbers = problems.map(({ problem }) => wordsOf(problem).map((word) => this.#number(word)))
    this.#words = Int32Array.from(numbers.flat())
    for (let length = 1, power = BASE; length <= n; length++, power = Math.imul(power, BASE)) {
      if (numbers.some((words) => Math.min(n, words.length) === length)) {
        this.#tables.push({ length, power, runs: new Map() })
      }
    }
    const problemOf: number[] = []
    for (const [p, words] of numbers.entries()) {
      const length = Math.min(n, words.length)
      for (let from = 0; length > 0 && from + length <= words.length; from++) {
        this.#enter(words.slice(from, from + length), problemOf.push(p) - 1)
      }
      this.#wordStarts.push(this.#wordStarts[p]! + words.length)
      this.#runStarts.push(problemOf.length)
    }
    this.#problemOf = Int32Array.from(problemOf)
    this.#found = new Uint8Array(problemOf.length)
    this.#lastAt = new Float64Array(problemOf.length)
    this.#stretch = new Float64Array(problemOf.length)
    this.#best = problems.map(() => ({ longest: 0, end: 0 }))
    this.#recent = new Int32Array(n + 1)
    this.#hashes = new Int32Array(n + 1)
  }

  #number(word: string): number {
    const known = this.#vocabulary.get(word)
    if (known !== undefined) return known
    this.#vocabulary.set(word, this.#vocabulary.size + 1)
    return this.#vocabulary.size
  }

  #enter(words: number[], run: number): void {
    const hash = words.reduce((sum, word) => (Math.imul(sum, BASE) + word) | 0, 0)
    const { runs } = this.#tables.find(({ length }) => length === words.length)!
    const same = runs.get(hash)
    if (same === undefined) runs.set(hash, [run])
    else same.push(run)
  }

  /** Looks a piece of text through. */
  add({ text, place, continues = false }: TextPiece): void {
    if (!continues) {
      if (place !== this.#place) this.#texts++
      this.#place = place
      this.#clock++
      this.#forget()
    }
    const size = this.n + 1
    for (const word of wordsOf(text)) {
      this.#textWords++
      this.#clock++
      const number = this.#vocabulary.get(word)
      if (number === undefined) {
        this.#forget()
        continue
      }
      const before = this.#hashes[this.#known % size]!
      const at = ++this.#known % size
      this.#recent[at] = number
      this.#hashes[at] = (Math.imul(before, BASE) + number) | 0
      this.#lookUp(this.#hashes[at]!, place)
    }
  }

  /** No run reaches over what comes now. */
  #forget(): void {
    this.#known = 0
    this.#hashes[0] = 0
  }

  /** Runs of problems that end with the newest word, of whose whole row `hash` is the hash. */
  #lookUp(hash: number, place: Place): void {
    for (const { length, power, runs } of this.#tables) {
      if (length > this.#known) return
      const earlier = this.#hashes[(this.#known - length) % (this.n + 1)]!
      const found = runs.get((hash - Math.imul(earlier, power)) | 0)
      if (found === undefined) continue
      // From the back: a stretch asks for the run before as it stood at the word before.
      for (const run of found.toReversed()) if (this.#isRun(run, length)) this.#meet(run, length, place)
    }
  }

  #startOf(run: number): number {
    const p = this.#problemOf[run]!
    return this.#wordStarts[p]! + run - this.#runStarts[p]!
  }

  #isRun(run: number, length: number): boolean {
    const start = this.#startOf(run)
    for (let k = 0; k < length; k++) {
      if (this.#recent[(this.#known - k) % (this.n + 1)] !== this.#words[start + length - 1 - k]) return false
    }
    return true
  }

  #meet(run: number, length: number, place: Place): void {
    const p = this.#problemOf[run]!
    const goesOn = run > this.#runStarts[p]! && this.#lastAt[run - 1] === this.#clock - 1
    const stretch = goesOn ? this.#stretch[run - 1]! + 1 : length
    this.#found[run] = 1
    this.#lastAt[run] = this.#clock
    this.#stretch[run] = stretch
    if (stretch > this.#best[p]!.longest) {
      this.#best[p] = { longest: stretch, end: this.#startOf(run) + length, place }
    }
  }

  /** One a problem, in their order. */
  overlaps(): Overlap[] {
    const spelt = [...this.#vocabulary.keys()]
    return this.#ids.map((id, p) => {
      const { longest, end, place } = this.#best[p]!
      const grams = this.#runStarts[p + 1]! - this.#runStarts[p]!
      const found = this.#found
        .subarray(this.#runStarts[p], this.#runStarts[p + 1])
        .reduce((a, b) => a + b, 0)
      return {
        id,
        words: this.#wordStarts[p + 1]! - this.#wordStarts[p]!,
        grams,
        found,
        share: grams > 0 ? found / grams : 0,
        longest,
        stretch: [...this.#words.subarray(end - longest, end)].map((number) => spelt[number - 1]).join(' '),
        ...(place && { place }),
      }
    })
  }

  /** Words of all texts so far. */
  get words(): number {
    return this.#textWords
  }

  summary(): ContaminationSummary {
    const all = this.overlaps()
    const count = (holds: (overlap: Overlap) => boolean) => all.filter(holds).length
    return {
      problems: all.length,
      n: this.n,
      texts: this.#texts,
      words: this.#textWords,
      any: count(({ found }) => found > 0),
      half: count(({ share }) => share >= 0.5),
      whole: count(({ share }) => share === 1),
      short: count(({ words }) => words < this.n),
      shortFound: count(({ words, found }) => words < this.n && found > 0),
    }
  }
}
