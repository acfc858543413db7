import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunksOf, mergeResults } from './chunks.js'
import type { WireDatum } from './wire/messages.js'

const datumOf = (length: number): WireDatum => ({
  tokens: new Int32Array(length),
  inputs: { weights: { dtype: 'float32', data: new Float32Array(length) } },
})

describe('chunksOf', () => {
  it('keeps order and bounds, and sends what is too large alone', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 30 })
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 100, max: 900 }),
        (sizes, datums, bytes) => {
          const data = sizes.map(datumOf)
          const chunks = chunksOf(data, { datums, bytes })
          expect(chunks.flatMap((chunk) => chunk.data)).toEqual(data)
          for (const chunk of chunks) {
            expect(chunk.data.length).toBeLessThanOrEqual(datums)
            if (chunk.data.length > 1) expect(chunk.bytes).toBeLessThanOrEqual(bytes)
          }
        },
      ),
    )
  })
})

describe('mergeResults', () => {
  it('joins metrics by their reductions and leaves out those it cannot join', () => {
    const one = {
      logprobs: [Float32Array.of(-1)],
      metrics: { 'loss:sum': 2, 'loss:mean': 2, 'r:max': 3, 'r:min': 1, 'id:unique': 5 },
    }
    const two = {
      logprobs: [Float32Array.of(-2)],
      metrics: { 'loss:sum': 6, 'loss:mean': 6, 'r:max': 2, 'r:min': 0, 'id:unique': 5 },
    }
    expect(mergeResults([one, two], [1, 3])).toEqual({
      logprobs: [Float32Array.of(-1), Float32Array.of(-2)],
      metrics: { 'loss:sum': 8, 'loss:mean': 5, 'r:max': 3, 'r:min': 0 },
    })
    expect(mergeResults([one], [1])).toBe(one)
  })
})
