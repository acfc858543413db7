/** Turns sequences of different lengths into micro-batches in which only attention ever sees padding. */
import type { Datum } from '../../../core/datum.js'
import { allocate, allocateInts, allocateLongs } from '../ort/tensor.js'

/**
 * Splits sequences into micro-batches of at most `tokenBudget` tokens. Sorting by length puts like beside like, so that
 * attention pads little, and the longest first: if memory does not suffice, that shows at once.
 * Returns indices into `lengths`.
 */
export function planMicroBatches(lengths: readonly number[], tokenBudget: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b)
  const batches: number[][] = []
  let tokens = Number.POSITIVE_INFINITY
  for (const i of order) {
    if (tokens + lengths[i]! > tokenBudget) {
      batches.push([])
      tokens = 0
    }
    batches.at(-1)!.push(i)
    tokens += lengths[i]!
  }
  return batches
}

/** Index tables of one micro-batch; see `trainingLayer` for what the names mean. */
export interface Packed {
  /** Tokens in all, N. */
  tokens: number
  sequences: number
  /** Length of the longest sequence, S. */
  longest: number
  ids: Int32Array
  positions: BigInt64Array
  padQuery: Int32Array
  packQuery: Int32Array
  padKey: Int32Array
  packKey: Int32Array
  real: Float32Array
  /** First packed row of each sequence. */
  starts: number[]
}

export function pack(sequences: readonly Pick<Datum, 'tokens'>[], heads: number, kvHeads: number): Packed {
  const lengths = sequences.map((s) => s.tokens.length)
  const tokens = lengths.reduce((a, b) => a + b, 0)
  const longest = Math.max(...lengths)
  const count = sequences.length
  const group = heads / kvHeads
  const packed: Packed = {
    tokens,
    sequences: count,
    longest,
    ids: allocateInts(tokens),
    positions: allocateLongs(tokens),
    padQuery: allocateInts(count * heads * longest),
    packQuery: allocateInts(tokens * heads),
    padKey: allocateInts(count * kvHeads * longest),
    packKey: allocateInts(tokens * kvHeads),
    real: allocate(count * heads * longest),
    starts: [],
  }
  let start = 0
  sequences.forEach((sequence, b) => {
    packed.starts.push(start)
    packed.ids.set(sequence.tokens, start)
    for (let s = 0; s < lengths[b]!; s++) {
      const row = start + s
      packed.positions[row] = BigInt(s)
      for (let k = 0; k < kvHeads; k++) {
        const keyPlace = (b * kvHeads + k) * longest + s
        packed.padKey[keyPlace] = row * kvHeads + k
        packed.packKey[row * kvHeads + k] = keyPlace
        for (let q = 0; q < group; q++) {
          const head = k * group + q
          const place = ((b * kvHeads + k) * group + q) * longest + s
          packed.padQuery[place] = row * heads + head
          packed.packQuery[row * heads + head] = place
          packed.real[place] = 1
        }
      }
    }
    start += lengths[b]!
  })
  return packed
}

/** Causal mask [G S, S]: 0 where a query may look, a number that softmax turns into 0 elsewhere. */
export function causalMask(group: number, longest: number): Float32Array {
  const mask = allocate(group * longest * longest)
  for (let g = 0; g < group; g++)
    for (let s = 0; s < longest; s++)
      mask.fill(-1e30, (g * longest + s) * longest + s + 1, (g * longest + s + 1) * longest)
  return mask
}
