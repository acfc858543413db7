/**
 * The file of an evaluation that is not finished: a line with its settings, then a line for every answer as it comes
 * and one for every verdict. An answer is kept before it is graded, so that none is asked for twice.
 */
import { existsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { DataError } from '../core/errors.js'
import { Appender, type Written } from './appender.js'
import { byteLines } from './byte-lines.js'

export interface KeptAnswer {
  /** Index of the problem. */
  problem: number
  sample: number
  text: string
  tokens: number
  stop: string
}

export interface KeptVerdict {
  problem: number
  sample: number
  right: boolean
  extracted: string | null
  reason: string
}

/** An answer without its text, where the text lies, and its verdict where it has one. */
export interface KeptSample extends Omit<KeptAnswer, 'text'> {
  place: Written
  verdict?: Omit<KeptVerdict, 'problem' | 'sample'>
}

type Line =
  | { settings: unknown }
  /** A sitting begins: one process. Verdicts of another version of Sparring do not count. */
  | { sitting: { version: string } }
  | { answer: KeptAnswer; seconds: number }
  | { verdict: KeptVerdict }

export interface PartialOptions {
  path: string
  /** What the evaluation is; written first. */
  settings: object
  /** Of Sparring. */
  version: string
  /** Throws where the settings of the file are not those of this evaluation. */
  check(settings: unknown): void
}

/** How the first line of every such file begins. */
const BEGINNING = '{"settings":'

/** Longest extracted answer that is kept in memory and in verdicts. */
const MOST_EXTRACTED = 1000

export class PartialResults {
  readonly samples = new Map<string, KeptSample>()
  readonly #path: string
  readonly #began = performance.now()
  #secondsBefore = 0
  #file: Appender | undefined

  private constructor(path: string) {
    this.#path = path
  }

  /** Takes up the file where there is one. A line that a sudden end left half written, and all behind it, is cut off. */
  static async open({ path, settings, version, check }: PartialOptions): Promise<PartialResults> {
    const partial = new PartialResults(path)
    const end = await partial.#read(version, check)
    partial.#file = await Appender.open(path, end)
    if (end === 0) await partial.#file.append({ settings })
    await partial.#file.append({ sitting: { version } })
    return partial
  }

  /** Time of all sittings, seconds. */
  get seconds(): number {
    return this.#secondsBefore + (performance.now() - this.#began) / 1000
  }

  async addAnswer(answer: KeptAnswer): Promise<KeptSample> {
    const seconds = (performance.now() - this.#began) / 1000
    const place = await this.#file!.append({ answer, seconds: Number(seconds.toFixed(3)) })
    const { text: _, ...rest } = answer
    const sample = { ...rest, place }
    this.samples.set(keyOf(answer), sample)
    return sample
  }

  async addVerdict({ extracted, ...rest }: KeptVerdict): Promise<void> {
    const verdict = { ...rest, extracted: extracted?.slice(0, MOST_EXTRACTED) ?? null }
    await this.#file!.append({ verdict })
    this.#setVerdict(verdict)
  }

  /** Texts of samples, in the order asked for, one at a time. */
  async *texts(samples: Iterable<KeptSample>): AsyncGenerator<KeptAnswer> {
    const file = await open(this.#path)
    try {
      for (const { place } of samples) {
        const { buffer } = await file.read(Buffer.alloc(place.length), 0, place.length, place.start)
        yield JSON.parse(buffer.toString('utf8')).answer
      }
    } finally {
      await file.close()
    }
  }

  close(): Promise<void> {
    return this.#file!.close()
  }

  /** Returns how many bytes are whole lines. */
  async #read(version: string, check: (settings: unknown) => void): Promise<number> {
    let end = 0
    let [counts, seconds] = [false, 0]
    if (!existsSync(this.#path)) return 0
    for await (const { line: bytes, start, ended } of byteLines(this.#path)) {
      if (start === 0) checkBeginning(bytes, this.#path)
      const line = ended ? parse(bytes) : undefined
      if (line === undefined) break
      if ('settings' in line) check(line.settings)
      else if ('sitting' in line) {
        counts = line.sitting.version === version
        this.#secondsBefore += seconds
        seconds = 0
      } else if ('answer' in line) {
        const { text: _, ...answer } = line.answer
        this.samples.set(keyOf(answer), { ...answer, place: { start, length: bytes.length } })
        seconds = line.seconds
      } else if (counts && 'verdict' in line) this.#setVerdict(line.verdict)
      end = start + bytes.length + 1
    }
    this.#secondsBefore += seconds
    return end
  }

  #setVerdict({ problem, sample, ...verdict }: KeptVerdict): void {
    const kept = this.samples.get(keyOf({ problem, sample }))
    if (kept) kept.verdict = verdict
  }
}

/** Removes the file of an evaluation that has been finished since; a file of another kind stays. */
export async function removePartial(path: string): Promise<void> {
  if (!existsSync(path)) return
  const file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(BEGINNING.length), 0, BEGINNING.length, 0)
  await file.close()
  if (buffer.toString('utf8') === BEGINNING) await rm(path)
}

export function keyOf({ problem, sample }: { problem: number; sample: number }): string {
  return `${problem}.${sample}`
}

/** Throws DataError where a file begins as no evaluation's does: it would be somebody else's, and must not be cut. */
function checkBeginning(bytes: Buffer, path: string): void {
  const text = bytes.toString('utf8', 0, BEGINNING.length)
  if (text === BEGINNING.slice(0, text.length)) return
  throw new DataError(`${path} is in the way: it holds no unfinished evaluation.`, {
    hint: 'Move it away, or name another file with --out.',
  })
}

function parse(bytes: Buffer): Line | undefined {
  try {
    const value = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
