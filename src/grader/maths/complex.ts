/** The field of complex doubles, each with a bound of its error, so that 0 and what rounding makes of it are told apart. */
import type { Field } from './evaluate.js'
import { gamma, realFunctions } from './functions.js'
import { NoValue, type Rational, toNumber } from './rational.js'
import { integrate, limit, sumToInfinity } from './series.js'

export interface Complex {
  re: number
  im: number
  /** Bound of the absolute error, from rounding alone. */
  error: number
}

const EPSILON = 2 ** -52

/** Share of a value, or of 1, that its error may reach before nothing is known of the value: that of sin(10^30). */
const CERTAINTY = 1e-7

export interface Sampling {
  /** Value of a variable at the point. */
  symbol(name: string): number
  /** What `log` without a base means: e or 10. */
  logBase: number
}

const none = (): never => {
  throw new NoValue()
}

const size = ({ re, im }: Complex) => Math.hypot(re, im)

/** Throws where the value is infinite or none, or where nothing of it is certain. */
function made(re: number, im: number, error: number): Complex {
  const magnitude = Math.hypot(re, im)
  const total = error + EPSILON * magnitude
  return Number.isFinite(magnitude) && total <= CERTAINTY * Math.max(1, magnitude)
    ? { re, im, error: total }
    : none()
}

export const real = (re: number, error = 0): Complex => made(re, 0, error)

export function complexes({ symbol, logBase }: Sampling): Field<Complex> {
  return {
    number: (value) => {
      const x = toNumber(value)
      if (x === 0 && value.n !== 0n) none()
      return value.d === 1n && Number.isSafeInteger(x) ? { re: x, im: 0, error: 0 } : made(x, 0, 0)
    },
    symbol: (name) => real(symbol(name)),
    constant: (name) => {
      if (name === 'infinity') return { re: Number.POSITIVE_INFINITY, im: 0, error: 0 }
      return name === 'i' ? { re: 0, im: 1, error: 0 } : real(name === 'pi' ? Math.PI : Math.E)
    },
    add,
    multiply,
    divide,
    power,
    exponential: (base, exponent) => exp(multiply(ln(base), exponent)),
    call: (name, args) => call(name, args, logBase),
    series: (op, from, to, body) => {
      const at = (x: number) => realOf(body({ re: x, im: 0, error: 0 }))
      const [low, high] = [from.re, to.re]
      if (op === 'limit') return approximate(limit(at, low))
      if (op === 'integral') return approximate(integrate(at, low, high))
      return op === 'sum' && high === Number.POSITIVE_INFINITY ? approximate(sumToInfinity(at, low)) : none()
    },
  }
}

function approximate({ value, error }: { value: number; error: number }): Complex {
  return real(value, error)
}

function realOf(z: Complex): number {
  return Math.abs(z.im) <= z.error ? z.re : none()
}

function add(a: Complex, b: Complex): Complex {
  return made(a.re + b.re, a.im + b.im, a.error + b.error)
}

function multiply(a: Complex, b: Complex): Complex {
  // The end of a range may be minus infinity; nothing else may be infinite.
  if (Math.abs(a.re) === Number.POSITIVE_INFINITY || Math.abs(b.re) === Number.POSITIVE_INFINITY) {
    const re = a.re * b.re
    return Number.isNaN(re) ? none() : { re, im: 0, error: 0 }
  }
  const error = size(a) * b.error + size(b) * a.error + a.error * b.error
  return made(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, error)
}

function divide(a: Complex, b: Complex): Complex {
  const square = b.re * b.re + b.im * b.im
  const magnitude = Math.sqrt(square)
  if (magnitude <= b.error * 4) none()
  const re = (a.re * b.re + a.im * b.im) / square
  const im = (a.im * b.re - a.re * b.im) / square
  return made(re, im, (a.error + Math.hypot(re, im) * b.error) / magnitude)
}

function ln(z: Complex): Complex {
  const magnitude = size(z)
  if (magnitude <= z.error) none()
  return made(Math.log(magnitude), Math.atan2(z.im, z.re), z.error / magnitude)
}

function exp(z: Complex): Complex {
  const magnitude = Math.exp(z.re)
  return made(magnitude * Math.cos(z.im), magnitude * Math.sin(z.im), magnitude * z.error)
}

