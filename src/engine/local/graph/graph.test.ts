import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import * as exact from '../../../../test/support/array64.js'
import {
  errorOf,
  evaluate,
  expectDerivatives,
  finiteDifferences,
  functional,
  gradientTolerance,
  randomTensor,
  tensorOf,
  toArray64,
} from '../../../../test/support/derivatives.js'
import { InvariantError } from '../../../core/errors.js'
import { randomStream } from '../../../core/random.js'
import { startRuntime } from '../ort/runtime.js'
import { extract, Graph, gradients, keptValues, topologicalOrder, type Value } from './graph.js'
import { add, linear, moveRows, rmsNorm, scale, sumRows, swiglu, targetLogprobs } from './ops.js'

beforeAll(() => {
  startRuntime(1)
})

describe('topologicalOrder', () => {
  /** Each pair names two earlier values, modulo their number, that a new node adds. */
  const pairs = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 20 })
  const grow = (steps: [number, number][]): Value[] => {
    const g = new Graph()
    const values = [g.input('x', [1])]
    for (const [a, b] of steps)
      values.push(g.op('Add', [values[a % values.length], values[b % values.length]], [1]))
    return values
  }

  it('lists every node that an output needs, once, behind the nodes it reads from', () => {
    fc.assert(
      fc.property(pairs, (steps) => {
        const values = grow(steps)
        const order = topologicalOrder([values.at(-1)!])
        const done = new Set()
        for (const node of order) {
          for (const input of node.inputs) expect(!input?.node || done.has(input.node)).toBe(true)
          done.add(node)
        }
        expect(done.size).toBe(order.length)
        const needed = new Set([values.at(-1)!])
        for (const value of [...values].reverse())
          if (needed.has(value)) for (const input of value.node?.inputs ?? []) needed.add(input!)
        expect(done).toEqual(new Set([...needed].flatMap(({ node }) => node ?? [])))
      }),
      { seed: 1, numRuns: 50 },
    )
  })

  it('does not look behind a boundary', () => {
    const g = new Graph()
    const x = g.input('x', [2])
    const a = add(g, x, x)
    const b = add(g, a, x)
    expect(topologicalOrder([b], new Set([a]))).toEqual([b.node])
    expect(topologicalOrder([a], new Set([a]))).toEqual([])
  })
})

describe('gradients', () => {
  it('add up where a value is used several times', () => {
    expectDerivatives(
      {
        sizes: { N: 3 },
        variables: { x: ['N', 4], w: [4, 4] },
        build: (g, { x, w }) =>
          add(g, linear(g, linear(g, x, w), w), swiglu(g, add(g, x, x), scale(g, x, -0.5))),
        reference: ({ x, w }) =>
          exact.add(exact.linear(exact.linear(x, w), w), exact.swiglu(exact.add(x, x), exact.scale(x, -0.5))),
      },
      1,
    )
  })

  it('add up over several seeds, one of which depends on the other', () => {
    const g = new Graph()
    const random = randomStream(2)
    const shape = [3, 4]
    const inputs = new Map(['x', 'w', 'du', 'dv'].map((name) => [name, randomTensor(random, shape)]))
    inputs.set('w', randomTensor(random, [4, 4]))
    const [x, w] = [g.input('x', ['N', 4]), g.input('w', [4, 4])]
    const u = linear(g, x, w)
    const v = swiglu(g, u, x)
    const seeds = new Map([
      [u, g.input('du', ['N', 4])],
      [v, g.input('dv', ['N', 4])],
    ])
    const actual = evaluate(g, gradients(g, seeds, [x, w, u]), inputs, { N: 3 })

    const [x64, w64] = [toArray64(inputs.get('x')!), toArray64(inputs.get('w')!)]
    const [du, dv] = [inputs.get('du')!.data as Float32Array, inputs.get('dv')!.data as Float32Array]
    const loss = (hidden: exact.Array64) => functional(hidden, du) + functional(exact.swiglu(hidden, x64), dv)
    const u64 = exact.linear(x64, w64)
    const expected = [
      finiteDifferences(() => loss(exact.linear(x64, w64)), x64.data),
      finiteDifferences(() => loss(exact.linear(x64, w64)), w64.data),
      finiteDifferences(() => loss(u64), u64.data),
    ]
    for (const [i, slope] of actual.entries())
      expect(errorOf(slope, expected[i]!)).toBeLessThan(gradientTolerance)
  })

  it('of a seed itself is its cotangent', () => {
    const g = new Graph()
    const y = g.input('y', [2])
    const dy = g.input('dy', [2])
    expect(gradients(g, new Map([[y, dy]]), [y])).toEqual([dy])
  })

  it('make no nodes for what is not asked for', () => {
    const g = new Graph()
    const [x, w] = [g.input('x', ['N', 4]), g.input('w', [4, 4])]
    const frozen = rmsNorm(g, x, g.input('norm', [4]), 1e-5)
    const y = linear(g, frozen, w)
    const [dw] = gradients(g, new Map([[y, g.input('dy', y.shape)]]), [w])
    const { inputs, nodes } = extract('weights only', [dw!])
    expect(inputs.map(({ name }) => name).sort()).toEqual(['dy', 'norm', 'x'])
    expect(nodes.map(({ op }) => op)).toEqual(['SimplifiedLayerNormalization', 'FusedMatMul'])
  })

  it('of something that no seed depends on are an error that names it', () => {
    const g = new Graph()
    const [x, other] = [g.input('x', [2, 2]), g.input('other', [2, 2])]
    const y = add(g, x, x)
    const seeds = new Map([[y, g.input('dy', [2, 2])]])
    expect(() => gradients(g, seeds, [x, other])).toThrow(InvariantError)
    expect(() => gradients(g, seeds, [x, other])).toThrow('other')
    expect(() => gradients(g, seeds, [add(g, y, y)])).toThrow(InvariantError)
  })

  it('of an index do not exist', () => {
    const g = new Graph()
    const [index, inverse] = [g.input('index', [3], 'i32'), g.input('inverse', [3], 'i32')]
    const y = moveRows(g, g.input('x', [3, 2]), index, inverse)
    expect(() => gradients(g, new Map([[y, g.input('dy', [3, 2])]]), [index])).toThrow('index')
  })

  it('do not pass an operator that has no rule in silence', () => {
    const g = new Graph()
    const h = g.input('h', ['M', 2])
    const target = g.input('target', ['M', 1], 'i64')
    const { all } = targetLogprobs(g, h, g.input('w', [5, 2]), target, g.input('inverse', []))
    const seeds = new Map([[all, g.input('dy', all.shape)]])
    expect(() => gradients(g, seeds, [h])).toThrow(InvariantError)
    expect(() => gradients(g, seeds, [h])).toThrow('LogSoftmax')
  })
})

