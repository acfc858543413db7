import type { RandomStream } from '../../../core/random.js'
import type { CompiledProgram } from '../graph/program.js'
import type { Model } from '../model/model.js'
import { Cache } from './cache.js'
import { Decoder, type Next } from './decoder.js'

/** A completion in progress. */
export interface Row {
  request: number
  index: number
  random: RandomStream
  promptLength: number
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  /** Where they are asked for. */
  samplingEntropies?: number[]
}

/**
 * A batch of rows with its caches. Rows stay contiguous. Several lanes step side by side on a thread each: the kernels of
 * a small model are too short to be shared by threads without most of the time going into their meeting again.
 */
export class Lane {
  readonly rows: Row[] = []
  readonly #cache: Cache
  #decoder: Decoder | undefined

  constructor(
    private readonly model: Model,
    private readonly program: CompiledProgram,
    readonly limit: number,
    capacity: number,
    private readonly temperature: number,
  ) {
    this.#cache = new Cache(model.config, limit, capacity)
  }

  /** Adds a row that goes on behind a prompt which lies in row `from` of another cache. */
  add(row: Row, cache: Cache, from: number): void {
    this.#cache.copyRow(cache, from, this.rows.length, row.promptLength)
    this.rows.push(row)
  }

  /** One token further for every row; `aside` runs on another thread. */
  step(aside: boolean): Next | Promise<Next> {
    const { rows } = this
    if (this.#decoder?.rows !== rows.length) {
      this.#decoder?.release()
      this.#decoder = new Decoder(this.model, this.program, this.#cache, rows.length, 1, this.temperature)
    }
    const tokens = rows.map((row) => row.tokens.at(-1)!)
    const lengths = rows.map((row) => row.promptLength + row.tokens.length - 1)
    return aside ? this.#decoder.stepAside(tokens, lengths) : this.#decoder.step(tokens, lengths)
  }

  /** Takes out the row at a place; the last row, which must not have ended, moves into the gap. */
  remove(place: number): Row {
    const row = this.rows[place]!
    const last = this.rows.pop()!
    if (place < this.rows.length) {
      this.rows[place] = last
      this.#cache.copyRow(this.#cache, this.rows.length, place, last.promptLength + last.tokens.length - 1)
    }
    return row
  }

  release(): void {
    this.#decoder?.release()
  }
}
