/** Whether two equations, or two inequalities, have the same solutions because one is a multiple of the other. */
import { complexes } from './complex.js'
import { type Budget, equalValues, pointAt, wholeVariables } from './equal.js'
import { attempt, evaluate, exactValue, type Field } from './evaluate.js'
import { children, integer, keyOf, type Node, negative, variables, withChildren } from './node.js'
import { residues } from './residues.js'

/** A numerator over denominators that are kept apart, by the text of each, so that equal ones are found. */
interface Fraction<T> {
  top: T
  bottoms: Map<string, { value: T; power: number }>
}

/**
 * Numerators of a = 0 and b = 0 differ by a constant factor. Denominators may not vanish where a fraction is defined,
 * so they do not matter: (y + 5) / x = 2 is y = 2x - 5.
 */
export function proportionalNumerators(a: Node, b: Node, budget: Budget): boolean {
  if (variables(a).size === 0 && variables(b).size === 0) {
    return equalValues(a, b, 0, budget) || equalValues(a, negative(b), 0, budget)
  }
  const exactly = ratios(a, b, residues, budget, (x, y) => (x === 0n || y === 0n ? undefined : [x, y]))
  if (exactly !== undefined) {
    const [[x0, y0], ...rest] = exactly as [[bigint, bigint], ...[bigint, bigint][]]
    const field = residues(0)
    return rest.every(([x, y]) => field.multiply(x, y0) === field.multiply(y, x0))
  }
  return sameRatio(a, b, budget, false)
}

/** a / b is a positive constant, so that a < 0 exactly where b < 0. */
export function positiveMultiple(a: Node, b: Node, budget: Budget): boolean {
  return sameRatio(a, b, budget, true)
}

const POINTS = 4

function ratios<T, P>(
  a: Node,
  b: Node,
  fieldAt: (point: number) => Field<T>,
  budget: Budget,
  pair: (x: T, y: T) => P | undefined,
): P[] | undefined {
  const found: P[] = []
  const whole = wholeVariables(a, b)
  for (let point = 0; point < 3 * POINTS && found.length < POINTS; point++) {
    const field = fieldAt(point)
    const exact = new Map([...whole].map((name, i) => [name, { n: BigInt(2 + point + i), d: 1n }]))
    const [x, y] = [a, b].map((side) => attempt(() => numerator(side, field, exact, budget).top))
    if (x === undefined || y === undefined) return undefined
    const both = pair(x, y)
    if (both !== undefined) found.push(both)
  }
  return found.length === POINTS ? found : undefined
}

/** Values of a / b at points agree; as whole values or as numerators. */
function sameRatio(a: Node, b: Node, budget: Budget, positive: boolean): boolean {
  const found: number[] = []
  for (let index = 0; index < 12; index++) {
    const field = complexes({ ...pointAt(index), logBase: Math.E })
    const [x, y] = [a, b].map((side) =>
      attempt(() =>
        positive ? evaluate(side, field, { budget }) : numerator(side, field, new Map(), budget).top,
      ),
    )
    if (x === undefined || y === undefined) continue
    if (Math.abs(x.im) > x.error || Math.abs(y.im) > y.error) continue
    if (Math.abs(y.re) <= 1e6 * y.error || Math.abs(x.re) <= 1e6 * x.error) continue
    found.push(x.re / y.re)
  }
  const [first] = found
  if (first === undefined || found.length < POINTS || (positive && first <= 0)) return false
  return found.every((ratio) => Math.abs(ratio - first) <= 1e-10 * Math.abs(first))
}

