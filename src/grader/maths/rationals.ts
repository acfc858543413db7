/** The field of exact rationals. */
import type { Field } from './evaluate.js'
import {
  absolute,
  add,
  bounded,
  compare,
  divide,
  floor,
  gcd,
  isInteger,
  multiply,
  NoValue,
  power,
  type Rational,
} from './rational.js'

/** Largest number under a factorial, and largest lower number of a binomial coefficient. */
const MAX_FACTORIAL = 3000n

export const rationals: Field<Rational> = {
  number: (value) => value,
  symbol: () => none(),
  constant: () => none(),
  add: (a, b) => bounded(add(a, b)),
  multiply: (a, b) => bounded(multiply(a, b)),
  divide,
  power,
  exponential: power,
  call: (name, args) => call(name, args),
}

const none = (): never => {
  throw new NoValue()
}

function call(name: string, args: Rational[]): Rational {
  const [first = none()] = args
  switch (name) {
    case 'abs':
      return absolute(first)
    case 'root':
      return power(first, divide({ n: 1n, d: 1n }, args[1] ?? none()))
    case 'floor':
      return { n: floor(first), d: 1n }
    case 'ceil':
      return { n: -floor({ n: -first.n, d: first.d }), d: 1n }
    case 'max':
      return args.reduce((a, b) => (compare(a, b) < 0 ? b : a))
    case 'min':
      return args.reduce((a, b) => (compare(a, b) < 0 ? a : b))
    case 'sign':
      return { n: first.n > 0n ? 1n : first.n < 0n ? -1n : 0n, d: 1n }
    case 'gcd':
      return { n: whole(args).reduce(gcd), d: 1n }
    case 'lcm':
      return bounded({ n: whole(args).reduce(lcm), d: 1n })
    case 'mod': {
      const [a, b] = whole(args)
      if (a === undefined || b === undefined || b === 0n) return none()
      return { n: ((a % b) + b) % b, d: 1n }
    }
    case 'factorial':
      return { n: factorial(whole(args)[0]!, 1n), d: 1n }
    case 'double_factorial':
      return { n: factorial(whole(args)[0]!, 2n), d: 1n }
    case 'binom':
      return binomial(args)
    default:
      return none()
  }
}

function whole(args: Rational[]): bigint[] {
  return args.every(isInteger) ? args.map(({ n }) => n) : none()
}

function lcm(a: bigint, b: bigint): bigint {
  const divisor = gcd(a, b)
  const product = divisor === 0n ? 0n : (a / divisor) * b
  return product < 0n ? -product : product
}

function factorial(n: bigint, step: bigint): bigint {
  if (n < 0n || n > MAX_FACTORIAL) return none()
  let result = 1n
  for (let factor = n; factor > 1n; factor -= step) result *= factor
  return result
}

function binomial(args: Rational[]): Rational {
  const [n, k] = whole(args)
  if (n === undefined || k === undefined) return none()
  if (k < 0n || (n >= 0n && k > n)) return { n: 0n, d: 1n }
  const lower = n >= 0n && n - k < k ? n - k : k
  if (lower > MAX_FACTORIAL) return none()
  let result = 1n
  for (let i = 1n; i <= lower; i++) {
    result = (result * (n - lower + i)) / i
    if (i % 64n === 0n) bounded({ n: result, d: 1n })
  }
  return bounded({ n: result, d: 1n })
}
