/** Sets of real numbers as intervals: what inequalities, intervals, unions and sets of numbers say. */
import { complexes } from '../maths/complex.js'
import { type Budget, equalValues, pointAt } from '../maths/equal.js'
import { linear } from '../maths/equations.js'
import { attempt, evaluate } from '../maths/evaluate.js'
import { difference, type Node, type NodeOf, negative, type Relation, variables } from '../maths/node.js'
import { isName } from './assignment.js'

interface End {
  node: Node
  /** Its value; infinite at the ends of the line, NaN where it is symbolic. */
  at: number
  closed: boolean
}

interface Piece {
  low: End
  high: End
}

export type RealSet = Piece[]

/** Undefined where the node is no set of real numbers that is understood. */
export function realSet(node: Node, budget: Budget): RealSet | undefined {
  switch (node.kind) {
    case 'group':
      return interval(node, budget)
    case 'set': {
      const points = node.items.map((item) => end(item, true, budget))
      return points.some(({ at }) => !Number.isFinite(at))
        ? undefined
        : merged(points.map((each) => ({ low: each, high: each })))
    }
    case 'symbol':
      return node.name === 'ℝ' ? [line()] : undefined
    case 'builder':
      return realSet(node.condition, budget)
    case 'combination': {
      const [a, b] = [operand(node.left, budget), operand(node.right, budget)]
      if (a === undefined || b === undefined) return undefined
      if ([...a, ...b].some(({ low, high }) => Number.isNaN(low.at) || Number.isNaN(high.at)))
        return undefined
      if (node.op === 'union') return merged([...a, ...b])
      return intersect(a, node.op === 'difference' ? complement(b) : b)
    }
    case 'relation':
      return solutions(node, budget)
    case 'list':
      return conditions(node.items, budget)
    case 'sum':
      return without(node, budget)
    default:
      return undefined
  }
}

/** Of a difference that is written as one of numbers: R - {1}. */
function without({ terms }: NodeOf<'sum'>, budget: Budget): RealSet | undefined {
  const [whole, minus] = terms
  if (terms.length !== 2 || minus!.kind !== 'product' || minus!.factors.length !== 2) return undefined
  const [sign, part] = minus!.factors
  if (sign!.kind !== 'number' || sign!.value.n !== -1n) return undefined
  const [a, b] = [realSet(whole!, budget), operand(part!, budget)]
  return a && b && intersect(a, complement(b))
}

/** Braces around a single number may have been lost: {1, 2} without {2}. */
function operand(node: Node, budget: Budget): RealSet | undefined {
  const point = node.kind === 'number' || node.kind === 'quotient' ? end(node, true, budget) : undefined
  return point === undefined ? realSet(node, budget) : [{ low: point, high: point }]
}

/** Whether the node can only be a set of real numbers, not a point or a list. */
export function isSurelySet(node: Node): boolean {
  switch (node.kind) {
    case 'relation':
      return node.operators.some((operator) => operator !== '=' && operator !== '~')
    case 'combination':
    case 'builder':
      return true
    case 'symbol':
      return node.name === 'ℝ'
    case 'group':
      return (
        node.items.length === 2 &&
        ((node.open === '(') !== (node.close === ')') ||
          node.items.some((item) => infinite(item) !== undefined))
      )
    case 'list':
      return node.items.every(isSurelySet)
    case 'sum':
      return node.terms.some(isSurelySet)
    default:
      return false
  }
}

export function equalSets(a: RealSet, b: RealSet, tolerance: number, budget: Budget): boolean {
  return a.length === b.length && a.every((piece, i) => equalPieces(piece, b[i]!, tolerance, budget))
}

function equalPieces(a: Piece, b: Piece, tolerance: number, budget: Budget): boolean {
  return (['low', 'high'] as const).every((side) => {
    const [x, y] = [a[side], b[side]]
    if (x.closed !== y.closed) return false
    if (Math.abs(x.at) === Number.POSITIVE_INFINITY || Math.abs(y.at) === Number.POSITIVE_INFINITY)
      return x.at === y.at
    return equalValues(x.node, y.node, tolerance, budget)
  })
}

const infinity: Node = { kind: 'constant', name: 'infinity' }
const ends = (at: number): End => ({ node: infinity, at, closed: false })
const line = (): Piece => ({ low: ends(Number.NEGATIVE_INFINITY), high: ends(Number.POSITIVE_INFINITY) })

/** 1 or -1 where the node is infinite. */
function infinite(node: Node): number | undefined {
  if (node.kind === 'constant') return node.name === 'infinity' ? 1 : undefined
  if (node.kind !== 'product' || node.factors.length !== 2) return undefined
  const [sign, rest] = node.factors as [Node, Node]
  return sign.kind === 'number' && sign.value.n === -1n && infinite(rest) === 1 ? -1 : undefined
}

function end(node: Node, closed: boolean, budget: Budget): End {
  const sign = infinite(node)
  if (sign !== undefined) return { node, at: sign * Number.POSITIVE_INFINITY, closed: false }
  if (variables(node).size > 0) return { node, at: Number.NaN, closed }
  const value = attempt(() => evaluate(node, complexes({ ...pointAt(0), logBase: Math.E }), { budget }))
  return { node, at: value === undefined || Math.abs(value.im) > value.error ? Number.NaN : value.re, closed }
}

