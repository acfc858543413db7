import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import * as exact from '../../../../test/support/array64.js'
import {
  errorOf,
  evaluate,
  expectDerivatives,
  forwardTolerance,
  randomTensor,
  tensorOf,
  toArray64,
} from '../../../../test/support/derivatives.js'
import { randomStream } from '../../../core/random.js'
import { startRuntime } from '../ort/runtime.js'
import { pack } from '../train/pack.js'
import { Graph, type Shape } from './graph.js'
import * as ops from './ops.js'

beforeAll(() => {
  startRuntime(1)
})

const size = fc.integer({ min: 1, max: 5 })
const small = fc.integer({ min: 1, max: 3 })

/** Checks random shapes, and the shape whose every size is 1. */
function forShapes<Name extends string>(
  sizes: Record<Name, fc.Arbitrary<number>>,
  check: (sizes: Record<Name, number>, seed: number) => void,
): void {
  const ones = Object.fromEntries(Object.keys(sizes).map((name) => [name, 1])) as Record<Name, number>
  const shapes = fc.record(sizes) as fc.Arbitrary<Record<Name, number>>
  fc.assert(fc.property(shapes, fc.nat(), check), { seed: 1, numRuns: 8, examples: [[ones, 1]] })
}

describe('values and gradients against float64', () => {
  it('linear', () => {
    forShapes({ N: size, i: size, o: size }, ({ N, i, o }, seed) =>
      expectDerivatives(
        {
          sizes: { N },
          variables: { x: ['N', i], w: [o, i] },
          build: (g, { x, w }) => ops.linear(g, x, w),
          reference: ({ x, w }) => exact.linear(x, w),
        },
        seed,
      ),
    )
  })

  it('add, scale and addBias', () => {
    forShapes({ N: size, d: size }, ({ N, d }, seed) =>
      expectDerivatives(
        {
          sizes: { N },
          variables: { x: ['N', d], y: ['N', d], b: [d] },
          build: (g, { x, y, b }) => ops.addBias(g, ops.add(g, x, ops.scale(g, y, -1.75)), b),
          reference: ({ x, y, b }) => exact.addBias(exact.add(x, exact.scale(y, -1.75)), b),
        },
        seed,
      ),
    )
  })

  it('scale by 1 is the value itself', () => {
    const g = new Graph()
    const x = g.input('x', ['N', 2])
    expect(ops.scale(g, x, 1)).toBe(x)
  })

  it('sumRows', () => {
    forShapes({ N: size, d: size }, ({ N, d }, seed) => {
      const g = new Graph()
      const x = randomTensor(randomStream(seed), [N, 2, d])
      const inputs = new Map([['x', x]])
      const [sum] = evaluate(g, [ops.sumRows(g, g.input('x', ['N', 2, d]))], inputs, { N })
      expect(errorOf(sum!, exact.sumRows(toArray64(x)).data)).toBeLessThan(forwardTolerance)
      x.release()
    })
  })

  it.each<[string, Shape]>([
    ['rows', ['N']],
    ['heads of rows', ['N*2']],
    ['rows of sequences', ['N', 3]],
    ['sequences of heads', [2, 'N', 2]],
  ])('rmsNorm over %s', (_, leading) => {
    forShapes({ N: size, d: size }, ({ N, d }, seed) =>
      expectDerivatives(
        {
          sizes: { N },
          variables: { x: [...leading, d], w: [d] },
          build: (g, { x, w }) => ops.rmsNorm(g, x, w, 1e-3),
          reference: ({ x, w }) => exact.rmsNorm(x, w, 1e-3),
        },
        seed,
      ),
    )
  })

  it('rotary', () => {
    forShapes({ B: small, S: small, heads: small, half: small }, ({ B, S, heads, half }, seed) => {
      const random = randomStream(seed, 'positions')
      // The kernel wants no sequence longer than the tables.
      const rows = 4
      const angles = Float64Array.from({ length: rows * half }, () => 7 * random.uniform())
      const table: Shape = ['positions', half]
      const [cos, sin] = [angles.map(Math.cos), angles.map(Math.sin)]
      const positions = BigInt64Array.from({ length: B * S }, () => BigInt(random.int(rows)))
      expectDerivatives(
        {
          sizes: { B, S, positions: rows },
          variables: { x: ['B', 'S', heads * 2 * half] },
          fixed: {
            at: [['B', 'S'], positions],
            cos: [table, Float32Array.from(cos)],
            sin: [table, Float32Array.from(sin)],
            negativeSin: [table, Float32Array.from(sin, (value) => -value)],
          },
          build: (g, { x, at, ...tables }) => ops.rotary(g, x, { positions: at, ...tables }),
          reference: ({ x }) =>
            exact.rotary(
              x,
              positions,
              { shape: [rows, half], data: cos },
              { shape: [rows, half], data: sin },
            ),
        },
        seed,
      )
    })
  })

  it('reshape, whether a symbolic dimension keeps its place or is inferred', () => {
    forShapes({ N: size, a: size, b: size }, ({ N, a, b }, seed) => {
      for (const [shape, sizes] of [
        [
          ['N', a, b],
          [N, a, b],
        ],
        [
          [`N*${a}`, b],
          [N * a, b],
        ],
        [
          [b, 'N', a],
          [b, N, a],
        ],
        [
          [a * b, 'N'],
          [a * b, N],
        ],
      ] as [Shape, number[]][])
        expectDerivatives(
          {
            sizes: { N },
            variables: { x: ['N', a * b] },
            build: (g, { x }) => ops.reshape(g, x, shape),
            reference: ({ x }) => exact.reshape(x, sizes),
          },
          seed,
        )
    })
  })

  it('attention', () => {
    forShapes({ B: small, heads: small, R: size, S: size, dh: small }, ({ B, heads, R, S, dh }, seed) => {
      const random = randomStream(seed, 'mask')
      // Every query sees at least one key.
      const seen = Array.from({ length: R }, () => random.int(S))
      const mask = Float32Array.from({ length: R * S }, (_, i) =>
        i % S === seen[Math.floor(i / S)] || random.int(2) === 0 ? 0 : -1e30,
      )
      const mask64 = exact.array64([R, S], (i) => mask[i]!)
      expectDerivatives(
        {
          sizes: { B, R, S },
          variables: { q: ['B', heads, 'R', dh], k: ['B', heads, 'S', dh], v: ['B', heads, 'S', dh] },
          fixed: { mask: [['R', 'S'], mask] },
          build: (g, { q, k, v, mask }) => ops.attention(g, q, k, v, mask, 0.7),
          reference: ({ q, k, v }) => exact.attention(q, k, v, mask64, 0.7),
        },
        seed,
      )
    })
  })

  it('swiglu', () => {
    forShapes({ N: size, f: size }, ({ N, f }, seed) =>
      expectDerivatives(
        {
          sizes: { N },
          variables: { gate: ['N', f], up: ['N', f] },
          build: (g, { gate, up }) => ops.swiglu(g, gate, up),
          reference: ({ gate, up }) => exact.swiglu(gate, up),
        },
        seed,
      ),
    )
  })

  it('targetLogprobs', () => {
    forShapes({ M: size, d: size, V: size }, ({ M, d, V }, seed) => {
      const random = randomStream(seed, 'targets')
      const targets = BigInt64Array.from({ length: M }, () => BigInt(random.int(V)))
      const inverse = Math.fround(0.5 + random.uniform())
      expectDerivatives(
        {
          sizes: { M },
          variables: { h: ['M', d], w: [V, d] },
          fixed: { target: [['M', 1], targets], inverse: [[], Float32Array.of(inverse)] },
          build: (g, { h, w, target, inverse }) => ops.targetLogprobs(g, h, w, target, inverse).logprobs,
          reference: ({ h, w }) => exact.pickTargets(exact.logSoftmax(h, w, inverse), targets),
        },
        seed,
      )
    })
  })

  it('targetLogprobs gives those of the whole vocabulary as well', () => {
    const g = new Graph()
    const random = randomStream(1)
    const tensors = new Map([
      ['h', randomTensor(random, [3, 4])],
      ['w', randomTensor(random, [7, 4])],
      ['target', tensorOf(BigInt64Array.of(0n, 6n, 3n), [3, 1])],
      ['inverse', tensorOf(Float32Array.of(2), [])],
    ])
    const { all } = ops.targetLogprobs(
      g,
      g.input('h', ['M', 4]),
      g.input('w', [7, 4]),
      g.input('target', ['M', 1], 'i64'),
      g.input('inverse', []),
    )
    const [actual] = evaluate(g, [all], tensors, { M: 3 })
    const expected = exact.logSoftmax(toArray64(tensors.get('h')!), toArray64(tensors.get('w')!), 2)
    expect(errorOf(actual!, expected.data)).toBeLessThan(forwardTolerance)
  })
})

