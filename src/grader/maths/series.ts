/** Numerical values of infinite sums, integrals and limits; refused where they do not settle. */
import { NoValue } from './rational.js'

export interface Estimate {
  value: number
  /** Twice the last change, at least that of rounding. */
  error: number
}

/** Relative change up to which a sequence of estimates counts as settled. */
const SETTLED = 1e-10

function settled(estimates: number[]): Estimate {
  for (let i = 2; i < estimates.length; i++) {
    const [a, b, c] = [estimates[i - 2]!, estimates[i - 1]!, estimates[i]!]
    const change = Math.max(Math.abs(c - b), Math.abs(b - a))
    const scale = Math.max(Math.abs(c), 1e-3)
    if (change <= SETTLED * scale) return { value: c, error: 2 * change + 1e-13 * scale }
  }
  throw new NoValue()
}

/** Rows of Richardson's table for values whose error is a power series in h = 1/2^k; the diagonal. */
function richardson(values: number[]): number[] {
  const diagonal: number[] = []
  let row: number[] = []
  for (const value of values) {
    const next = [value]
    for (const [j, above] of row.entries()) {
      const here = next[j]!
      next.push(here + (here - above) / (2 ** (j + 1) - 1))
    }
    row = next
    diagonal.push(row.at(-1)!)
  }
  return diagonal
}

/** Sum of body(n) for n from `from` on. */
export function sumToInfinity(body: (n: number) => number, from: number): Estimate {
  const partial: number[] = []
  let total = 0
  let small = 0
  let previous = Number.POSITIVE_INFINITY
  let early = 0
  for (let count = 1; count <= 4096; count++) {
    const term = body(from + count - 1)
    total += term
    const size = Math.abs(term)
    // Terms that shrink by a steady factor: what is left is smaller than the last term over 1 - factor.
    small = size <= 1e-17 * Math.abs(total) && size <= 0.95 * previous ? small + 1 : 0
    previous = size
    if (small >= 8 || (size === 0 && count > 64)) return { value: total, error: 1e-13 * Math.abs(total) }
    if (count <= 8) early = Math.max(early, size)
    if (count >= 32 && (count & (count - 1)) === 0) partial.push(total)
  }
  // Terms that do not shrink sum to nothing, even where partial sums look settled.
  if (previous > early / 16) throw new NoValue()
  return settled(richardson(partial))
}

/** Over a finite or infinite range, by double-exponential quadrature (Takahasi & Mori 1974). */
export function integrate(f: (x: number) => number, from: number, to: number): Estimate {
  if (from === to) return { value: 0, error: 0 }
  if (from > to) {
    const { value, error } = integrate(f, to, from)
    return { value: -value, error }
  }
  const point = substitution(from, to)
  const estimates: number[] = []
  for (const step of [1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64]) {
    let total = 0
    for (let k = -Math.round(4 / step); k <= Math.round(4 / step); k++) {
      const { x, weight } = point(k * step)
      if (weight === 0 || !Number.isFinite(x) || x === from || x === to) continue
      const value = f(x)
      if (!Number.isFinite(value)) throw new NoValue()
      total += value * weight
    }
    estimates.push(total * step)
  }
  return settled(estimates)
}

function substitution(from: number, to: number): (t: number) => { x: number; weight: number } {
  const finite = Number.isFinite
  if (finite(from) && finite(to)) {
    const [middle, half] = [(from + to) / 2, (to - from) / 2]
    return (t) => {
      const u = (Math.PI / 2) * Math.sinh(t)
      const weight = (half * (Math.PI / 2) * Math.cosh(t)) / Math.cosh(u) ** 2
      return { x: middle + half * Math.tanh(u), weight }
    }
  }
  if (!finite(from) && !finite(to)) {
    return (t) => {
      const u = (Math.PI / 2) * Math.sinh(t)
      return { x: Math.sinh(u), weight: Math.cosh(u) * (Math.PI / 2) * Math.cosh(t) }
    }
  }
  const [start, sign] = finite(from) ? [from, 1] : [to, -1]
  return (t) => {
    const u = Math.exp((Math.PI / 2) * Math.sinh(t))
    return { x: start + sign * u, weight: u * (Math.PI / 2) * Math.cosh(t) }
  }
}

/** Of f at a point, or at infinity; from both sides, which must agree. */
export function limit(f: (x: number) => number, at: number): Estimate {
  const steps = Array.from({ length: 12 }, (_, k) => 2 ** -(k + 3))
  if (!Number.isFinite(at)) {
    return settled(richardson(steps.map((h) => f(Math.sign(at) / h))))
  }
  const [left, right] = [-1, 1].map((side) => settled(richardson(steps.map((h) => f(at + side * h)))))
  const gap = Math.abs(left!.value - right!.value)
  if (gap > 1e-8 * Math.max(1e-3, Math.abs(right!.value))) throw new NoValue()
  return { value: right!.value, error: right!.error + gap }
}
