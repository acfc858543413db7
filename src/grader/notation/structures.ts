import { children, integer, type Node, withChildren } from '../maths/node.js'
import { Cursor } from './cursor.js'
import { Unreadable } from './tokens.js'

/** Reads what has parts of its own layout: sums and integrals with bounds, limits, matrices, systems. */
export abstract class Structures extends Cursor {
  abstract answer(from: number, to: number): Node
  protected abstract items(from: number, to: number): Node[]
  protected abstract item(from: number, to: number): Node
  protected abstract side(from: number, to: number): Node
  protected abstract expression(from: number, to: number): Node
  protected abstract term(): Node
  protected abstract exponent(): Node

  protected bounds(): { lower?: [number, number]; upper?: Node } {
    const bounds: { lower?: [number, number]; upper?: Node } = {}
    for (;;) {
      if (this.peek() === '_') {
        this.at++
        if (this.at >= this.end) throw new Unreadable()
        const open = this.peek() === '{'
        const close = open ? this.brackets.partner[this.at]! : this.at + 1
        bounds.lower = [open ? this.at + 1 : this.at, close]
        this.at = open ? close + 1 : close
      } else if (this.peek() === '^') {
        this.at++
        bounds.upper = this.exponent()
      } else return bounds
    }
  }

  protected sumOver(op: 'sum' | 'product'): Node {
    const { lower, upper } = this.bounds()
    if (lower === undefined || upper === undefined) throw new Unreadable()
    const start = this.item(...lower)
    if (start.kind !== 'relation' || start.operators[0] !== '=') throw new Unreadable()
    const index = this.index(start.sides[0]!)
    return { kind: 'series', op, index, from: start.sides[1]!, to: upper, body: rename(this.term(), index) }
  }

  /** An index called i is no imaginary unit. */
  protected index(node: Node): string {
    if (node.kind === 'symbol') return node.name
    if (node.kind === 'constant') return node.name
    throw new Unreadable()
  }

  protected integral(): Node {
    const { lower, upper } = this.bounds()
    if (lower === undefined || upper === undefined) throw new Unreadable()
    const from = this.expression(...lower)
    for (let at = this.at; at < this.end; at++) {
      const token = this.tokens[at]!
      const next = this.tokens[at + 1]
      const joined = token.type === 'letters' && /^d[a-z]$/.test(token.text)
      const apart = token.type === 'name' && token.text === 'd' && next?.type === 'name' && at + 1 < this.end
      if (this.brackets.partner[at]! > at) at = this.brackets.partner[at]!
      if (!joined && !apart) continue
      const body = at === this.at ? integer(1) : this.expression(this.at, at)
      this.at = joined ? at + 1 : at + 2
      return {
        kind: 'series',
        op: 'integral',
        index: joined ? token.text[1]! : next!.text,
        from,
        to: upper,
        body,
      }
    }
    throw new Unreadable()
  }

  protected limit(): Node {
    const { lower } = this.bounds()
    const arrow = lower && this.split(...lower, (sign) => sign === '→')
    if (arrow?.length !== 2) throw new Unreadable()
    const index = this.index(this.expression(...arrow[0]!))
    const from = this.expression(...arrow[1]!)
    return { kind: 'series', op: 'limit', index, from, to: from, body: rename(this.term(), index) }
  }

  /** Rows of a matrix, or equations of a system. */
  protected environment(): Node {
    const name = this.flatArgument().replace('*', '')
    if (name === 'array') this.flatArgument()
    const from = this.at
    let depth = 1
    let end = from
    for (; end < this.end; end++) {
      const token = this.tokens[end]!
      if (token.type !== 'command') continue
      depth += token.text === 'begin' ? 1 : token.text === 'end' ? -1 : 0
      if (depth === 0) break
    }
    if (depth !== 0) throw new Unreadable()
    this.at = end + 1
    this.flatArgument()
    const rows = this.split(from, end, (sign) => sign === '\\\\').filter(([a, b]) => a < b)
    if (/matrix$|^array$/.test(name)) {
      const cells = rows.map((row) =>
        this.split(...row, (sign) => sign === '&').map(([a, b]) => this.side(a, b)),
      )
      if (cells.length === 0 || cells.some((row) => row.length !== cells[0]!.length)) throw new Unreadable()
      const matrix: Node = { kind: 'matrix', rows: cells }
      return /^[vV]matrix$/.test(name) ? { kind: 'call', name: 'det', args: [matrix] } : matrix
    }
    if (!/^(?:cases|aligned?|gather(?:ed)?|split)$/.test(name)) throw new Unreadable()
    const items = rows.flatMap(([a, b]) => this.row(a, b))
    return items.length === 1 ? items[0]! : { kind: 'list', items }
  }

  /** Equations of a system, or a value and the condition under which it holds. */
  protected row(from: number, to: number): Node[] {
    const [value, condition, ...rest] = this.split(from, to, (sign) => sign === '&').map(([a, b]) =>
      this.trim(a, b),
    )
    if (condition === undefined) return this.items(...value!)
    if (rest.length > 0) throw new Unreadable()
    let [start] = condition
    const end = condition[1]
    while (start < end && this.tokens[start]!.type === 'text') start++
    const holds: Node = start === end ? { kind: 'symbol', name: 'otherwise' } : this.answer(start, end)
    return [{ kind: 'group', open: '<', close: '>', items: [this.answer(...value!), holds] }]
  }

  /** Without the commas and semicolons at its end. */
  protected trim(from: number, to: number): [number, number] {
    let end = to
    while (end > from && /^[,;]$/.test(this.sign(end - 1) ?? '')) end--
    return [from, end]
  }

  protected flatArgument(): string {
    const open = this.peek() === '{' || this.peek() === '('
    const [from, to] = open ? [this.at + 1, this.brackets.partner[this.at]!] : [this.at, this.at + 1]
    if (to > this.end) throw new Unreadable()
    this.at = open ? to + 1 : to
    return this.tokens
      .slice(from, to)
      .map((token) => token.text)
      .join('')
  }
}

function rename(node: Node, index: string): Node {
  if (index !== 'i' && index !== 'e') return node
  if (node.kind === 'constant' && node.name === index) return { kind: 'symbol', name: index }
  return withChildren(
    node,
    children(node).map((child) => rename(child, index)),
  )
}
