/**
 * Conversions between float32 and the two 16-bit formats, on bit patterns.
 *
 * The widening functions run front to back, element i being read before float32 element i is written, so the source
 * may be the last half of the destination's own memory: a 16-bit tensor is read from disk straight into the place
 * where it will live.
 */

/** bfloat16 is the upper half of a float32: exact for every value, NaN payloads included. Lengths must be equal. */
export function widenBF16(source: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length)
  for (let i = 0; i < bits.length; i++) bits[i] = source[i]! << 16
}

/** IEEE 754 half precision to float32: exact for every value, NaN payloads included. Lengths must be equal. */
export function widenF16(source: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length)
  for (let i = 0; i < bits.length; i++) {
    const half = source[i]!
    const magnitude = half & 0x7fff
    const sign = (half & 0x8000) << 16
    if (magnitude >= 0x7c00) bits[i] = sign | 0x7f800000 | ((magnitude & 0x3ff) << 13)
    else if (magnitude >= 0x0400) bits[i] = sign | ((magnitude << 13) + 0x38000000)
    else into[i] = (sign < 0 ? -magnitude : magnitude) * 2 ** -24
  }
}

/** float32 to the nearest bfloat16, ties to even; overflow becomes infinity and NaN stays NaN. `into` may be longer. */
export function narrowBF16(source: Float32Array, into: Uint16Array): void {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length)
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i]!
    if ((value & 0x7fffffff) > 0x7f800000) into[i] = (value >>> 16) | 0x40
    else into[i] = (value + 0x7fff + ((value >>> 16) & 1)) >>> 16
  }
}
