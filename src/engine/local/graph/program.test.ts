import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { InvariantError } from '../../../core/errors.js'
import { startRuntime } from '../ort/runtime.js'
import { allocate, Tensor } from '../ort/tensor.js'
import { extract, Graph } from './graph.js'
import { CompiledProgram, elementsOf, shapeOf, sizeOf, Workspace } from './program.js'

beforeAll(() => {
  startRuntime(1)
})

describe('dimensions', () => {
  it('are numbers, names, or products of both', () => {
    const sizes = { N: 5, S: 7 }
    expect(sizeOf(3, sizes)).toBe(3)
    expect(sizeOf('N', sizes)).toBe(5)
    expect(sizeOf('N*4', sizes)).toBe(20)
    expect(sizeOf('2*S*N', sizes)).toBe(70)
    expect(shapeOf(['N', 2, 'S*3'], sizes)).toEqual([5, 2, 21])
    expect(elementsOf(['N', 2, 'S*3'], sizes)).toBe(210)
    expect(elementsOf([], sizes)).toBe(1)
    expect(sizeOf('N', { N: 0 })).toBe(0)
  })

  it('without a size are an error that names them', () => {
    expect(() => sizeOf('B*2', { N: 1 })).toThrow(InvariantError)
    expect(() => sizeOf('B*2', { N: 1 })).toThrow('B*2')
  })
})

describe('CompiledProgram', () => {
  const g = new Graph()
  const y = g.op('Neg', [g.input('x', ['N'])], ['N'])
  const tensor = (values: number[]) => {
    const data = allocate(values.length)
    data.set(values)
    return new Tensor(data, [values.length])
  }

  it('takes a tensor from the first bindings that name it, and writes in place', () => {
    const program = new CompiledProgram(extract('negating', [y]))
    const out = tensor([0, 0])
    program.run(
      new Map([['x', tensor([1, 2])]]),
      new Map([
        ['x', tensor([3, 4])],
        [y.name, out],
      ]),
    )
    expect([...out.data]).toEqual([-1, -2])
    program.release()
  })

  it('refuses to run without a tensor, by name', () => {
    const program = new CompiledProgram(extract('negating', [y]))
    expect(() => program.run(new Map([[y.name, tensor([0])]]))).toThrow(InvariantError)
    expect(() => program.run(new Map([[y.name, tensor([0])]]))).toThrow('negating graph was run without x')
    expect(() => program.run(new Map([['x', tensor([0])]]))).toThrow(y.name)
    program.release()
  })
})

describe('Workspace', () => {
  const shapes = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }), { maxLength: 12 })

  it('hands out memory that does not overlap, and the same again after a reset', () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const workspace = new Workspace(64)
        const fill = () => {
          const tensors = wanted.map((shape) => workspace.tensor(shape))
          for (const [i, { data }] of tensors.entries()) (data as Float32Array).fill(i + 1)
          for (const [i, { data, shape }] of tensors.entries()) {
            expect(shape).toEqual(wanted[i])
            expect(data).toHaveLength(elementsOf(shape, {}))
            expect((data as Float32Array).every((value) => value === i + 1)).toBe(true)
            expect(data.byteOffset % 64).toBe(0)
          }
          workspace.reset()
        }
        fill()
        const { bytes } = workspace
        fill()
        expect(workspace.bytes).toBe(bytes)
      }),
      { seed: 1, numRuns: 30 },
    )
  })

  it('grows by a whole block, or by what one tensor needs', () => {
    const workspace = new Workspace(64)
    expect(workspace.bytes).toBe(0)
    workspace.tensor([3])
    expect(workspace.bytes).toBe(4 * 64)
    workspace.tensor([10, 10])
    expect(workspace.bytes).toBe(4 * (64 + 112))
    workspace.reset()
    expect(workspace.bytes).toBe(4 * (64 + 112))
  })
})
