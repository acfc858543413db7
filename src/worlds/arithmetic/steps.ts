/**
 * Worked chains: `(7-3)*12+5=4*12+5=48+5=53`. Each link rewrites the leftmost operation whose operands are numbers.
 */
import { apply, type Expression, LIMIT, type Operation, type Operator, print } from './expression.js'

/**
 * `plain` computes every operation in one link. `split` first breaks what is hard to do at once along the digits of the
 * right operand: products of two numbers with two or more non-zero digits, `14*23=14*20+14*3`, and sums of two numbers
 * with three or more digits, `487+356=487+300+56`.
 */
export type Detail = 'plain' | 'split'

/** An operation whose operands are numbers. */
export interface Step {
  op: Operator
  left: number
  right: number
}

export interface Link {
  expression: Expression
  /** What the way to the next link computes; absent in the last link and where an operation is only broken up. */
  step?: Step
}

/** A wrong result in place of the step with this index, counted from 0 over the links that compute. */
export interface Slip {
  index: number
  value: number
}

/**
 * The links from the expression to its value, both included. Everything after a slip follows from the wrong value.
 * Undefined where a number on the way leaves the bounds of the world.
 */
export function steps(expression: Expression, detail: Detail, slip?: Slip): Link[] | undefined {
  const links: Link[] = []
  let current = expression
  let computed = 0
  while (typeof current !== 'number') {
    const step = leftmost(current)
    const parts = detail === 'split' ? breakUp(step) : undefined
    links.push(parts ? { expression: current } : { expression: current, step })
    const value = computed === slip?.index ? slip.value : apply(step.op, step.left, step.right)
    if (Math.abs(value) > LIMIT) return undefined
    if (!parts) computed++
    current = replaceLeftmost(current, parts ?? value)
  }
  links.push({ expression: current })
  return links
}

/** Links as one line, joined by `=`. */
export function printSteps(links: readonly Link[]): string {
  return links.map((link) => print(link.expression)).join('=')
}

function leftmost({ op, left, right }: Operation): Step {
  if (typeof left !== 'number') return leftmost(left)
  return typeof right !== 'number' ? leftmost(right) : { op, left, right }
}

function replaceLeftmost({ op, left, right }: Operation, by: Expression): Expression {
  if (typeof left !== 'number') return { op, left: replaceLeftmost(left, by), right }
  return typeof right !== 'number' ? { op, left, right: replaceLeftmost(right, by) } : by
}

function breakUp({ op, left, right }: Step): Operation | undefined {
  const unit = 10 ** (digits(right).length - 1)
  const lead = Math.trunc(right / unit) * unit
  const rest = Math.abs(right - lead)
  if (rest === 0 || nonZeroDigits(left) < 2) return undefined
  if (op === '*') {
    const tail: Operation = { op: '*', left: Math.abs(left), right: rest }
    return { op: left > 0 === right > 0 ? '+' : '-', left: { op, left, right: lead }, right: tail }
  }
  if (digits(left).length < 3 || digits(right).length < 3) return undefined
  const grows = (op === '+') === right > 0
  return { op: grows ? '+' : '-', left: { op, left, right: lead }, right: rest }
}

function digits(value: number): string {
  return Math.abs(value).toString()
}

function nonZeroDigits(value: number): number {
  return digits(value).replaceAll('0', '').length
}
