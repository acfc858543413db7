import { extract, Graph } from '../src/engine/local/graph/graph.js'
import { CompiledProgram } from '../src/engine/local/graph/program.js'
import { startRuntime } from '../src/engine/local/ort/runtime.js'
import { allocate, Tensor } from '../src/engine/local/ort/tensor.js'

const size = 1024

/**
 * The machine's float32 matrix-product rate: 1024 x 1024 matrices on the engine's kernels, GFLOP/s, best of five bursts
 * (a burst that shared the machine with something else says nothing about the machine).
 */
export async function matmulRate(threads: number): Promise<number> {
  startRuntime(threads)
  const g = new Graph()
  const a = g.input('a', [size, size])
  const b = g.input('b', [size, size])
  const y = g.op('MatMul', [a, b], [size, size])
  const program = new CompiledProgram(extract('matrix product', [y]))
  const tensor = () => new Tensor(allocate(size * size).map(Math.random), [size, size])
  const bindings = new Map([
    ['a', tensor()],
    ['b', tensor()],
    [y.name, tensor()],
  ])
  for (let i = 0; i < 5; i++) program.run(bindings)
  let best = 0
  for (let burst = 0; burst < 5; burst++) {
    const started = performance.now()
    const products = 10
    for (let i = 0; i < products; i++) program.run(bindings)
    best = Math.max(best, (2 * size ** 3 * products) / (performance.now() - started) / 1e6)
  }
  program.release()
  for (const bound of bindings.values()) bound.release()
  return best
}