describe('extract', () => {
  /** A gated layer with a norm and a residual, and the gradients of it. */
  function layer() {
    const g = new Graph()
    const x = g.input('x', ['N', 4])
    const weights = [g.input('norm', [4]), g.input('up', [6, 4]), g.input('down', [4, 6])]
    const h = rmsNorm(g, x, weights[0]!, 1e-5)
    const up = linear(g, h, weights[1]!)
    const y = add(g, x, linear(g, scale(g, swiglu(g, up, up), 0.5), weights[2]!))
    const slopes = gradients(g, new Map([[y, g.input('dy', ['N', 4])]]), [x, ...weights])
    return { g, y, slopes }
  }

  it('reads graph inputs and boundary values, each once, and no constants', () => {
    const { y, slopes } = layer()
    const names = (values: readonly Value[]) => values.map(({ name }) => name).sort()
    const forward = extract('forward', [y])
    expect(names(forward.inputs)).toEqual(['down', 'norm', 'up', 'x'])
    const kept = keptValues(forward, slopes)
    const backward = extract('backward', slopes, new Set(kept))
    expect(names(backward.inputs)).toEqual([...names(kept), 'down', 'dy', 'norm', 'ones_N', 'up', 'x'].sort())
    expect(backward.outputs).toEqual(slopes)
  })

  it('with what the forward program keeps as the boundary, computes nothing of it again', () => {
    const { y, slopes } = layer()
    const forward = extract('forward', [y])
    const backward = extract('backward', slopes, new Set(keptValues(forward, slopes)))
    const made = new Set(forward.nodes)
    expect(backward.nodes.filter((node) => made.has(node))).toEqual([])
    expect(extract('recomputing', slopes).nodes.length).toBeGreaterThan(backward.nodes.length)
  })

  it('gives the same gradients from kept values as by computing them again', () => {
    const { g, y, slopes } = layer()
    const random = randomStream(3)
    const sizes = { N: 5 }
    const inputs = new Map(
      Object.entries({ x: [5, 4], norm: [4], up: [6, 4], down: [4, 6], dy: [5, 4] }).map(([name, shape]) => [
        name,
        randomTensor(random, shape),
      ]),
    )
    const kept = keptValues(extract('forward', [y]), slopes)
    const values = evaluate(g, kept, inputs, sizes)
    const tensors = kept.map(({ name, shape }, i) => {
      const size = shape.map((dim) => (dim === 'N' ? 5 : (dim as number)))
      return [name, tensorOf(values[i]!, size)] as const
    })
    const again = evaluate(g, slopes, inputs, sizes)
    const from = evaluate(g, slopes, new Map([...inputs, ...tensors]), sizes, new Set(kept))
    for (const [i, slope] of from.entries()) expect(errorOf(slope, again[i]!)).toBeLessThan(1e-6)
  })

  it('keeps of a forward program only what the backward one reads', () => {
    const g = new Graph()
    const [x, w] = [g.input('x', ['N', 2]), g.input('w', [2, 2])]
    const h = scale(g, x, 2)
    const y = add(g, scale(g, linear(g, h, w), 3), x)
    const [dw] = gradients(g, new Map([[y, g.input('dy', ['N', 2])]]), [w])
    expect(keptValues(extract('forward', [y]), [dw!])).toEqual([h])
    expect(keptValues(extract('forward', [y]), [sumRows(g, g.input('z', ['N', 2]))])).toEqual([])
  })
})
