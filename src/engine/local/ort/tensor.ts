import koffi from 'koffi'
import { EngineError } from '../../../core/errors.js'
import { check, type Handle, loadLibrary } from './library.js'
import { currentRuntime } from './runtime.js'

export type TensorData = Float32Array | Int32Array | BigInt64Array

/** ONNXTensorElementDataType of a typed array. */
const elementType = (data: TensorData) =>
  data instanceof Float32Array ? 1 : data instanceof Int32Array ? 6 : 7

/**
 * A view of memory that we own, in the library's form. It copies nothing: the library reads and writes `data`, which
 * must be backed by an ArrayBuffer outside the JavaScript heap (see `allocate`) and is kept referenced here.
 */
export class Tensor {
  readonly handle: Handle

  constructor(
    readonly data: TensorData,
    readonly shape: readonly number[],
  ) {
    const out: Handle[] = [0]
    const { api } = loadLibrary()
    check(
      api.CreateTensorWithDataAsOrtValue(
        currentRuntime().cpuMemory,
        addressOf(data),
        data.byteLength,
        BigInt64Array.from(shape, BigInt),
        shape.length,
        elementType(data),
        out,
      ),
      `viewing a tensor of shape [${shape.join(', ')}]`,
    )
    this.handle = out[0]!
  }

  release(): void {
    loadLibrary().api.ReleaseValue(this.handle)
  }
}

/** Address of the first element. The ArrayBuffer does not move; the caller keeps it referenced. */
export function addressOf(data: TensorData): bigint {
  return koffi.address(data) as bigint
}

/** Zeroed floats in memory that never moves (small typed arrays made without an explicit buffer may). */
export function allocate(length: number): Float32Array {
  return new Float32Array(reserve(length * 4), 0, length)
}

export function allocateInts(length: number): Int32Array {
  return new Int32Array(reserve(length * 4), 0, length)
}

export function allocateLongs(length: number): BigInt64Array {
  return new BigInt64Array(reserve(length * 8), 0, length)
}

function reserve(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(Math.max(64, bytes))
  } catch (cause) {
    throw new EngineError(`There is no memory for a buffer of ${(bytes / 1e9).toFixed(2)} GB.`, {
      hint: 'Take a smaller model, shorter sequences or a LoRA adapter; sparring train --dry-run shows the plan.',
      cause,
    })
  }
}
