/** A safetensors reader for tests, so that files the engine writes are not checked by the engine's own reader. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface StoredTensor {
  dtype: string
  shape: number[]
  values: Float32Array
}

/** Every tensor of the file. Knows F32, F16, BF16 and I16. */
export function readSafetensors(file: string): Map<string, StoredTensor> {
  const raw = readFileSync(file)
  const base = 8 + Number(raw.readBigUInt64LE(0))
  const header = JSON.parse(raw.subarray(8, base).toString('utf8')) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >
  const out = new Map<string, StoredTensor>()
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue
    const [start, end] = entry.data_offsets
    const bytes = new Uint8Array(raw.subarray(base + start, base + end))
    out.set(name, { dtype: entry.dtype, shape: entry.shape, values: decode(bytes, entry.dtype) })
  }
  return out
}

/** Tensors of all safetensors files of a folder whose name starts with `prefix`. */
export function readSafetensorsFolder(folder: string, prefix: string): Map<string, StoredTensor> {
  const files = readdirSync(folder).filter((f) => f.startsWith(prefix) && f.endsWith('.safetensors'))
  return new Map(files.flatMap((file) => [...readSafetensors(join(folder, file))]))
}

function decode(bytes: Uint8Array, dtype: string): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes.buffer)
  if (dtype === 'I16') return Float32Array.from(new Int16Array(bytes.buffer))
  const halves = new Uint16Array(bytes.buffer)
  if (dtype === 'BF16') return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer)
  if (dtype === 'F16') return Float32Array.from(halves, fromHalf)
  throw new Error(`This reader does not know the tensor type ${dtype}.`)
}

function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 31
  const fraction = half & 1023
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
