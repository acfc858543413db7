/** What a chain of equalities gives a name to: x = 5, f(x) = 2x + 1, (p, q) = (3, 2), |AB| = 1. */
import { type Budget, equalValues } from '../maths/equal.js'
import { keyOf, type Node, type NodeOf, some, variables } from '../maths/node.js'

export interface Assignment {
  /** Undefined where the chain names nothing but works a value out: 2 + 3 = 5. */
  name: Node | undefined
  value: Node
}

/** Whether a node is what a question would call its unknown. */
export function isName(node: Node): boolean {
  switch (node.kind) {
    case 'symbol':
      return true
    case 'call':
      if (node.name.startsWith('?')) return true
      return node.name === 'abs' && isName(node.args[0]!)
    case 'product':
      return node.factors.every(isLabel) || isChange(node.factors)
    case 'group':
      return node.items.every((item) => item.kind === 'symbol')
    case 'ratio':
      return node.parts.every(isName)
    default:
      return false
  }
}

/** Points of a figure: ABC, angle ABC. */
function isLabel(node: Node): boolean {
  if (node.kind === 'product') return node.factors.every(isLabel)
  return node.kind === 'symbol' && (/^[A-Z]/.test(node.name) || node.name.length > 2)
}

/** The change of something: Delta p. */
function isChange([first, ...rest]: Node[]): boolean {
  return first?.kind === 'symbol' && first.name === 'Delta' && rest.every(({ kind }) => kind === 'symbol')
}

/** A quantity asked for as such: m + n, a + b + c, xy. */
function isPlainCombination(node: Node): boolean {
  const parts = node.kind === 'sum' ? node.terms : node.kind === 'product' ? node.factors : []
  return parts.length > 0 && parts.every((part) => part.kind === 'symbol')
}

/** Undefined where the relation is an equation rather than an assignment. */
export function assignment(relation: NodeOf<'relation'>, budget: Budget): Assignment | undefined {
  const sides = exactSides(relation)
  if (sides === undefined) return undefined
  const first = sides[0]!
  const last = sides.at(-1)!
  if (sides.length === 1) return { name: undefined, value: first }
  if (isName(first) || isPlainCombination(first)) {
    if (sides.length === 2 && isName(last) && !isName(first)) return { name: last, value: first }
    return { name: first, value: last }
  }
  if (sides.length === 2 && isName(last) && last.kind !== 'group') return { name: last, value: first }
  if (isConstant(first)) {
    const consistent = isConstant(last) && equalValues(first, last, 0, budget)
    return consistent ? { name: undefined, value: last } : undefined
  }
  return sides.length > 2 ? { name: undefined, value: last } : undefined
}

const isConstant = (node: Node) =>
  variables(node).size === 0 && !some(node, (each) => each.kind === 'call' && each.name.startsWith('?'))

/** The sides of a chain of equalities, without the approximations at its end. */
function exactSides({ sides, operators }: NodeOf<'relation'>): Node[] | undefined {
  const kept = [sides[0]!]
  for (const [i, operator] of operators.entries()) {
    const side = sides[i + 1]!
    if (operator === '~') {
      if (kept.length > 1 || !isName(kept[0]!)) return kept
    } else if (operator !== '=') return undefined
    kept.push(side)
  }
  return kept
}

/** Names that stand for the same: y and f(x); x_1 and x_2 are roots of one x. */
export function sameName(a: Node, b: Node): boolean {
  return keyOf(a) === keyOf(b)
}

/** x of x_1. */
export function stem(name: Node): string {
  return name.kind === 'symbol' ? name.name.replace(/_\d+$/, '') : keyOf(name)
}
