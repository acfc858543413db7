/** Reads the tokens of an answer as a tree. */
import { type Node, negative, type Relation } from '../maths/node.js'
import { Expressions } from './expression.js'
import { relations } from './relations.js'
import { type Reading, type Token, Unreadable } from './tokens.js'
import { unitStart } from './unit-suffix.js'
import { conversion, currencySigns, currencyWords, isUnitWord, percentWords } from './units.js'

/** Tokens beyond which an answer is no mathematics but prose. */
const MAX_TOKENS = 3000

const separators = new Set([',', ';', '∧', '∨', '\\\\'])

/** Throws Unreadable where the tokens are no answer that is understood. */
export function parse(tokens: Token[], { letterUnits = 'gap' }: Pick<Reading, 'letterUnits'> = {}): Node {
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) throw new Unreadable()
  return new Answers(tokens, letterUnits).answer(0, tokens.length)
}

/** Reads lists of relations between sets, tuples and quantities. */
class Answers extends Expressions {
  readonly #letterUnits: Reading['letterUnits']

  constructor(tokens: Token[], letterUnits: Reading['letterUnits']) {
    super(tokens)
    this.#letterUnits = letterUnits
  }

  /** Items between separators. */
  answer(from: number, to: number): Node {
    const items = this.items(from, to)
    return items.length === 1 ? items[0]! : { kind: 'list', items }
  }

  protected items(from: number, to: number): Node[] {
    const parts = this.split(from, to, (sign) => separators.has(sign))
    const filled = parts.filter(([a, b], i) => {
      if (a < b) return true
      // "82, and 5" has nothing between its two separators.
      const before = this.sign(a - 1)
      const after = this.sign(b)
      if (i > 0 && i < parts.length - 1 && before === ',' && (after === '∧' || after === '∨')) return false
      if (i === parts.length - 1 && before === '\\\\') return false
      throw new Unreadable()
    })
    return filled.map(([a, b]) => this.item(a, b))
  }

  /** A chain of relations, or a value. */
  protected item(from: number, to: number): Node {
    const eq = this.tokens[from]
    if (eq?.type === 'letters' && eq.text === 'Eq' && this.brackets.partner[from + 1] === to - 1) {
      const sides = this.items(from + 2, to - 1)
      if (sides.length === 2) return { kind: 'relation', sides, operators: ['='] }
    }
    const parts = this.split(from, to, (sign) => Object.hasOwn(relations, sign) || sign === '→')
    if (parts.length === 1) return this.side(from, to)
    const operators = parts.slice(1).map(([a]) => relations[this.sign(a - 1)!])
    if (operators.includes(undefined)) throw new Unreadable()
    const ops = operators as Relation[]
    for (const [a, b] of parts.slice(0, -1)) this.learnFunction(a, b)
    const [first, ...rest] = parts
    if (first![0] === first![1]) {
      // "= 5" and "about 5" are 5.
      if (ops[0] !== '=' && ops[0] !== '~') throw new Unreadable()
      return this.item(rest[0]![0], to)
    }
    const sides = parts.map(([a, b], i) => (i === parts.length - 1 ? this.side(a, b) : this.sideOrName(a, b)))
    return { kind: 'relation', sides, operators: ops }
  }

  /** What stands before a sign of equality may be a name of any form. */
  protected sideOrName(from: number, to: number): Node {
    try {
      return this.side(from, to)
    } catch (error) {
      if (!(error instanceof Unreadable) || from === to) throw error
      const name = this.tokens.slice(from, to).map((token) => token.text)
      return { kind: 'symbol', name: name.join(' ') }
    }
  }

  /** f(x) before a sign of equality says that f is a function. */
  protected learnFunction(from: number, to: number): void {
    const [name, bracket] = [this.tokens[from], this.sign(from + 1)]
    const plain = this.tokens
      .slice(from + 2, to - 1)
      .every(({ type, text }) => type === 'name' || text === ',')
    if (name?.type === 'name' && bracket === '(' && plain && this.brackets.partner[from + 1] === to - 1) {
      this.functions.add(name.text)
    }
  }

  protected side(from: number, to: number): Node {
    const parts = this.split(from, to, (sign) => sign === ':')
    if (parts.length > 1) return { kind: 'ratio', parts: parts.map(([a, b]) => this.sets(a, b)) }
    return this.sets(from, to)
  }

  protected sets(from: number, to: number): Node {
    for (const [sign, op] of [
      ['∖', 'difference'],
      ['∪', 'union'],
      ['∩', 'intersection'],
    ] as const) {
      const parts = this.split(from, to, (each) => each === sign)
      if (parts.length > 1) {
        return parts
          .map(([a, b]) => this.sets(a, b))
          .reduce((left, right) => ({ kind: 'combination', op, left, right }))
      }
    }
    return this.quantity(from, to)
  }

  /** A value with what it counts or measures. */
  protected quantity(from: number, to: number): Node {
    let start = from
    const minus = this.sign(start) === '-' && this.currency(start + 1) !== undefined
    if (minus) start++
    const currency = this.currency(start)
    if (currency !== undefined) start++
    const several = this.severalUnits(start, to)
    if (several !== undefined) return several
    const end = unitStart(this.tokens, start, to, this.nested > 0 ? 'none' : this.#letterUnits)
    const value = this.expression(start, end)
    const signed = minus ? negative(value) : value
    const unit = [...(currency ? [currency] : []), ...(end < to ? [this.unitText(end, to)] : [])].join(' ')
    if (percentWords.test(unit)) return { kind: 'percent', value: signed }
    return unit === '' ? signed : { kind: 'quantity', value: signed, unit }
  }

  protected currency(at: number): string | undefined {
    const token = this.tokens[at]
    if (token?.type === 'sign') return currencySigns[token.text]
    return token?.type === 'letters' ? currencyWords[token.text] : undefined
  }

  /** 3 hours 20 minutes, as the sum in its last unit. */
  protected severalUnits(from: number, to: number): Node | undefined {
    const parts: { value: Node; unit: string }[] = []
    for (let at = from; at < to; at += 2) {
      const [number, unit] = [this.tokens[at]!, this.tokens[at + 1]]
      if (number.type !== 'number' || at + 1 >= to || (unit?.type !== 'letters' && unit?.type !== 'text'))
        return undefined
      if (!isUnitWord(unit.text)) return undefined
      parts.push({ value: { kind: 'number', value: number.value, decimal: number.decimal }, unit: unit.text })
    }
    if (parts.length < 2) return undefined
    const unit = parts.at(-1)!.unit
    const terms = parts.map((part): Node => {
      const times = conversion(part.unit, unit)
      if (times === undefined) throw new Unreadable()
      return { kind: 'product', factors: [{ kind: 'number', value: times, decimal: false }, part.value] }
    })
    return { kind: 'quantity', value: { kind: 'sum', terms }, unit }
  }

  protected unitText(from: number, to: number): string {
    return this.tokens
      .slice(from, to)
      .map((token) => token.text)
      .filter((text) => text !== '{' && text !== '}')
      .join(' ')
      .replace(/\^ - /g, '^ -')
  }
}
