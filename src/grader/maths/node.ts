/** What an answer says, as a tree: values, and what is built of values (tuples, sets, relations ...). */
import type { Rational } from './rational.js'

export type Constant = 'pi' | 'e' | 'i' | 'infinity'

/** Comparison signs; `=` also joins what an answer calls equal. */
export type Relation = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' | 'in' | 'notin' | 'mod'

export type Node =
  /** `decimal`: written with a decimal point, hence possibly rounded. */
  | { kind: 'number'; value: Rational; decimal: boolean }
  | { kind: 'symbol'; name: string }
  | { kind: 'constant'; name: Constant }
  | { kind: 'sum'; terms: Node[] }
  | { kind: 'product'; factors: Node[] }
  | { kind: 'quotient'; top: Node; bottom: Node }
  | { kind: 'power'; base: Node; exponent: Node }
  /** A known function, or one that only its name is known of. */
  | { kind: 'call'; name: string; args: Node[] }
  /** Over an index: a sum, a product, an integral; or a limit, which has only `from`. */
  | {
      kind: 'series'
      op: 'sum' | 'product' | 'integral' | 'limit'
      index: string
      from: Node
      to: Node
      body: Node
    }
  /** Plus-or-minus an operand; sign -1 for minus-or-plus. */
  | { kind: 'plusminus'; sign: 1 | -1; operand: Node }
  | { kind: 'matrix'; rows: Node[][] }
  /** A numeral with its base: 4210_7. */
  | { kind: 'numeral'; digits: string; base: number }
  | { kind: 'percent'; value: Node }
  | { kind: 'quantity'; value: Node; unit: string }
  | { kind: 'ratio'; parts: Node[] }
  /** Time of day or duration written h:mm or h:mm:ss; `half`: with a.m. or p.m. */
  | { kind: 'time'; seconds: number; half: boolean }
  /** In brackets: a tuple, a point, a vector or an interval. */
  | { kind: 'group'; open: '(' | '[' | '<'; close: ')' | ']' | '>'; items: Node[] }
  | { kind: 'set'; items: Node[] }
  /** {variable | condition} */
  | { kind: 'builder'; condition: Node }
  | { kind: 'combination'; op: 'union' | 'intersection' | 'difference'; left: Node; right: Node }
  /** Separated by commas, semicolons or words, in no brackets. */
  | { kind: 'list'; items: Node[] }
  | { kind: 'relation'; sides: Node[]; operators: Relation[] }
  | { kind: 'text'; text: string }

export type NodeOf<K extends Node['kind']> = Extract<Node, { kind: K }>

/** The parts of a node, in order. */
export function children(node: Node): Node[] {
  switch (node.kind) {
    case 'sum':
      return node.terms
    case 'product':
      return node.factors
    case 'quotient':
      return [node.top, node.bottom]
    case 'power':
      return [node.base, node.exponent]
    case 'call':
      return node.args
    case 'series':
      return [node.from, node.to, node.body]
    case 'plusminus':
      return [node.operand]
    case 'matrix':
      return node.rows.flat()
    case 'percent':
    case 'quantity':
      return [node.value]
    case 'ratio':
      return node.parts
    case 'group':
    case 'set':
    case 'list':
      return node.items
    case 'builder':
      return [node.condition]
    case 'combination':
      return [node.left, node.right]
    case 'relation':
      return node.sides
    default:
      return []
  }
}

/** The node with other parts, given in the order of `children`. */
export function withChildren(node: Node, parts: Node[]): Node {
  switch (node.kind) {
    case 'sum':
      return { ...node, terms: parts }
    case 'product':
      return { ...node, factors: parts }
    case 'quotient':
      return { ...node, top: parts[0]!, bottom: parts[1]! }
    case 'power':
      return { ...node, base: parts[0]!, exponent: parts[1]! }
    case 'call':
      return { ...node, args: parts }
    case 'series':
      return { ...node, from: parts[0]!, to: parts[1]!, body: parts[2]! }
    case 'plusminus':
      return { ...node, operand: parts[0]! }
    case 'matrix': {
      const rest = [...parts]
      return { ...node, rows: node.rows.map((row) => rest.splice(0, row.length)) }
    }
    case 'percent':
    case 'quantity':
      return { ...node, value: parts[0]! }
    case 'ratio':
      return { ...node, parts }
    case 'group':
    case 'set':
    case 'list':
      return { ...node, items: parts }
    case 'builder':
      return { ...node, condition: parts[0]! }
    case 'combination':
      return { ...node, left: parts[0]!, right: parts[1]! }
    case 'relation':
      return { ...node, sides: parts }
    default:
      return node
  }
}

/** Whether the node or a part of it, however deep, is such. */
export function some(node: Node, holds: (node: Node) => boolean): boolean {
  return holds(node) || children(node).some((child) => some(child, holds))
}

/** Names of the variables that the node's value depends on. */
export function variables(node: Node): Set<string> {
  const names = new Set<string>()
  const visit = (each: Node, bound: ReadonlySet<string>) => {
    if (each.kind === 'symbol' && !bound.has(each.name)) names.add(each.name)
    const inner = each.kind === 'series' ? new Set([...bound, each.index]) : bound
    for (const child of children(each)) visit(child, inner)
  }
  visit(node, new Set())
  return names
}

const symmetric = new Set(['gcd', 'lcm', 'max', 'min'])
const isUnordered = (node: Node) =>
  ['sum', 'product', 'set'].includes(node.kind) || (node.kind === 'call' && symmetric.has(node.name))

const keys = new WeakMap<Node, string>()

/** A text that two nodes share exactly when they are built alike, up to the order of terms, factors and elements of sets. */
export function keyOf(node: Node): string {
  const known = keys.get(node)
  if (known !== undefined) return known
  const parts = children(node).map(keyOf)
  const ordered = isUnordered(node) ? parts.sort() : parts
  const key = `${node.kind}${JSON.stringify(own(node))}(${ordered.join(',')})`
  keys.set(node, key)
  return key
}

/** What tells a node from others of its kind with the same parts. */
function own(node: Node): unknown[] {
  switch (node.kind) {
    case 'number':
      return [`${node.value.n}/${node.value.d}`]
    case 'symbol':
    case 'constant':
    case 'call':
      return [node.name]
    case 'series':
      return [node.op, node.index]
    case 'plusminus':
      return [node.sign]
    case 'matrix':
      return node.rows.map((row) => row.length)
    case 'numeral':
      return [node.digits, node.base]
    case 'quantity':
      return [node.unit]
    case 'time':
      return [node.seconds]
    case 'group':
      return [node.open, node.close]
    case 'combination':
      return [node.op]
    case 'relation':
      return node.operators
    case 'text':
      return [node.text]
    default:
      return []
  }
}

export const integer = (value: bigint | number): Node => ({
  kind: 'number',
  value: { n: BigInt(value), d: 1n },
  decimal: false,
})
export const negative = (node: Node): Node =>
  node.kind === 'number'
    ? { ...node, value: { n: -node.value.n, d: node.value.d } }
    : { kind: 'product', factors: [integer(-1), node] }
export const difference = (a: Node, b: Node): Node => ({ kind: 'sum', terms: [a, negative(b)] })
