/**
 * The field of residues modulo a prime of 61 bits. Two rational functions whose values agree at random points are the
 * same with a probability of error of about their degree over 2^61 (Schwartz 1980), whatever the size of their
 * coefficients. pi and e stand for random residues, being transcendental; i for a square root of -1.
 */
import type { Field } from './evaluate.js'
import { NoValue, type Rational } from './rational.js'

/** 2^61 - 31, which is 1 modulo 4 so that -1 has a square root. */
export const PRIME = 2305843009213693921n
const IMAGINARY = 583529827753931384n

/** Largest power of a base that is no plain number. */
const MAX_EXPONENT = 1n << 40n

export function residues(point: number): Field<bigint> {
  const number = ({ n, d }: Rational) => multiply(reduce(n), invert(reduce(d)))
  return {
    number,
    symbol: (name) => randomResidue(`variable ${name}`, point),
    constant: (name) => {
      if (name === 'infinity') throw new NoValue()
      return name === 'i' ? IMAGINARY : randomResidue(`constant ${name}`, point)
    },
    add: (a, b) => (a + b) % PRIME,
    multiply,
    divide: (a, b) => multiply(a, invert(b)),
    power: (base, exponent) => power(base, exponent),
    exponential: () => {
      throw new NoValue()
    },
    call: (name, args) => {
      if (!name.startsWith('?')) throw new NoValue()
      return unknownFunction(name, args)
    },
  }
}

const reduce = (value: bigint) => ((value % PRIME) + PRIME) % PRIME
const multiply = (a: bigint, b: bigint) => (a * b) % PRIME

function power(base: bigint, { n, d }: Rational): bigint {
  if (d !== 1n || n > MAX_EXPONENT || n < -MAX_EXPONENT) throw new NoValue()
  if (base === 0n && n <= 0n) throw new NoValue()
  return n < 0n ? invert(raise(base, -n)) : raise(base, n)
}

function raise(base: bigint, exponent: bigint): bigint {
  let [result, square, rest] = [1n, base, exponent]
  while (rest > 0n) {
    if (rest & 1n) result = multiply(result, square)
    square = multiply(square, square)
    rest >>= 1n
  }
  return result
}

function invert(value: bigint): bigint {
  if (value === 0n) throw new NoValue()
  return raise(value, PRIME - 2n)
}

/** A polynomial with random coefficients stands for a function that nothing is known of. */
function unknownFunction(name: string, args: bigint[]): bigint {
  return args.reduce((total, arg, i) => {
    const shift = randomResidue(`${name} shift ${i}`, 0)
    return multiply(total + raise(arg + shift, 5n), randomResidue(`${name} factor ${i}`, 0))
  }, 1n)
}

const known = new Map<string, bigint>()

/** The same name and point give the same residue in every process (FNV-1a, then a mixing step). */
function randomResidue(name: string, point: number): bigint {
  const label = `${point} ${name}`
  const found = known.get(label)
  if (found !== undefined) return found
  let hash = 0xcbf29ce484222325n
  for (const character of label) {
    hash = ((hash ^ BigInt(character.codePointAt(0)!)) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  const residue = raise((hash % (PRIME - 2n)) + 2n, 65537n)
  if (known.size > 1000) known.clear()
  known.set(label, residue)
  return residue
}
