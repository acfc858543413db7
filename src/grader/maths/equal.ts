/** Whether two expressions have the same value, whatever their variables are. */
import { type Complex, complexes } from './complex.js'
import { AGREEMENT, type Decimal, decimals } from './decimals.js'
import { attempt, evaluate, exactValue, type Field } from './evaluate.js'
import { children, keyOf, type Node, some, variables } from './node.js'
import {
  absolute,
  add,
  compare,
  multiply,
  type Rational,
  rational,
  terminates,
  toNumber,
} from './rational.js'
import { residues } from './residues.js'

/** Relative difference up to which doubles count as equal before they are looked at more closely. */
const DOUBLES = 1e-11

/** Nodes that one comparison may visit. */
const BUDGET = 60_000

export type Budget = { left: number }
export const newBudget = (): Budget => ({ left: BUDGET })

/**
 * Decides in this order: built alike; exact rationals; residues modulo a prime at random points (which settles rational
 * functions); complex doubles at random points, and what agrees there again with 50 digits. `tolerance` is the relative
 * difference allowed where one side is a plain decimal and the other has no finite one.
 */
export function equalValues(a: Node, b: Node, tolerance: number, budget = newBudget()): boolean {
  if (keyOf(a) === keyOf(b)) return true
  const [x, y] = [exactValue(a, budget), exactValue(b, budget)]
  if (x !== undefined && y !== undefined) {
    if (compare(x, y) === 0) return true
    const rounded = (isDecimal(a) && !terminates(y)) || (isDecimal(b) && !terminates(x))
    return rounded && withinTolerance(x, y, tolerance)
  }
  const byResidues = agreeAsResidues(a, b, budget)
  const rounded = isDecimal(a) || isDecimal(b)
  if (byResidues !== undefined && (byResidues || !rounded)) return byResidues
  return agreeAsNumbers(a, b, rounded ? tolerance : 0, budget)
}

/** A numeral with a decimal point, alone. */
function isDecimal(node: Node): boolean {
  if (node.kind === 'product' && node.factors.length === 2 && node.factors[0]!.kind === 'number') {
    const [sign, rest] = node.factors as [Node & { kind: 'number' }, Node]
    return sign.value.n === -1n && isDecimal(rest)
  }
  return (node.kind === 'number' && node.decimal) || (node.kind === 'percent' && isDecimal(node.value))
}

function withinTolerance(x: Rational, y: Rational, tolerance: number): boolean {
  const gap = absolute(add(x, { n: -y.n, d: y.d }))
  const larger = compare(absolute(x), absolute(y)) < 0 ? absolute(y) : absolute(x)
  return compare(gap, multiply(larger, rational(BigInt(Math.round(tolerance * 1e15)), 10n ** 15n))) <= 0
}

/** Points of the residues; three leave no realistic chance of an accident. */
const RESIDUE_POINTS = 3

function agreeAsResidues(a: Node, b: Node, budget: Budget): boolean | undefined {
  const whole = wholeVariables(a, b)
  let agreed = 0
  for (let point = 0; point < RESIDUE_POINTS + 8 && agreed < RESIDUE_POINTS; point++) {
    const field = residues(point)
    // One order and the other, so that n - k is not always negative.
    const ordered = point % 2 === 0 ? [...whole] : [...whole].reverse()
    const exact = new Map(ordered.map((name, i) => [name, { n: wholeValue(i, point), d: 1n }]))
    const [x, y] = [a, b].map((side) => attempt(() => evaluate(side, field, { exact, budget })))
    if (x === undefined || y === undefined) {
      // Either can have no value at the point; both fail alike at once where the kind of function is the reason.
      if (whole.size === 0 && point === 0 && x === undefined && y === undefined) return undefined
      continue
    }
    if (x !== y) return false
    agreed++
  }
  return agreed >= RESIDUE_POINTS ? true : undefined
}

/** Variables in exponents, under factorials and the like, which are given small whole numbers. */
export function wholeVariables(...nodes: Node[]): Set<string> {
  const names = new Set<string>()
  const visit = (node: Node) => {
    const inside =
      node.kind === 'power'
        ? [node.exponent]
        : node.kind === 'call' && ['factorial', 'binom', 'double_factorial'].includes(node.name)
          ? node.args
          : []
    for (const each of inside) for (const name of variables(each)) names.add(name)
    for (const child of children(node)) visit(child)
  }
  for (const node of nodes) visit(node)
  return names
}

const wholeValue = (variable: number, point: number) => BigInt(3 + ((point * 7 + variable * 5) % 17) + point)

/** Sizes of the variables at the points; logarithms and roots want positive values, absolute values both signs. */
const SIZES = [0.7, 2, 0.5, 12, 1.6, 80, 0.9, 3, 0.2, 30, 1.2, 6]
const MIN_POINTS = 3

export interface Point {
  symbol(name: string): number
}

/** The same in every process: names and the number of the point decide. */
export function pointAt(index: number, size = SIZES[index % SIZES.length]!): Point {
  const mixed = index % 2 === 1
  return {
    symbol: (name) => {
      let hash = 2166136261 ^ (index * 0x9e3779b9)
      for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619)
      hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
      hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
      const unit = ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
      const magnitude = size * (0.4 + 0.6 * unit)
      return mixed && (hash & 4) !== 0 ? -magnitude : magnitude
    },
  }
}

