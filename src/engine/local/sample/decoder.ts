/** Runs the decoding program on the first rows of a cache. */
import type { Bindings, CompiledProgram } from '../graph/program.js'
import { pastKey, pastValue, presentKey, presentValue } from '../model/decoding.js'
import type { Model } from '../model/model.js'
import { allocate, allocateInts, allocateLongs, Tensor } from '../ort/tensor.js'
import type { Cache } from './cache.js'

/** What the program says of each row's next token; views that the next step overwrites. */
export interface Next {
  /** Raw, [rows, V]. */
  logprobs: Float32Array
  /** At the sampling temperature, [rows, V]. */
  probabilities: Float32Array
  /** Raw, nats, [rows]. */
  entropies: Float32Array
}

/** Buffers and their tensors for one number of rows and new tokens, reused from step to step. */
export class Decoder {
  readonly #bindings = new Map<string, Tensor>()
  readonly #x: Float32Array
  readonly #positions: BigInt64Array
  readonly #lastIndex: Int32Array
  readonly #total: Int32Array
  readonly #next: Next

  constructor(
    private readonly model: Model,
    private readonly program: CompiledProgram,
    cache: Cache,
    readonly rows: number,
    /** New tokens a row, S. */
    readonly width: number,
    temperature: number,
  ) {
    const { hiddenSize, vocabSize, kvHeads, headDim, layers } = model.config
    const bind = <T extends Tensor['data']>(name: string, data: T, shape: number[]): T => {
      this.#bindings.set(name, new Tensor(data, shape))
      return data
    }
    const count = rows * width
    this.#x = bind('x', allocate(count * hiddenSize), [rows, width, hiddenSize])
    this.#positions = bind('positions', allocateLongs(count), [rows, width])
    this.#lastIndex = bind('lastIndex', allocateInts(rows), [rows])
    this.#total = bind('total', allocateInts(1), [1])
    bind('inverseTemperature', allocate(rows).fill(temperature > 0 ? 1 / temperature : 1), [rows, 1])
    for (let layer = 0; layer < layers; layer++) {
      const shape = [rows, kvHeads, cache.capacity, headDim]
      this.#bindCache(pastKey(layer), presentKey(layer), new Tensor(cache.view(2 * layer, rows), shape))
      this.#bindCache(
        pastValue(layer),
        presentValue(layer),
        new Tensor(cache.view(2 * layer + 1, rows), shape),
      )
    }
    this.#next = {
      logprobs: bind('logprobs', allocate(rows * vocabSize), [rows, vocabSize]),
      probabilities: bind('probabilities', allocate(rows * vocabSize), [rows, vocabSize]),
      entropies: bind('entropy', allocate(rows), [rows, 1]),
    }
  }

  #bindCache(past: string, present: string, tensor: Tensor): void {
    this.#bindings.set(past, tensor)
    this.#bindings.set(present, tensor)
  }

  /** `tokens` [rows, width] go behind the `lengths` [rows] tokens that each row of the cache holds. */
  step(tokens: ArrayLike<number>, lengths: ArrayLike<number>): Next {
    this.program.run(...this.#prepare(tokens, lengths))
    return this.#next
  }

  /** The same on another thread. */
  async stepAside(tokens: ArrayLike<number>, lengths: ArrayLike<number>): Promise<Next> {
    await this.program.runAside(...this.#prepare(tokens, lengths))
    return this.#next
  }

  #prepare(tokens: ArrayLike<number>, lengths: ArrayLike<number>): Bindings[] {
    const { model, rows, width } = this
    const d = model.config.hiddenSize
    const embedding = model.embedding.data
    let longest = 0
    for (let row = 0; row < rows; row++) {
      const length = lengths[row]!
      for (let s = 0; s < width; s++) {
        const place = row * width + s
        const id = tokens[place]!
        this.#x.set(embedding.subarray(id * d, (id + 1) * d), place * d)
        this.#positions[place] = BigInt(length + s)
      }
      this.#lastIndex[row] = length + width - 1
      longest = Math.max(longest, length + width)
    }
    this.#total[0] = longest
    return [this.#bindings, model.rotary.bindings(longest), model.tensors]
  }

  release(): void {
    for (const tensor of new Set(this.#bindings.values())) tensor.release()
  }
}
