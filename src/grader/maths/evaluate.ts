/** The value of a node in a field of numbers: exact rationals, residues, complex doubles, long decimals. */
import type { Constant, Node, NodeOf } from './node.js'
import { bounded, isInteger, NoValue, type Rational } from './rational.js'
import { rationals } from './rationals.js'

/** Arithmetic of one kind of number. Every function throws NoValue where there is no value, or none that it can give. */
export interface Field<T> {
  number(value: Rational): T
  /** The value of a variable that the scope does not name. */
  symbol(name: string): T
  constant(name: Constant): T
  add(a: T, b: T): T
  multiply(a: T, b: T): T
  divide(a: T, b: T): T
  power(base: T, exponent: Rational): T
  /** For exponents that are no rational constant. */
  exponential(base: T, exponent: T): T
  call(name: string, args: T[]): T
  /** Sums without end, integrals, limits: `body` is the value at an index. */
  series?(op: NodeOf<'series'>['op'], from: T, to: T, body: (at: T) => T): T
}

export interface Scope<T> {
  /** Values of variables; the rest is asked of the field. */
  values?: Map<string, T>
  /** Variables that stand for whole numbers, as in exponents and under factorials. */
  exact?: Map<string, Rational>
  /** Nodes that may still be visited; shared by all evaluations of one comparison. */
  budget: { left: number }
}

/** Terms of a finite sum or product that are added one by one. */
const MAX_TERMS = 1000

/** What a term costs of the budget: fractions grow with every one. */
const TERM = 20

/** Throws NoValue where there is none, or where the budget is used up. */
export function evaluate<T>(node: Node, field: Field<T>, scope: Scope<T>): T {
  if (scope.budget.left-- <= 0) throw new NoValue()
  const value = (each: Node) => evaluate(each, field, scope)
  switch (node.kind) {
    case 'number':
      return field.number(node.value)
    case 'constant':
      return field.constant(node.name)
    case 'symbol':
      return variableOf(node.name, field, scope)
    case 'sum':
      return node.terms.map(value).reduce((a, b) => field.add(a, b))
    case 'product':
      return node.factors.map(value).reduce((a, b) => field.multiply(a, b))
    case 'quotient':
      return field.divide(value(node.top), value(node.bottom))
    case 'power': {
      const exponent = exactly(node.exponent, scope)
      return exponent === undefined
        ? field.exponential(value(node.base), value(node.exponent))
        : field.power(value(node.base), exponent)
    }
    case 'call':
      return callOf(node, field, scope)
    case 'series':
      return seriesOf(node, field, scope)
    case 'percent':
      return field.divide(value(node.value), field.number({ n: 100n, d: 1n }))
    default:
      throw new NoValue()
  }
}

/** The value or undefined. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof NoValue) return undefined
    throw error
  }
}

function variableOf<T>(name: string, field: Field<T>, scope: Scope<T>): T {
  const exact = scope.exact?.get(name)
  return exact === undefined ? (scope.values?.get(name) ?? field.symbol(name)) : field.number(exact)
}

/** The node as an exact rational, where the scope makes it one. */
function exactly<T>(node: Node, scope: Scope<T>): Rational | undefined {
  if (node.kind === 'number') return node.value
  return attempt(() =>
    evaluate(node, rationals, { budget: scope.budget, ...(scope.exact && { exact: scope.exact }) }),
  )
}

/** Whole-number functions take exact arguments where there are some; 170! has no double, but it has residues. */
const ofIntegers = new Set(['factorial', 'binom', 'gcd', 'lcm', 'mod', 'floor', 'ceil', 'double_factorial'])

function callOf<T>({ name, args }: NodeOf<'call'>, field: Field<T>, scope: Scope<T>): T {
  if (ofIntegers.has(name)) {
    const exact = args.map((arg) => exactly(arg, scope))
    if (exact.every((arg) => arg !== undefined)) return field.number(rationals.call(name, exact))
  }
  return field.call(
    name,
    args.map((arg) => evaluate(arg, field, scope)),
  )
}

function seriesOf<T>(node: NodeOf<'series'>, field: Field<T>, scope: Scope<T>): T {
  const [from, to] = [exactly(node.from, scope), exactly(node.to, scope)]
  const discrete = node.op === 'sum' || node.op === 'product'
  if (discrete && from !== undefined && to !== undefined && isInteger(from) && isInteger(to)) {
    if (to.n - from.n >= MAX_TERMS) throw new NoValue()
    let total = field.number({ n: node.op === 'sum' ? 0n : 1n, d: 1n })
    for (let at = from.n; at <= to.n; at++) {
      scope.budget.left -= TERM
      const exact = new Map(scope.exact).set(node.index, { n: at, d: 1n })
      const term = evaluate(node.body, field, { ...scope, exact })
      total = node.op === 'sum' ? field.add(total, term) : field.multiply(total, term)
    }
    return total
  }
  if (field.series === undefined) throw new NoValue()
  return field.series(node.op, evaluate(node.from, field, scope), evaluate(node.to, field, scope), (at) =>
    evaluate(node.body, field, { ...scope, values: new Map(scope.values).set(node.index, at) }),
  )
}

/** The node as an exact rational, undefined where it is none. */
export function exactValue(node: Node, budget = { left: 20_000 }): Rational | undefined {
  return attempt(() => bounded(evaluate(node, rationals, { budget })))
}
