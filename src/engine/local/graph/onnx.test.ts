import { beforeAll, describe, expect, it } from 'vitest'
import { evaluate, tensorOf } from '../../../../test/support/derivatives.js'
import { EngineError } from '../../../core/errors.js'
import { startRuntime } from '../ort/runtime.js'
import { allocate, Tensor } from '../ort/tensor.js'
import { extract, Graph, type Shape } from './graph.js'
import { CompiledProgram } from './program.js'

beforeAll(() => {
  startRuntime(1)
})

const floats = (values: number[], shape: number[]) => tensorOf(Float32Array.from(values), shape)

/** Result of one operator on x. */
function apply(
  op: string,
  x: Tensor,
  shape: Shape,
  attributes: Record<string, number | number[] | string | { float: number }>,
  ...more: Parameters<Graph['constant']>[]
): number[] {
  const g = new Graph()
  const others = more.map(([data, size]) => g.constant(data, size))
  const y = g.op(op, [g.input('x', x.shape), ...others], shape, { attributes })
  return [...evaluate(g, [y], new Map([['x', x]]))[0]!]
}

describe('what the runtime reads from an encoded model', () => {
  let matrix: Tensor
  beforeAll(() => {
    matrix = floats([1, -2, 3, -4, 5, -6], [2, 3])
  })

  it('attributes: integers, lists of them, floats and texts', () => {
    expect(apply('Flatten', matrix, [1, 6], { axis: 0 })).toEqual([1, -2, 3, -4, 5, -6])
    expect(apply('Transpose', matrix, [3, 2], { perm: [1, 0] })).toEqual([1, -4, -2, 5, 3, -6])
    expect(apply('ReduceSum', matrix, [2], { keepdims: 0 }, [BigInt64Array.of(-1n), [1]])).toEqual([2, -5])
    expect(apply('ReduceMax', matrix, [2], { axes: [-1], keepdims: 0 })).toEqual([3, 5])
    expect(apply('LeakyRelu', matrix, [2, 3], { alpha: { float: 0.25 } })).toEqual([1, -0.5, 3, -1, 5, -1.5])
    const pads: [BigInt64Array, number[]] = [BigInt64Array.of(0n, 0n, 0n, 1n), [4]]
    expect(apply('Pad', matrix, [2, 4], { mode: 'edge' }, pads)).toEqual([1, -2, 3, 3, -4, 5, -6, -6])
    expect(apply('Pad', matrix, [2, 4], { mode: 'reflect' }, pads)).toEqual([1, -2, 3, -2, -4, 5, -6, 5])
  })

  it('constants: views into larger arrays, negative integers, scalars', () => {
    const middle = Float32Array.of(9, 9, 10, 20, 30, 9).subarray(2, 5)
    expect(apply('Add', matrix, [2, 3], {}, [middle, [3]])).toEqual([11, 18, 33, 6, 25, 24])
    const shape = BigInt64Array.of(7n, 3n, -1n).subarray(1)
    expect(apply('Reshape', matrix, [3, 2], {}, [shape, [2]])).toEqual([1, -2, 3, -4, 5, -6])
    expect(apply('Mul', matrix, [2, 3], {}, [Float32Array.of(-1), []])).toEqual([-1, 2, -3, 4, -5, 6])
    expect(apply('Gather', matrix, [3], { axis: 0 }, [BigInt64Array.of(-1n), []])).toEqual([-4, 5, -6])
  })

  it('inputs that are left out, and outputs that nobody wants', () => {
    const g = new Graph()
    const x = g.input('x', [2, 3])
    const clipped = g.op('Clip', [x, undefined, g.scalar(2)], [2, 3])
    const normalised = g.node(
      'LayerNormalization',
      [x, g.constant(Float32Array.of(1, 1, 1), [3])],
      [[2, 3], undefined, [2, 1]],
      { attributes: { epsilon: { float: 0 } } },
    )
    const [low, , inverse] = evaluate(g, [clipped, normalised[0]!, normalised[2]!], new Map([['x', matrix]]))
    expect([...low!]).toEqual([1, -2, 2, -4, 2, -6])
    // Variances of (1, -2, 3) and (-4, 5, -6): 38/9 and 206/9.
    expect(inverse![0]).toBeCloseTo(Math.sqrt(9 / 38), 6)
    expect(inverse![1]).toBeCloseTo(Math.sqrt(9 / 206), 6)
  })

  it('operators of the domain of the runtime itself', () => {
    const g = new Graph()
    const x = g.input('x', [2, 3])
    const y = g.op('FusedMatMul', [x, x], [2, 2], {
      domain: 'com.microsoft',
      attributes: { transB: 1, alpha: { float: 0.5 } },
    })
    expect([...evaluate(g, [y], new Map([['x', matrix]]))[0]!]).toEqual([7, -16, -16, 38.5])
  })

  it('indices of 32 and of 64 bits', () => {
    for (const [dtype, indices] of [
      ['i32', Int32Array.of(1, 0, -1)],
      ['i64', BigInt64Array.of(1n, 0n, -1n)],
    ] as const) {
      const g = new Graph()
      const y = g.op('Gather', [g.input('x', [2, 3]), g.input('at', [3], dtype)], [3, 3], {
        attributes: { axis: 0 },
      })
      const inputs = new Map([
        ['x', matrix],
        ['at', tensorOf(indices, [3])],
      ])
      expect([...evaluate(g, [y], inputs)[0]!]).toEqual([-4, 5, -6, 1, -2, 3, -4, 5, -6])
    }
  })

  it('sizes: names stand for any, numbers only for themselves', () => {
    const g = new Graph()
    const y = g.op('Neg', [g.input('x', ['N', 2])], ['N', 2])
    const program = new CompiledProgram(extract('negating', [y]))
    const run = (shape: number[]) => {
      const [rows, columns] = shape as [number, number]
      const out = new Tensor(allocate(rows * columns), shape)
      program.run(
        new Map([
          [
            'x',
            floats(
              Array.from({ length: rows * columns }, (_, i) => i + 1),
              shape,
            ),
          ],
          [y.name, out],
        ]),
      )
      return [...out.data]
    }
    expect(run([1, 2])).toEqual([-1, -2])
    expect(run([3, 2])).toEqual([-1, -2, -3, -4, -5, -6])
    expect(run([0, 2])).toEqual([])
    expect(() => run([2, 3])).toThrow(EngineError)
    expect(() => run([2, 3])).toThrow('in the negating graph')
    program.release()
  })
})

describe('a model that the runtime refuses', () => {
  it('is an EngineError that names the graph', () => {
    const g = new Graph()
    const program = extract('broken', [g.op('NoSuchOperator', [g.input('x', [1])], [1])])
    expect(() => new CompiledProgram(program)).toThrow(EngineError)
    expect(() => new CompiledProgram(program)).toThrow(/compiling the broken graph.*NoSuchOperator/s)
  })
})