function interval({ open, close, items }: NodeOf<'group'>, budget: Budget): RealSet | undefined {
  if (items.length !== 2 || open === '<') return undefined
  const [low, high] = [end(items[0]!, open === '[', budget), end(items[1]!, close === ']', budget)]
  return low.at > high.at ? undefined : [{ low, high }]
}

function byLow(a: Piece, b: Piece): number {
  if (a.low.at !== b.low.at) return a.low.at < b.low.at ? -1 : 1
  return Number(b.low.closed) - Number(a.low.closed)
}

function merged(pieces: Piece[]): RealSet {
  if (pieces.length < 2) return pieces
  const sorted = [...pieces].sort(byLow)
  const result = [sorted[0]!]
  for (const piece of sorted.slice(1)) {
    const last = result.at(-1)!
    const gap = piece.low.at - last.high.at
    const same = Number.isFinite(gap) && Math.abs(gap) <= 1e-12 * Math.max(1, Math.abs(piece.low.at))
    if (gap > 0 && !same) result.push(piece)
    else if (same && !piece.low.closed && !last.high.closed) result.push(piece)
    else if (piece.high.at > last.high.at || (piece.high.at === last.high.at && piece.high.closed)) {
      result[result.length - 1] = { low: last.low, high: piece.high }
    }
  }
  return result
}

function complement(set: RealSet): RealSet {
  const result: RealSet = []
  let low = ends(Number.NEGATIVE_INFINITY)
  const flip = (each: End): End => ({ ...each, closed: Number.isFinite(each.at) && !each.closed })
  for (const piece of merged(set)) {
    if (piece.low.at > low.at || (piece.low.at === low.at && low.closed && !piece.low.closed)) {
      result.push({ low, high: flip(piece.low) })
    }
    low = flip(piece.high)
  }
  if (low.at < Number.POSITIVE_INFINITY) result.push({ low, high: ends(Number.POSITIVE_INFINITY) })
  return result
}

function intersect(a: RealSet, b: RealSet): RealSet {
  return complement(merged([...complement(a), ...complement(b)]))
}

/** Of an inequality, or a chain of them, in one variable or name. */
function solutions({ sides, operators }: NodeOf<'relation'>, budget: Budget): RealSet | undefined {
  let result: RealSet = [line()]
  for (const [i, operator] of operators.entries()) {
    const part = solve(sides[i]!, operator, sides[i + 1]!, budget)
    if (part === undefined) return undefined
    result = operators.length === 1 ? part : intersect(result, part)
  }
  return result
}

function solve(left: Node, operator: Relation, right: Node, budget: Budget): RealSet | undefined {
  if (operator === 'in') return isName(left) ? realSet(right, budget) : undefined
  if (operator === 'notin') {
    const set = isName(left) ? realSet(right, budget) : undefined
    return set && complement(set)
  }
  if (operator === '~') return undefined
  const isConstant = (node: Node) => variables(node).size === 0 && !isUnknown(node)
  if (isConstant(right)) {
    if (isVariable(left)) return halfLine(operator, right, budget)
    if (left.kind === 'call' && left.name === 'abs' && isVariable(left.args[0]!))
      return absolute(operator, right, budget)
  }
  if (isConstant(left) && !isConstant(right)) return solve(right, turned[operator] ?? operator, left, budget)
  const expression = difference(left, right)
  const [name, ...others] = variables(expression)
  if (name === undefined || others.length > 0) return undefined
  const form = linear(expression, name, budget)
  if (form === undefined) return undefined
  const bound: Node = { kind: 'quotient', top: negative(form.intercept), bottom: form.slope }
  const rising = end(form.slope, true, budget).at > 0
  return halfLine(rising ? operator : (turned[operator] ?? operator), bound, budget)
}

const isUnknown = (node: Node) => node.kind === 'call' && node.name.startsWith('?')
const isVariable = (node: Node) => node.kind === 'symbol' || isUnknown(node)

const turned: Partial<Record<Relation, Relation>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function halfLine(operator: Relation, bound: Node, budget: Budget): RealSet | undefined {
  const at = end(bound, operator === '<=' || operator === '>=' || operator === '=', budget)
  if (Number.isNaN(at.at)) return undefined
  switch (operator) {
    case '<':
    case '<=':
      return [{ ...line(), high: at }]
    case '>':
    case '>=':
      return [{ ...line(), low: at }]
    case '=':
      return [{ low: at, high: at }]
    case '!=':
      return complement([{ low: { ...at, closed: true }, high: { ...at, closed: true } }])
    default:
      return undefined
  }
}

/** |x| < c and the like. */
function absolute(operator: Relation, bound: Node, budget: Budget): RealSet | undefined {
  const upper = halfLine(operator, bound, budget)
  const lower = halfLine(turned[operator] ?? operator, negative(bound), budget)
  if (upper === undefined || lower === undefined) return undefined
  return operator === '<' || operator === '<=' ? intersect(upper, lower) : merged([...upper, ...lower])
}

/** Several conditions: both hold where together they leave nothing out, otherwise either does. */
function conditions(items: Node[], budget: Budget): RealSet | undefined {
  if (items.length < 2 || !items.every((item) => item.kind === 'relation')) return undefined
  const sets = items.map((item) => realSet(item, budget))
  if (sets.some((set) => set === undefined)) return undefined
  const known = sets as RealSet[]
  const union = merged(known.flat())
  const everything = union.length === 1 && Math.abs(union[0]!.low.at) === Number.POSITIVE_INFINITY
  const full = everything && union[0]!.high.at === Number.POSITIVE_INFINITY
  return full ? known.reduce(intersect) : union
}
