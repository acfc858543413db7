/** Compares a compiled graph and its gradients, float32, with a function in float64 and its finite differences. */
import { expect } from 'vitest'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import { extract, Graph, gradients, type Shape, type Value } from '../../src/engine/local/graph/graph.js'
import { CompiledProgram, type Sizes, shapeOf } from '../../src/engine/local/graph/program.js'
import { allocate, Tensor, type TensorData } from '../../src/engine/local/ort/tensor.js'
import type { Array64 } from './array64.js'

/** What is kept of float32 in a short computation, relative to the largest entry. */
export const forwardTolerance = 1e-5
export const gradientTolerance = 1e-4

/** A float tensor whose entries lie in ±[0.25, 1.5]: no row is so small that its norm amplifies rounding. */
export function randomTensor(random: RandomStream, shape: readonly number[]): Tensor {
  const data = allocate(shape.reduce((product, size) => product * size, 1))
  for (let i = 0; i < data.length; i++)
    data[i] = (random.int(2) === 0 ? -1 : 1) * (0.25 + 1.25 * random.uniform())
  return new Tensor(data, shape)
}

/** A tensor of the given entries, in memory that does not move. */
export function tensorOf(values: TensorData, shape: readonly number[]): Tensor {
  const memory = new ArrayBuffer(Math.max(64, values.byteLength))
  const data = new (values.constructor as new (b: ArrayBuffer, o: number, n: number) => TensorData)(
    memory,
    0,
    values.length,
  )
  data.set(values as never)
  return new Tensor(data, shape)
}

export const toArray64 = (tensor: Tensor): Array64 => ({
  shape: tensor.shape,
  data: Float64Array.from(tensor.data as Float32Array),
})

/**
 * Largest |actual - expected|, relative to the largest |expected|. Where all that is expected is below 0.1 the error is
 * absolute (times 10): a derivative that vanishes is a sum of terms of size 1 that cancel. Entries expected to be NaN
 * do not matter.
 */
export function errorOf(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY
  let error = 0
  let size = 0.1
  for (let i = 0; i < expected.length; i++) {
    if (Number.isNaN(expected[i])) continue
    const difference = Math.abs(actual[i]! - expected[i]!)
    error = Math.max(error, Number.isFinite(difference) ? difference : Number.POSITIVE_INFINITY)
    size = Math.max(size, Math.abs(expected[i]!))
  }
  return error / size
}

/** Σ weight y over the entries of y that matter. */
export function functional(y: Array64, weights: ArrayLike<number>): number {
  return y.data.reduce((sum, value, i) => (Number.isNaN(value) ? sum : sum + weights[i]! * value), 0)
}

/** Central differences of f by every entry of x, which f reads; x is left as it was. */
export function finiteDifferences(f: () => number, x: Float64Array, step = 1e-5): Float64Array {
  return x.map((value, i) => {
    x[i] = value + step
    const above = f()
    x[i] = value - step
    const below = f()
    x[i] = value
    return (above - below) / (2 * step)
  })
}

/** Row vectors of ones, which programs read where they sum over rows. */
export function onesFor(inputs: readonly Value[], sizes: Sizes): Map<string, Tensor> {
  const ones = inputs.filter(({ name }) => name.startsWith('ones_'))
  return new Map(
    ones.map(({ name, shape }) => {
      const size = shapeOf(shape, sizes)
      return [name, new Tensor(allocate(size[0]! * size[1]!).fill(1), size)]
    }),
  )
}

/** Runs what computes `outputs` from graph inputs and `boundary` on tensors by name, and gives the outputs' entries. */
export function evaluate(
  g: Graph,
  outputs: readonly Value[],
  inputs: ReadonlyMap<string, Tensor>,
  sizes: Sizes = {},
  boundary: ReadonlySet<Value> = new Set(),
): Float32Array[] {
  // The outputs of a program have names of their own, even where one value is asked for twice.
  const copies = outputs.map((value) => g.op('Identity', [value], value.shape))
  const program = new CompiledProgram(extract('tested', copies, boundary))
  const ones = onesFor(program.program.inputs, sizes)
  const results = copies.map(({ shape }) => {
    const size = shapeOf(shape, sizes)
    return new Tensor(allocate(size.reduce((a, b) => a * b, 1)).fill(Number.NaN), size)
  })
  program.run(inputs, ones, new Map(copies.map(({ name }, i) => [name, results[i]!])))
  program.release()
  for (const tensor of [...ones.values(), ...results]) tensor.release()
  return results.map(({ data }) => data as Float32Array)
}

export interface Operation<Variable extends string, Fixed extends string> {
  sizes?: Sizes
  /** Shapes of the inputs that it is differentiated by. */
  variables: Record<Variable, Shape>
  /** Indices, masks and tables. */
  fixed?: Record<Fixed, [Shape, TensorData]>
  build(g: Graph, inputs: Record<Variable | Fixed, Value>): Value
  /** The same in float64; NaN at entries that do not matter. */
  reference(variables: Record<Variable, Array64>): Array64
}

/** Holds the operation's value at random inputs, and the gradients of a random linear functional of it, to the reference. */
export function expectDerivatives<Variable extends string, Fixed extends string = never>(
  operation: Operation<Variable, Fixed>,
  seed: number,
): void {
  const sizes = operation.sizes ?? {}
  const random = randomStream(seed, 'derivatives')
  const g = new Graph()
  const values = new Map<string, Value>()
  const tensors = new Map<string, Tensor>()
  const dtypes = { Float32Array: 'f32', Int32Array: 'i32', BigInt64Array: 'i64' } as const
  for (const [name, shape] of Object.entries<Shape>(operation.variables)) {
    values.set(name, g.input(name, shape))
    tensors.set(name, randomTensor(random, shapeOf(shape, sizes)))
  }
  const variables = [...values.keys()] as Variable[]
  for (const [name, [shape, data]] of Object.entries<[Shape, TensorData]>(operation.fixed ?? {})) {
    values.set(name, g.input(name, shape, dtypes[data.constructor.name as keyof typeof dtypes]))
    tensors.set(name, tensorOf(data, shapeOf(shape, sizes)))
  }
  const y = operation.build(g, Object.fromEntries(values) as Record<Variable | Fixed, Value>)
  const dy = g.input('dy', y.shape)
  const weights = randomTensor(random, shapeOf(y.shape, sizes))
  tensors.set('dy', weights)
  const wrt = variables.map((name) => values.get(name)!)
  const [actual, ...slopes] = evaluate(g, [y, ...gradients(g, new Map([[y, dy]]), wrt)], tensors, sizes)

  const exact = Object.fromEntries(variables.map((name) => [name, toArray64(tensors.get(name)!)]))
  const f = () => operation.reference(exact as Record<Variable, Array64>)
  expect(shapeOf(y.shape, sizes)).toEqual(f().shape)
  expect(errorOf(actual!, f().data)).toBeLessThan(forwardTolerance)
  for (const [i, name] of variables.entries()) {
    const expected = finiteDifferences(() => functional(f(), weights.data as Float32Array), exact[name]!.data)
    expect(errorOf(slopes[i]!, expected), `gradient of ${name}`).toBeLessThan(gradientTolerance)
  }
  for (const tensor of tensors.values()) tensor.release()
}
