/** Exact rational numbers, in lowest terms, the denominator positive. */
export interface Rational {
  n: bigint
  d: bigint
}

/** Thrown where a value does not exist, is not known, or is too large to be worked out; no Error, for a stack costs more than the value. */
export class NoValue {}

/** Size beyond which no number is worked out, bits. It bounds the time that any answer can take. */
const MAX_BITS = 40_000

export function rational(n: bigint, d = 1n): Rational {
  if (d === 0n) throw new NoValue()
  if (d === 1n) return { n, d }
  const divisor = gcd(n, d) * (d < 0n ? -1n : 1n)
  return { n: n / divisor, d: d / divisor }
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (y > 0n) [x, y] = [y, x % y]
  return x
}

export const add = (a: Rational, b: Rational): Rational => rational(a.n * b.d + b.n * a.d, a.d * b.d)
export const multiply = (a: Rational, b: Rational): Rational => rational(a.n * b.n, a.d * b.d)
export const divide = (a: Rational, b: Rational): Rational => rational(a.n * b.d, a.d * b.n)
export const same = (a: Rational, b: Rational): boolean => a.n === b.n && a.d === b.d
export const isInteger = ({ d }: Rational): boolean => d === 1n
export const compare = (a: Rational, b: Rational): number => {
  const [left, right] = [a.n * b.d, b.n * a.d]
  return left < right ? -1 : left > right ? 1 : 0
}
export const absolute = ({ n, d }: Rational): Rational => ({ n: n < 0n ? -n : n, d })

export function floor({ n, d }: Rational): bigint {
  const quotient = n / d
  return n < 0n && quotient * d !== n ? quotient - 1n : quotient
}

/** base^exponent where that is rational: 4^(1/2) is 2. Throws NoValue where it is not, or is too large. */
export function power(base: Rational, exponent: Rational): Rational {
  const root = exponent.d === 1n ? base : exactRoot(base, exponent.d)
  const size = exponent.n < 0n ? -exponent.n : exponent.n
  if (root.n === 0n) {
    if (exponent.n <= 0n) throw new NoValue()
    return root
  }
  if (size > 1n && (bits(root.n) - 1) * Number(size) > MAX_BITS) throw new NoValue()
  if (size > 1n && (bits(root.d) - 1) * Number(size) > MAX_BITS) throw new NoValue()
  const [n, d] = isUnit(root) ? [size % 2n === 0n ? 1n : root.n, 1n] : [root.n ** size, root.d ** size]
  if (exponent.n >= 0n) return { n, d }
  return n < 0n ? { n: -d, d: -n } : { n: d, d: n }
}

const isUnit = ({ n, d }: Rational) => d === 1n && (n === 1n || n === -1n)

/** Throws where the product would be out of bounds, so that a chain of products ends early. */
export function bounded(value: Rational): Rational {
  if (bits(value.n) > MAX_BITS || bits(value.d) > MAX_BITS) throw new NoValue()
  return value
}

function bits(value: bigint): number {
  return value === 0n ? 0 : (value < 0n ? -value : value).toString(16).length * 4
}

function exactRoot(base: Rational, degree: bigint): Rational {
  if (degree > 64n) throw new NoValue()
  if (base.n < 0n && degree % 2n === 0n) throw new NoValue()
  const sign = base.n < 0n ? -1n : 1n
  return { n: sign * integerRoot(sign * base.n, degree), d: integerRoot(base.d, degree) }
}

/** The integer whose power `value` is, by Newton's steps from above. */
function integerRoot(value: bigint, degree: bigint): bigint {
  if (value < 2n) return value
  let x = 1n << (BigInt(value.toString(2).length) / degree + 1n)
  for (;;) {
    const next = ((degree - 1n) * x + value / x ** (degree - 1n)) / degree
    if (next >= x) break
    x = next
  }
  if (x ** degree !== value) throw new NoValue()
  return x
}

/** Whether it can be written as a decimal that ends. */
export function terminates({ d }: Rational): boolean {
  let rest = d
  for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime
  return rest === 1n
}

export function toNumber({ n, d }: Rational): number {
  const shift = BigInt(Math.max(0, Math.max(bits(n), bits(d)) - 1000))
  if (shift === 0n) return Number(n) / Number(d)
  const exponent = bits(n) - bits(d)
  if (exponent > 1030) return n < 0n ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (exponent < -1080) return 0
  // 64 significant bits of the quotient, then the power of two that was taken out.
  const move = 64 - exponent
  const scaled = move >= 0 ? (n << BigInt(move)) / d : n / (d << BigInt(-move))
  return Number(scaled) * 2 ** -move
}

/** 1.25, .5, 3e-2, and what repeats: digits of the period. Undefined where the text is no numeral. */
export function parseDecimal(text: string, period = ''): Rational | undefined {
  const match = /^(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d{1,5}))?$/.exec(text)
  if (match === null || text.length > 2000) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (whole === '' && fraction === '' && period === '') return undefined
  const scale = 10n ** BigInt(fraction.length)
  const digits = BigInt(`${whole}${fraction}` || '0')
  const repeated =
    period === '' ? { n: 0n, d: 1n } : rational(BigInt(period), 10n ** BigInt(period.length) - 1n)
  const mantissa = rational(digits * repeated.d + repeated.n, scale * repeated.d)
  const power10 = Number(exponent)
  if (Math.abs(power10) > 5000) return undefined
  const ten = 10n ** BigInt(Math.abs(power10))
  return power10 < 0 ? divide(mantissa, { n: ten, d: 1n }) : multiply(mantissa, { n: ten, d: 1n })
}
