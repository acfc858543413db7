/** sparring doctor: whether this machine can run the local engine, one line a check. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { availableParallelism, freemem, totalmem } from 'node:os'
import { ConfigError, EngineError, messageOf } from '../core/errors.js'
import { paint } from './paint.js'
import { bytes } from './progress/format.js'

interface Check {
  name: string
  /** Throws where something that is needed is missing; else says what was found. */
  find(): Promise<string>
}

const checks: Check[] = [
  { name: 'Node', find: nodeVersion },
  { name: 'koffi', find: koffiVersion },
  { name: 'ONNX Runtime', find: onnxRuntime },
  { name: 'threads', find: async () => `${availableParallelism()}` },
  { name: 'memory', find: memory },
  { name: 'matrix product', find: matrixProduct },
  { name: 'disk', find: disk },
]

/** Ends with exit status 1 where a check failed. */
export async function doctor({ json }: { json?: boolean }): Promise<void> {
  let failed = 0
  for (const { name, find } of checks) {
    const { ok, text } = await find().then(
      (text) => ({ ok: true, text }),
      (error) => ({ ok: false, text: messageOf(error) }),
    )
    if (!ok) failed++
    const mark = ok ? paint(process.stdout, 'green', 'ok  ') : paint(process.stdout, 'red', 'FAIL')
    const line = json
      ? JSON.stringify({ event: 'check', name, ok, text })
      : `${mark}  ${name.padEnd(14)}  ${text}`
    process.stdout.write(`${line}\n`)
  }
  if (json) process.stdout.write(`${JSON.stringify({ event: 'done', checks: checks.length, failed })}\n`)
  if (failed > 0) process.exitCode = 1
}

async function nodeVersion(): Promise<string> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19))
    return `${process.versions.node} (${process.platform} ${process.arch})`
  throw new ConfigError(`${process.versions.node} is too old: install 20.19 or newer`)
}

async function onnxRuntime(): Promise<string> {
  const { libraryPath, loadLibrary } = await import('../engine/local/ort/library.js')
  const path = libraryPath()
  if (!existsSync(path))
    throw new EngineError(`${path} is missing: install the package onnxruntime-node again`)
  return loadLibrary().version
}

async function koffiVersion(): Promise<string> {
  const { default: koffi } = await import('koffi')
  return koffi.version
}

async function memory(): Promise<string> {
  const limit = process.constrainedMemory()
  const total = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return `${bytes(Math.min(freemem(), total))} free of ${bytes(total)}`
}

/** Multiplies matrices on the engine's own runtime and compares a corner with plain arithmetic. */
async function matrixProduct(): Promise<string> {
  const [{ Graph, extract }, { linear }, { CompiledProgram }, { startRuntime }, { Tensor, allocate }] =
    await Promise.all([
      import('../engine/local/graph/graph.js'),
      import('../engine/local/graph/ops.js'),
      import('../engine/local/graph/program.js'),
      import('../engine/local/ort/runtime.js'),
      import('../engine/local/ort/tensor.js'),
    ])
  startRuntime(availableParallelism())
  const size = 512
  const graph = new Graph()
  const [x, w] = [graph.input('x', [size, size]), graph.input('w', [size, size])]
  const y = linear(graph, x, w)
  const program = new CompiledProgram(extract('check', [y]))
  const [left, right, out] = [x, w, y].map(() => new Tensor(allocate(size * size), [size, size]))
  left!.data.forEach((_, i) => {
    left!.data[i] = (i % 7) - 3
    right!.data[i] = (i % 5) - 2
  })
  const bindings = new Map([
    [x.name, left!],
    [w.name, right!],
    [y.name, out!],
  ])
  program.run(bindings)
  const started = performance.now()
  const times = 10
  for (let i = 0; i < times; i++) program.run(bindings)
  const seconds = (performance.now() - started) / 1000
  checkProduct(left!.data as Float32Array, right!.data as Float32Array, out!.data as Float32Array, size)
  return `right, ${((2 * size ** 3 * times) / seconds / 1e9).toFixed(0)} GFLOP/s`
}

/** The numbers are small integers, so the sums are exact in any order. */
function checkProduct(x: Float32Array, w: Float32Array, y: Float32Array, size: number): void {
  for (const [row, column] of [
    [0, 0],
    [1, 3],
    [size - 1, size - 2],
  ] as const) {
    let sum = 0
    for (let k = 0; k < size; k++) sum += x[row * size + k]! * w[column * size + k]!
    const found = y[row * size + column]!
    if (found !== sum) throw new EngineError(`element ${row},${column} is ${found}, not ${sum}`)
  }
}

/** Free space where runs are written. */
async function disk(): Promise<string> {
  const { bavail, bsize } = await statfs('.')
  const free = bavail * bsize
  if (free < 100 * 2 ** 20) throw new ConfigError(`only ${bytes(free)} free here: runs need more`)
  return `${bytes(free)} free here`
}
