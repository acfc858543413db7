/** Typed arrays as the wire carries them: little-endian, without alignment. */

/** Bytes that are not what they should be: cut off, of a wrong type, or of a wrong length. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

export function bytesOf(values: Float32Array | Int32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

export function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(aligned(bytes, 4))
}

export function intsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(aligned(bytes, 4))
}

/** Sign-extended to 64 bits each. */
export function longBytesOf(values: ArrayLike<number>): Uint8Array {
  const words = new Int32Array(2 * values.length)
  for (let i = 0; i < values.length; i++) {
    words[2 * i] = values[i]!
    words[2 * i + 1] = values[i]! < 0 ? -1 : 0
  }
  return bytesOf(words)
}

/** 64-bit integers that fit 32 bits: token ids, lengths and offsets do. */
export function longsOf(bytes: Uint8Array): Int32Array {
  const words = new Int32Array(aligned(bytes, 8))
  const values = new Int32Array(words.length / 2)
  for (let i = 0; i < values.length; i++) {
    const low = words[2 * i]!
    if (words[2 * i + 1] !== (low < 0 ? -1 : 0))
      throw new WireError('an integer that does not fit into 32 bits')
    values[i] = low
  }
  return values
}

/** bfloat16 is the upper half of a float32. */
export function halvesOf(bytes: Uint8Array): Float32Array {
  const halves = new Uint16Array(aligned(bytes, 2))
  return new Float32Array(Uint32Array.from(halves, (half) => half * 65536).buffer)
}

/** A copy, since fields of a message lie at any address and typed arrays must not. */
function aligned(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size !== 0)
    throw new WireError(`${bytes.length} bytes where a multiple of ${size} belongs`)
  return new Uint8Array(bytes).buffer
}