describe('moveRows, with the tables of ragged sequences', () => {
  const raggedBatches = {
    lengths: fc.array(size, { minLength: 1, maxLength: 3 }),
    kvHeads: fc.integer({ min: 1, max: 2 }),
    group: fc.integer({ min: 1, max: 2 }),
    dh: small,
  }
  const batches = fc.record(raggedBatches)
  const forBatches = (check: (packed: ReturnType<typeof batchOf>, dh: number, seed: number) => void) =>
    fc.assert(
      fc.property(batches, fc.nat(), ({ dh, ...batch }, seed) => check(batchOf(batch), dh, seed)),
      { seed: 1, numRuns: 12 },
    )
  const batchOf = ({ lengths, kvHeads, group }: { lengths: number[]; kvHeads: number; group: number }) => {
    const heads = kvHeads * group
    const sequences = lengths.map((length) => ({ tokens: new Int32Array(length) }))
    const packed = pack(sequences, heads, kvHeads)
    const sizes = { N: packed.tokens, B: packed.sequences, S: packed.longest }
    const padded: Shape = ['B', kvHeads, `S*${group}`]
    return { ...packed, heads, sizes, padded, paddedSizes: [sizes.B, kvHeads, sizes.S * group] }
  }

  it('into the padded form: padding carries no gradient', () => {
    forBatches(({ heads, sizes, padded, paddedSizes, padQuery, packQuery, real }, dh, seed) => {
      expectDerivatives(
        {
          sizes,
          variables: { x: [`N*${heads}`, dh] },
          fixed: { pad: [padded, padQuery], pack: [[`N*${heads}`], packQuery] },
          build: (g, { x, pad, pack }) => ops.moveRows(g, x, pad, pack),
          reference: ({ x }) => {
            const y = exact.takeRows(x, padQuery, paddedSizes)
            return exact.array64(y.shape, (i) => (real[Math.floor(i / dh)] === 0 ? Number.NaN : y.data[i]!))
          },
        },
        seed,
      )
    })
  })

  it('out of it again: rows that are padding get a gradient of 0', () => {
    forBatches(({ heads, sizes, padded, padQuery, packQuery, real }, dh, seed) => {
      expectDerivatives(
        {
          sizes,
          variables: { x: [...padded, dh] },
          fixed: {
            pad: [padded, padQuery],
            pack: [[`N*${heads}`], packQuery],
            real: [[...padded, 1], real],
          },
          build: (g, { x, pad, pack, real }) => ops.moveRows(g, x, pack, pad, real),
          reference: ({ x }) => exact.takeRows(x, packQuery, [packQuery.length]),
        },
        seed,
      )
    })
  })
})