/** A negative real number has a real root of odd degree, and that is the one meant. */
function power(base: Complex, exponent: Rational): Complex {
  const p = toNumber(exponent)
  const magnitude = size(base)
  if (magnitude <= base.error || magnitude === 0) {
    if (p <= 0) none()
    return { re: 0, im: 0, error: (magnitude + base.error) ** p }
  }
  const error = Math.abs(p) * magnitude ** (p - 1) * base.error + Math.abs(p) * EPSILON * magnitude ** p
  if (base.im === 0 && (base.re > 0 || exponent.d % 2n === 1n)) {
    const sign = base.re < 0 && exponent.n % 2n !== 0n ? -1 : 1
    return made(sign * magnitude ** p, 0, error)
  }
  const angle = p * Math.atan2(base.im, base.re)
  return made(magnitude ** p * Math.cos(angle), magnitude ** p * Math.sin(angle), error)
}

function call(name: string, args: Complex[], logBase: number): Complex {
  const [z = none(), second] = args
  if (name.startsWith('?')) return unknownFunction(name, args)
  switch (name) {
    case 'abs':
      return made(size(z), 0, z.error)
    case 'root':
      return root(z, second ?? none())
    case 'log':
      return divide(ln(z), second === undefined ? real(Math.log(logBase)) : ln(second))
    case 'cis':
      return exp(multiply(z, { re: 0, im: 1, error: 0 }))
    case 're':
      return made(z.re, 0, z.error)
    case 'im':
      return made(z.im, 0, z.error)
    case 'conj':
      return { ...z, im: -z.im }
    case 'max':
    case 'min':
      return real(Math[name](...args.map(realOf)), Math.max(...args.map(({ error }) => error)))
    case 'floor':
    case 'ceil': {
      const x = realOf(z)
      const whole = Math.round(x)
      return real(Math.abs(x - whole) <= z.error ? whole : Math[name](x))
    }
    case 'sign':
      return real(Math.sign(realOf(z)))
    case 'factorial':
      return real(gamma(realOf(z) + 1), 1e-13 * Math.abs(gamma(realOf(z) + 1)))
    case 'gamma':
      return real(gamma(realOf(z)), 1e-13 * Math.abs(gamma(realOf(z))))
  }
  if (Math.abs(z.im) > z.error) return complexFunction(name, z)
  const f = Object.hasOwn(realFunctions, name) ? realFunctions[name]! : none()
  if (name === 'ln' && z.re < 0) return ln(z)
  const value = f.value(z.re)
  // Where the slope is infinite, as of arccos at 1, the error grows like a square root.
  const propagated = z.error === 0 ? 0 : Math.min(f.slope(z.re) * z.error, 4 * Math.sqrt(z.error) + z.error)
  return real(value, (steep.has(name) ? propagated : f.slope(z.re) * z.error) + 4 * EPSILON * Math.abs(value))
}

const steep = new Set(['arcsin', 'arccos', 'arcosh', 'arcsec', 'arccsc', 'arsech'])

function root(z: Complex, degree: Complex): Complex {
  const n = realOf(degree)
  if (!Number.isInteger(n) || n === 0) none()
  return power(z, n < 0 ? { n: -1n, d: BigInt(-n) } : { n: 1n, d: BigInt(n) })
}

function complexFunction(name: string, z: Complex): Complex {
  const i = { re: 0, im: 1, error: 0 }
  const plus = () => exp(multiply(z, i))
  const minus = () => exp(multiply(z, { re: 0, im: -1, error: 0 }))
  switch (name) {
    case 'exp':
      return exp(z)
    case 'ln':
      return ln(z)
    case 'cos':
      return divide(add(plus(), minus()), real(2))
    case 'sin':
      return divide(add(plus(), multiply(real(-1), minus())), { re: 0, im: 2, error: 0 })
    default:
      return none()
  }
}

/** A smooth function with random coefficients stands for one that nothing is known of. */
function unknownFunction(name: string, args: Complex[]): Complex {
  let hash = 2166136261
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619) >>> 0
  const pick = (i: number) => 0.5 + (Math.imul(hash + i * 0x9e3779b9, 0x85ebca6b) >>> 0) / 2 ** 32
  let [total, error] = [pick(0), 0]
  for (const [i, arg] of args.entries()) {
    total += pick(3 * i + 1) * Math.sin(pick(3 * i + 2) * realOf(arg) + pick(3 * i + 3)) * (1 + total * total)
    error += 10 * arg.error
  }
  return real(total, error + 100 * EPSILON)
}
