/** The field of real numbers of 50 digits, for what agrees as doubles: e^(pi sqrt 163) is no integer. */
import { Decimal as Base } from 'decimal.js'
import type { Field } from './evaluate.js'
import { NoValue, type Rational } from './rational.js'

const Decimal = Base.clone({ precision: 60, defaults: true })
export type Decimal = Base

/** Relative difference below which two values count as the same. */
export const AGREEMENT = 1e-40

const none = (): never => {
  throw new NoValue()
}

const checked = (value: Decimal): Decimal => (value.isFinite() ? value : none())
const PI = Decimal.acos(-1)
const E = new Decimal(1).exp()
const one = new Decimal(1)

/** Arguments beyond which series and powers would take long. */
const MAX_ARGUMENT = 1e5

export function decimals(symbol: (name: string) => number, logBase: number): Field<Decimal> {
  const exponential = (base: Decimal, exponent: Decimal) => {
    if (base.lte(0)) none()
    const power = exponent.times(base.ln())
    return power.abs().gt(MAX_ARGUMENT) ? none() : checked(power.exp())
  }
  return {
    number: ({ n, d }) => new Decimal(n.toString()).div(d.toString()),
    symbol: (name) => new Decimal(symbol(name)),
    constant: (name) => (name === 'pi' ? PI : name === 'e' ? E : none()),
    add: (a, b) => a.plus(b),
    multiply: (a, b) => checked(a.times(b)),
    divide: (a, b) => (b.isZero() ? none() : checked(a.div(b))),
    power: (base, exponent) => power(base, exponent, exponential),
    exponential,
    call: (name, args) => checked(call(name, args, logBase)),
  }
}

function power(
  base: Decimal,
  exponent: Rational,
  exponential: (base: Decimal, exponent: Decimal) => Decimal,
): Decimal {
  if (base.isZero()) return exponent.n > 0n ? base : none()
  if (exponent.d === 1n && exponent.n > -10_000n && exponent.n < 10_000n) {
    return checked(base.pow(Number(exponent.n)))
  }
  if (base.isNegative() && exponent.d % 2n === 0n) none()
  const size =
    exponent.d === 2n && exponent.n === 1n
      ? base.abs().sqrt()
      : exponential(base.abs(), new Decimal(exponent.n.toString()).div(exponent.d.toString()))
  return base.isNegative() && exponent.n % 2n !== 0n ? size.neg() : size
}

function call(name: string, args: Decimal[], logBase: number): Decimal {
  const [x = none(), second] = args
  if (x.abs().gt(MAX_ARGUMENT) && name !== 'abs' && name !== 'root' && name !== 'ln' && name !== 'log') none()
  const within = (holds: boolean) => (holds ? x : none())
  switch (name) {
    case 'abs':
      return x.abs()
    case 'root': {
      const degree = second ?? none()
      if (!degree.isInteger() || degree.lte(0) || (x.isNegative() && degree.mod(2).isZero())) none()
      const size = x.isZero() ? x : x.abs().ln().div(degree).exp()
      return x.isNegative() ? size.neg() : size
    }
    case 'exp':
      return x.exp()
    case 'ln':
      return within(x.gt(0)).ln()
    case 'log':
      return within(x.gt(0))
        .ln()
        .div((second ?? (logBase === 10 ? new Decimal(10) : E)).ln())
    case 'sin':
      return x.sin()
    case 'cos':
      return x.cos()
    case 'tan':
      return x.tan()
    case 'cot':
      return one.div(x.tan())
    case 'sec':
      return one.div(x.cos())
    case 'csc':
      return one.div(x.sin())
    case 'arcsin':
      return within(x.abs().lte(1)).asin()
    case 'arccos':
      return within(x.abs().lte(1)).acos()
    case 'arctan':
      return x.atan()
    case 'arccot':
      return one.div(x).atan()
    case 'sinh':
      return x.sinh()
    case 'cosh':
      return x.cosh()
    case 'tanh':
      return x.tanh()
    case 'arsinh':
      return x.asinh()
    case 'arcosh':
      return within(x.gte(1)).acosh()
    case 'artanh':
      return within(x.abs().lt(1)).atanh()
    default:
      return none()
  }
}