function numerator<T>(
  node: Node,
  field: Field<T>,
  exact: Map<string, { n: bigint; d: bigint }>,
  budget: Budget,
): Fraction<T> {
  const inner = (each: Node) => numerator(each, field, exact, budget)
  switch (node.kind) {
    case 'sum':
      return node.terms.map(inner).reduce((a, b) => addFractions(field, a, b))
    case 'product':
      return node.factors.map(inner).reduce((a, b) => times(field, a, b))
    case 'quotient':
      return times(field, inner(node.top), reciprocal(field, inner(node.bottom), keyOf(node.bottom)))
    case 'power': {
      const power = exactValue(node.exponent)
      if (power?.d !== 1n || power.n < -20n || power.n > 20n || power.n === 0n) break
      const base = inner(node.base)
      const once = power.n < 0n ? reciprocal(field, base, keyOf(node.base)) : base
      return Array.from({ length: Math.abs(Number(power.n)) }, () => once).reduce((a, b) =>
        times(field, a, b),
      )
    }
  }
  return { top: evaluate(node, field, { exact, budget }), bottoms: new Map() }
}

function times<T>(field: Field<T>, a: Fraction<T>, b: Fraction<T>): Fraction<T> {
  const bottoms = new Map(a.bottoms)
  for (const [key, { value, power }] of b.bottoms) {
    bottoms.set(key, { value, power: power + (bottoms.get(key)?.power ?? 0) })
  }
  return { top: field.multiply(a.top, b.top), bottoms }
}

function reciprocal<T>(field: Field<T>, { top, bottoms }: Fraction<T>, key: string): Fraction<T> {
  let numeratorValue = field.number({ n: 1n, d: 1n })
  for (const { value, power } of bottoms.values()) {
    numeratorValue = field.multiply(numeratorValue, field.power(value, { n: BigInt(power), d: 1n }))
  }
  return { top: numeratorValue, bottoms: new Map([[key, { value: top, power: 1 }]]) }
}

/** Over the least common denominator. */
function addFractions<T>(field: Field<T>, a: Fraction<T>, b: Fraction<T>): Fraction<T> {
  const bottoms = new Map(a.bottoms)
  for (const [key, { value, power }] of b.bottoms) {
    bottoms.set(key, { value, power: Math.max(power, bottoms.get(key)?.power ?? 0) })
  }
  const raised = ({ top, bottoms: own }: Fraction<T>) => {
    let result = top
    for (const [key, { value, power }] of bottoms) {
      const missing = power - (own.get(key)?.power ?? 0)
      if (missing > 0) result = field.multiply(result, field.power(value, { n: BigInt(missing), d: 1n }))
    }
    return result
  }
  return { top: field.add(raised(a), raised(b)), bottoms }
}

/** slope and intercept of a node that is linear in its variable; undefined where it is not. */
export function linear(
  node: Node,
  variable: string,
  budget: Budget,
): { slope: Node; intercept: Node } | undefined {
  const at = (value: number) => substitute(node, variable, integer(value))
  const [zero, one, two, seven] = [0, 1, 2, 7].map(at) as [Node, Node, Node, Node]
  const field = complexes({ ...pointAt(0), logBase: Math.E })
  const numbers = [zero, one, two, seven].map((each) => attempt(() => evaluate(each, field, { budget })))
  if (numbers.some((each) => each === undefined || Math.abs(each.im) > each.error)) return undefined
  const [f0, f1, f2, f7] = numbers.map((each) => each!.re) as [number, number, number, number]
  const step = f1 - f0
  const scale = 1e-10 * (Math.abs(f0) + Math.abs(step) + Math.abs(f7))
  if (Math.abs(f2 - f0 - 2 * step) > scale || Math.abs(f7 - f0 - 7 * step) > scale) return undefined
  if (Math.abs(step) <= scale) return undefined
  const slope: Node = { kind: 'sum', terms: [one, { kind: 'product', factors: [integer(-1), zero] }] }
  return { slope, intercept: zero }
}

function substitute(node: Node, variable: string, value: Node): Node {
  if (node.kind === 'symbol') return node.name === variable ? value : node
  return rebuild(node, (child) => substitute(child, variable, value))
}

function rebuild(node: Node, change: (child: Node) => Node): Node {
  const parts = children(node)
  return parts.length === 0 ? node : withChildren(node, parts.map(change))
}
