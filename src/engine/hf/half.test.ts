import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { narrowBF16, widenBF16, widenF16 } from './half.js'

const everyPattern = Uint16Array.from({ length: 65536 }, (_, i) => i)

/** The value of a 16-bit pattern by the definition of the format. */
function patternValue(pattern: number, exponentBits: number, fractionBits: number): number {
  const sign = pattern >> 15 ? -1 : 1
  const exponent = (pattern >> fractionBits) & (2 ** exponentBits - 1)
  const fraction = (pattern & (2 ** fractionBits - 1)) / 2 ** fractionBits
  const bias = 2 ** (exponentBits - 1) - 1
  if (exponent === 2 ** exponentBits - 1) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias)
  return sign * (1 + fraction) * 2 ** (exponent - bias)
}

function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length)
}

function narrowed(value: number): number {
  const out = new Uint16Array(1)
  narrowBF16(Float32Array.of(value), out)
  return out[0]!
}

describe('widening', () => {
  it.each([
    ['float16', widenF16, 5, 10],
    ['bfloat16', widenBF16, 8, 7],
  ] as const)('gives every %s pattern its value', (_, widen, exponentBits, fractionBits) => {
    const values = new Float32Array(65536)
    widen(everyPattern, values)
    const wrong = [...everyPattern].filter(
      (pattern) => !Object.is(values[pattern], patternValue(pattern, exponentBits, fractionBits)),
    )
    expect(wrong).toEqual([])
  })

  it('keeps sign and payload of NaN', () => {
    const values = new Float32Array(2)
    widenF16(Uint16Array.of(0xfe01, 0x7d55), values)
    expect([...bitsOf(values)]).toEqual([0xffc02000, 0x7faaa000])
  })

  it.each([
    ['float16', widenF16],
    ['bfloat16', widenBF16],
  ] as const)('works within the memory of its result (%s)', (_, widen) => {
    fc.assert(
      fc.property(fc.uint16Array({ maxLength: 40 }), (source) => {
        const apart = new Float32Array(source.length)
        widen(source, apart)
        const within = new Float32Array(source.length)
        const tail = new Uint16Array(within.buffer, 2 * source.length, source.length)
        tail.set(source)
        widen(tail, within)
        expect(bitsOf(within)).toEqual(bitsOf(apart))
      }),
    )
  })
})

describe('narrowing to bfloat16', () => {
  it('gives back every pattern that was widened, NaN as some NaN', () => {
    const values = new Float32Array(65536)
    widenBF16(everyPattern, values)
    const back = new Uint16Array(65536)
    narrowBF16(values, back)
    const quiet = (pattern: number) => ((pattern & 0x7fff) > 0x7f80 ? pattern | 0x40 : pattern)
    expect(back).toEqual(everyPattern.map(quiet))
  })

  it('picks the nearest, and of two the even one', () => {
    const magnitude = (pattern: number) => (pattern === 0x7f80 ? 2 ** 128 : patternValue(pattern, 8, 7))
    const any = fc.float({ noNaN: true, noDefaultInfinity: true })
    const midpoint = fc.nat(0x7f7e).map((pattern) => (magnitude(pattern) + magnitude(pattern + 1)) / 2)
    fc.assert(
      fc.property(fc.oneof(any, midpoint), (value) => {
        const pattern = narrowed(value) & 0x7fff
        const distance = Math.abs(magnitude(pattern) - Math.abs(value))
        for (const neighbour of [pattern - 1, pattern + 1]) {
          if (neighbour < 0 || neighbour > 0x7f80) continue
          const other = Math.abs(magnitude(neighbour) - Math.abs(value))
          expect(distance < other || (distance === other && pattern % 2 === 0)).toBe(true)
        }
        expect(narrowed(value) >> 15).toBe(Object.is(Math.sign(value), -0) || value < 0 ? 1 : 0)
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['a tie below an even one', 1 + 2 ** -8, 0x3f80],
    ['a tie below an odd one', 1 + 3 * 2 ** -8, 0x3f82],
    ['the largest float32', 3.4028234663852886e38, 0x7f80],
    ['infinity', Number.NEGATIVE_INFINITY, 0xff80],
    ['the smallest subnormal', 2 ** -149, 0],
    ['a subnormal', 2 ** -133, 1],
  ])('rounds %s', (_, value, pattern) => {
    expect(narrowed(value)).toBe(pattern)
  })

  it('never turns NaN into infinity', () => {
    const values = new Float32Array(1)
    bitsOf(values)[0] = 0x7f800001
    const out = new Uint16Array(1)
    narrowBF16(values, out)
    expect(out[0]).toBe(0x7fc0)
  })
})
