/** Training data in requests of bounded size, and their answers made one. */
import type { TrainResult } from './client.js'
import type { WireDatum } from './wire/messages.js'

export interface Chunk {
  data: WireDatum[]
  /** Estimate of the encoded size. */
  bytes: number
}

/** A datum that is larger than the limit goes alone. */
export function chunksOf(data: WireDatum[], most: { datums: number; bytes: number }): Chunk[] {
  const chunks: Chunk[] = []
  let last: Chunk | undefined
  for (const datum of data) {
    const bytes = bytesOfDatum(datum)
    if (!last || last.data.length >= most.datums || last.bytes + bytes > most.bytes) {
      last = { data: [], bytes: 0 }
      chunks.push(last)
    }
    last.data.push(datum)
    last.bytes += bytes
  }
  return chunks
}

/** Metrics are joined by the reduction that their names end in; those of other reductions hold for one request alone. */
export function mergeResults(results: TrainResult[], sizes: number[]): TrainResult {
  if (results.length === 1) return results[0]!
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const joins: Record<string, (values: number[]) => number> = {
    sum: (values) => values.reduce((sum, value) => sum + value, 0),
    mean: (values) => values.reduce((sum, value, i) => sum + (value * sizes[i]!) / total, 0),
    min: (values) => Math.min(...values),
    max: (values) => Math.max(...values),
  }
  const metrics: Record<string, number> = {}
  for (const name of Object.keys(results[0]!.metrics)) {
    const join = joins[name.split(':').at(-1)!]
    const values = results.map((result) => result.metrics[name])
    if (join && values.every((value) => value !== undefined)) metrics[name] = join(values)
  }
  return { logprobs: results.flatMap(({ logprobs }) => logprobs), metrics }
}

function bytesOfDatum({ tokens, inputs }: WireDatum): number {
  const tensors = Object.values(inputs).reduce(
    (sum, { dtype, data }) => sum + 40 + data.length * (dtype === 'float32' ? 4 : 8),
    0,
  )
  return 16 + 4 * tokens.length + tensors
}
