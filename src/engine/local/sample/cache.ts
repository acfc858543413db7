/** Key-value caches: for each layer keys and values of `rows` sequences of up to `capacity` tokens. */

import type { ModelConfig } from '../../hf/config.js'
import { allocate } from '../ort/tensor.js'

type Shape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>

export const bytesPerToken = ({ layers, kvHeads, headDim }: Shape): number =>
  layers * 2 * kvHeads * headDim * 4

export class Cache {
  /** Keys and values of each layer in turn, [rows, Hkv, capacity, dh]. */
  readonly buffers: Float32Array[]
  readonly #row: number

  constructor(
    readonly shape: Shape,
    readonly rows: number,
    readonly capacity: number,
  ) {
    this.#row = shape.kvHeads * capacity * shape.headDim
    this.buffers = Array.from({ length: 2 * shape.layers }, () => allocate(rows * this.#row))
  }

  /** The first `rows` rows of buffer i. */
  view(i: number, rows: number): Float32Array {
    return this.buffers[i]!.subarray(0, rows * this.#row)
  }

  /** Copies the first `length` tokens of a row of another cache (or this one) into a row of this one. */
  copyRow(from: Cache, fromRow: number, toRow: number, length: number): void {
    const { kvHeads, headDim } = this.shape
    for (let i = 0; i < this.buffers.length; i++)
      for (let head = 0; head < kvHeads; head++) {
        const source = (fromRow * kvHeads + head) * from.capacity * headDim
        const target = (toRow * kvHeads + head) * this.capacity * headDim
        this.buffers[i]!.set(from.buffers[i]!.subarray(source, source + length * headDim), target)
      }
  }
}