function agreeAsNumbers(a: Node, b: Node, tolerance: number, budget: Budget): boolean {
  // A logarithm without a base is a natural one, or one to the base 10.
  const bases = some(a, isBareLog) || some(b, isBareLog) ? [Math.E, 10] : [Math.E]
  return bases.some((logBase) => agreeAtPoints(a, b, tolerance, logBase, budget))
}

const isBareLog = (node: Node) => node.kind === 'call' && node.name === 'log' && node.args.length === 1

function agreeAtPoints(a: Node, b: Node, tolerance: number, logBase: number, budget: Budget): boolean {
  const names = new Set([...variables(a), ...variables(b)])
  const opaque = some(a, isUnknown) || some(b, isUnknown)
  const sizes = names.size === 0 && !opaque ? SIZES.slice(0, 1) : [...SIZES, ...beyondBends(a, b)]
  const complex = some(a, isImaginary) || some(b, isImaginary)
  const unreal: [Complex, Complex][] = []
  let agreed = 0
  let confirmed = 0
  for (const [index, size] of sizes.entries()) {
    const { symbol } = pointAt(index, size)
    const field = complexes({ symbol, logBase })
    const [x, y] = [a, b].map((side) => attempt(() => evaluate(side, field, { budget })))
    // Beyond the doubles in size: 50 digits can still tell.
    if (x === undefined && y === undefined && names.size === 0) {
      return confirm(a, b, symbol, logBase, 0, budget) === true
    }
    if (x === undefined || y === undefined) continue
    if (!complex && (isUnreal(x) || isUnreal(y))) {
      unreal.push([x, y])
      continue
    }
    const gap = close(x, y, tolerance)
    if (gap === 'far') return false
    agreed++
    if (tolerance === 0 && (confirmed < 2 || gap === 'unsure')) {
      const verdict = confirm(a, b, symbol, logBase, scaleOf(x) + scaleOf(y), budget)
      if (verdict === false || (verdict === undefined && gap === 'unsure')) return false
      if (verdict === true) confirmed++
    }
  }
  const enough = Math.min(sizes.length, MIN_POINTS)
  if (agreed >= enough) return true
  return (
    agreed === 0 && unreal.length >= enough && unreal.every(([x, y]) => close(x, y, tolerance) === 'near')
  )
}

const bends = new Set(['abs', 'max', 'min', 'floor', 'ceil', 'sign'])

/** Sizes at which |x - 50| and 50 - x differ: beyond every number in functions that bend. */
function beyondBends(...nodes: Node[]): number[] {
  if (!nodes.some((node) => some(node, (each) => each.kind === 'call' && bends.has(each.name)))) return []
  let reach = 1
  for (const node of nodes) {
    some(node, (each) => {
      if (each.kind === 'number') reach = Math.max(reach, Math.abs(toNumber(each.value)))
      return false
    })
  }
  return [4 * reach, 4 * reach, 2.5 * reach, 2.5 * reach]
}

const isImaginary = (node: Node) => node.kind === 'constant' && node.name === 'i'
const isUnknown = (node: Node) => node.kind === 'call' && node.name.startsWith('?')
const isUnreal = ({ re, im, error }: Complex) => Math.abs(im) > 8 * error + 1e-12 * Math.abs(re)

/** Size of the largest number met on the way, as the error bound tells. */
const scaleOf = ({ re, im, error }: Complex) => Math.max(Math.hypot(re, im), error / 2 ** -52)

/** `unsure`: they differ by no more than their errors, which are too large to say more. */
function close(x: Complex, y: Complex, tolerance: number): 'near' | 'far' | 'unsure' {
  if (x.re === y.re && x.im === y.im) return 'near'
  if (!Number.isFinite(x.re) || !Number.isFinite(y.re)) return 'far'
  const gap = Math.hypot(x.re - y.re, x.im - y.im)
  const larger = Math.max(Math.hypot(x.re, x.im), Math.hypot(y.re, y.im))
  if (gap <= Math.max(tolerance, DOUBLES) * larger) return 'near'
  const error = 8 * (x.error + y.error)
  if (gap > error) return 'far'
  return error <= 1e-9 * Math.max(1, larger) ? 'near' : 'unsure'
}

/** Undefined where a side has no value of 50 digits. */
function confirm(
  a: Node,
  b: Node,
  symbol: Point['symbol'],
  logBase: number,
  scale: number,
  budget: Budget,
): boolean | undefined {
  const field: Field<Decimal> = decimals(symbol, logBase)
  const [x, y] = [a, b].map((side) => attempt(() => evaluate(side, field, { budget })))
  if (x === undefined || y === undefined) return undefined
  const larger = Math.max(scale, 0)
  const bound = x
    .abs()
    .plus(y.abs())
    .plus(Number.isFinite(larger) ? larger : 0)
  return x.minus(y).abs().lte(bound.times(AGREEMENT))
}
