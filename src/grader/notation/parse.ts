/** Reads the tokens of an answer as a tree. */
import { children, integer, type Node, negative, type Relation, withChildren } from '../maths/node.js'
import { type Brackets, matchBrackets } from './brackets.js'
import { inverseOf } from './spellings.js'
import { type Token, Unreadable } from './tokens.js'
import { currencySigns, isUnitWord, letterUnits } from './units.js'

/** Tokens beyond which an answer is no mathematics but prose. */
const MAX_TOKENS = 3000

const relations: Record<string, Relation> = {
  '=': '=',
  '!=': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '~': '~',
  '∈': 'in',
  '∉': 'notin',
}
const separators = new Set([',', ';', '∧', '∨', '\\\\'])

/** Throws Unreadable where the tokens are no answer that is understood. */
export function parse(tokens: Token[]): Node {
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) throw new Unreadable()
  return new Parser(tokens).answer(0, tokens.length)
}

class Parser {
  readonly #tokens: Token[]
  readonly #brackets: Brackets
  /** Next token, and the end of what may be read. */
  #at = 0
  #end = 0
  /** Whether `|` closes an absolute value rather than opening one. */
  #bars = 0
  /** Whether a degree sign turns a number into an angle, as under sin. */
  #angle = false
  /** Letters that a bracket applies to as functions do. */
  readonly #functions = new Set(['f', 'g', 'h'])

  constructor(tokens: Token[]) {
    this.#tokens = tokens
    this.#brackets = matchBrackets(tokens)
  }

  /** Items between separators. */
  answer(from: number, to: number): Node {
    const items = this.#items(from, to)
    return items.length === 1 ? items[0]! : { kind: 'list', items }
  }

  #items(from: number, to: number): Node[] {
    const parts = this.#split(from, to, (sign) => separators.has(sign))
    const filled = parts.filter(([a, b], i) => {
      if (a < b) return true
      // "82, and 5" has nothing between its two separators.
      const before = this.#sign(a - 1)
      const after = this.#sign(b)
      if (i > 0 && i < parts.length - 1 && before === ',' && (after === '∧' || after === '∨')) return false
      if (i === parts.length - 1 && before === '\\\\') return false
      throw new Unreadable()
    })
    return filled.map(([a, b]) => this.#item(a, b))
  }

  /** Ranges between the signs that stand in no brackets. */
  #split(from: number, to: number, isCut: (sign: string) => boolean): [number, number][] {
    const parts: [number, number][] = []
    let start = from
    let bars = 0
    let environments = 0
    for (let at = from; at < to; at++) {
      const token = this.#tokens[at]!
      if (token.type === 'command') environments += token.text === 'begin' ? 1 : token.text === 'end' ? -1 : 0
      const sign = this.#sign(at)
      if (sign === undefined) continue
      const partner = this.#brackets.partner[at]!
      if (partner > at) at = partner
      else if (sign === '|') bars = 1 - bars
      else if (environments === 0 && isCut(sign) && (bars === 0 || sign !== ',')) {
        parts.push([start, at])
        start = at + 1
      }
    }
    return [...parts, [start, to]]
  }

  /** A chain of relations, or a value. */
  #item(from: number, to: number): Node {
    const eq = this.#tokens[from]
    if (eq?.type === 'letters' && eq.text === 'Eq' && this.#brackets.partner[from + 1] === to - 1) {
      const sides = this.#items(from + 2, to - 1)
      if (sides.length === 2) return { kind: 'relation', sides, operators: ['='] }
    }
    const parts = this.#split(from, to, (sign) => Object.hasOwn(relations, sign) || sign === '→')
    if (parts.length === 1) return this.#side(from, to)
    const operators = parts.slice(1).map(([a]) => relations[this.#sign(a - 1)!])
    if (operators.includes(undefined)) throw new Unreadable()
    const ops = operators as Relation[]
    for (const [a, b] of parts.slice(0, -1)) this.#learnFunction(a, b)
    const [first, ...rest] = parts
    if (first![0] === first![1]) {
      // "= 5" and "about 5" are 5.
      if (ops[0] !== '=' && ops[0] !== '~') throw new Unreadable()
      return this.#item(rest[0]![0], to)
    }
    const sides = parts.map(([a, b], i) =>
      i === parts.length - 1 ? this.#side(a, b) : this.#sideOrName(a, b),
    )
    return { kind: 'relation', sides, operators: ops }
  }

  /** What stands before a sign of equality may be a name of any form. */
  #sideOrName(from: number, to: number): Node {
    try {
      return this.#side(from, to)
    } catch (error) {
      if (!(error instanceof Unreadable) || from === to) throw error
      const name = this.#tokens.slice(from, to).map((token) => token.text)
      return { kind: 'symbol', name: name.join(' ') }
    }
  }

  /** f(x) before a sign of equality says that f is a function. */
  #learnFunction(from: number, to: number): void {
    const [name, bracket] = [this.#tokens[from], this.#sign(from + 1)]
    const plain = this.#tokens
      .slice(from + 2, to - 1)
      .every(({ type, text }) => type === 'name' || text === ',')
    if (name?.type === 'name' && bracket === '(' && plain && this.#brackets.partner[from + 1] === to - 1) {
      this.#functions.add(name.text)
    }
  }

  #side(from: number, to: number): Node {
    const parts = this.#split(from, to, (sign) => sign === ':')
    if (parts.length > 1) return { kind: 'ratio', parts: parts.map(([a, b]) => this.#sets(a, b)) }
    return this.#sets(from, to)
  }

  #sets(from: number, to: number): Node {
    for (const [sign, op] of [
      ['∖', 'difference'],
      ['∪', 'union'],
      ['∩', 'intersection'],
    ] as const) {
      const parts = this.#split(from, to, (each) => each === sign)
      if (parts.length > 1) {
        return parts
          .map(([a, b]) => this.#sets(a, b))
          .reduce((left, right) => ({ kind: 'combination', op, left, right }))
      }
    }
    return this.#quantity(from, to)
  }

  /** A value with what it counts or measures. */
  #quantity(from: number, to: number): Node {
    let [start, end] = [from, to]
    const units: string[] = []
    const sign = this.#sign(start)
    const minus = sign === '-' && currencySigns[this.#sign(start + 1) ?? ''] !== undefined
    if (minus) start++
    if (currencySigns[this.#sign(start) ?? '']) units.push(currencySigns[this.#sign(start++)!]!)
    const countable = this.#tokens
      .slice(start, end)
      .some(({ type, text }) => type === 'number' || type === 'command' || /^(?:pi|sqrt|∞)$/.test(text))
    while (countable && end > start + 1) {
      const cut = this.#unitAt(start, end)
      if (cut === undefined) break
      units.unshift(this.#unitText(cut, end))
      end = cut
    }
    const value = this.#expression(start, end)
    const signed = minus ? negative(value) : value
    const unit = units.join(' ').trim()
    if (/(^|\s)(?:%|pct|percent|percentage)$/.test(unit)) return { kind: 'percent', value: signed }
    return unit === '' ? signed : { kind: 'quantity', value: signed, unit }
  }

  /** Start of a unit that ends at `end`; undefined where there is none. */
  #unitAt(start: number, end: number): number | undefined {
    const token = this.#tokens[end - 1]!
    const before = this.#tokens[end - 2]!
    if (token.type === 'sign') {
      if (token.text === '%' || currencySigns[token.text]) return end - 1
      return undefined
    }
    if (token.type === 'number' && before.type === 'sign' && before.text === '^') {
      return end - 3 > start && this.#isUnit(end - 3, end - 2) ? end - 3 : undefined
    }
    if (!this.#isUnit(end - 1, end)) return undefined
    const slash = before.type === 'sign' && before.text === '/'
    return slash && end - 3 > start && this.#isUnit(end - 3, end - 2) ? end - 2 : end - 1
  }

  #isUnit(at: number, end: number): boolean {
    const token = this.#tokens[at]!
    const before = this.#tokens[at - 1]
    if (token.type === 'text') return true
    if (token.type === 'letters')
      return isUnitWord(token.text) || token.text.length > 3 || /^p[ce]/.test(token.text)
    if (token.type !== 'name' || !letterUnits.has(token.text)) return false
    const first = this.#tokens.slice(0, at).every(({ type, text }) => type === 'number' || text === '-')
    const power = this.#sign(end) === '^'
    return (
      before?.type === 'number' &&
      first &&
      (before.decimal || token.gap || /[A-Z]/.test(token.text) || !power)
    )
  }

  #unitText(from: number, to: number): string {
    return this.#tokens
      .slice(from, to)
      .map((token) => token.text)
      .join(' ')
  }

  /** The whole range as one expression. */
  #expression(from: number, to: number): Node {
    const [at, end, bars] = [this.#at, this.#end, this.#bars]
    this.#at = from
    this.#end = to
    this.#bars = 0
    const node = this.#sum()
    if (this.#at !== to) throw new Unreadable()
    this.#at = at
    this.#end = end
    this.#bars = bars
    return node
  }

  #sum(): Node {
    const terms = [this.#term()]
    for (;;) {
      const sign = this.#peek()
      if (sign === '+') this.#at++
      if (sign !== '+' && sign !== '-' && sign !== '±' && sign !== '∓') break
      terms.push(this.#term())
    }
    return terms.length === 1 ? terms[0]! : { kind: 'sum', terms }
  }

  /** A product with its sign. A division takes one factor, so that 1/2(y + 5) is half of y + 5. */
  #term(): Node {
    const sign = this.#peek()
    if (sign === '-' || sign === '+' || sign === '±' || sign === '∓') {
      this.#at++
      const operand = this.#term()
      if (sign === '+') return operand
      return sign === '-' ? negative(operand) : { kind: 'plusminus', sign: sign === '±' ? 1 : -1, operand }
    }
    let node = this.#power()
    let last = node
    const multiply = (factor: Node) => {
      node =
        node.kind === 'product'
          ? { kind: 'product', factors: [...node.factors, factor] }
          : { kind: 'product', factors: [node, factor] }
      last = factor
    }
    for (;;) {
      const next = this.#peek()
      if (next === '*') {
        this.#at++
        multiply(this.#signedPower())
      } else if (next === '/') {
        this.#at++
        const bottom = this.#signedPower()
        node = { kind: 'quotient', top: node, bottom }
        last = bottom
      } else if (next === 'mod' || this.#isModulus()) {
        this.#at++
        node = { kind: 'call', name: 'mod', args: [node, this.#power()] }
      } else if (this.#startsFactor()) {
        if (last.kind === 'number' && this.#tokens[this.#at]!.type === 'number') throw new Unreadable()
        // Two words in a row are a sentence.
        if (this.#isLetters(this.#at - 1) && this.#isLetters(this.#at)) throw new Unreadable()
        multiply(this.#power())
      } else return node
    }
  }

  #isLetters(at: number): boolean {
    return this.#tokens[at]!.type === 'letters'
  }

  #isModulus(): boolean {
    const token = this.#at < this.#end ? this.#tokens[this.#at] : undefined
    return token?.type === 'command' && /mod$/.test(token.text)
  }

  #signedPower(): Node {
    const sign = this.#peek()
    if (sign !== '-' && sign !== '+') return this.#power()
    this.#at++
    const operand = this.#signedPower()
    return sign === '-' ? negative(operand) : operand
  }

  #startsFactor(): boolean {
    if (this.#at >= this.#end) return false
    const token = this.#tokens[this.#at]!
    if (token.type === 'sign') {
      if (token.text === '|') return this.#bars === 0
      return ['(', '[', '{', '\\{', '⟨', '⌊', '⌈', '∞', '…', '∑', '∏', '∫', 'ℝ'].includes(token.text)
    }
    if (token.type === 'command') return token.text !== 'end'
    return token.type !== 'text'
  }

  #power(): Node {
    let base = this.#postfix()
    while (this.#peek() === '^') {
      this.#at++
      if (this.#isDegree()) {
        base = this.#degrees(base)
        continue
      }
      base = { kind: 'power', base, exponent: this.#exponent() }
      base = this.#marks(base)
    }
    return base
  }

  #exponent(): Node {
    if (this.#peek() === '-' || this.#peek() === '+') return this.#signedExponent()
    const group = this.#group()
    if (group !== undefined) return group
    const node = this.#postfix()
    if (this.#peek() !== '^') return node
    this.#at++
    return { kind: 'power', base: node, exponent: this.#exponent() }
  }

  #signedExponent(): Node {
    const minus = this.#peek() === '-'
    this.#at++
    const exponent = this.#exponent()
    return minus ? negative(exponent) : exponent
  }

  /** `^\circ` and `^{\circ}` */
  #isDegree(): boolean {
    if (this.#peek() === '°') {
      this.#at++
      return true
    }
    if (this.#peek() === '{' && this.#sign(this.#at + 1) === '°' && this.#sign(this.#at + 2) === '}') {
      this.#at += 3
      return true
    }
    return false
  }

  #degrees(node: Node): Node {
    if (!this.#angle) return node
    return {
      kind: 'product',
      factors: [node, { kind: 'quotient', top: { kind: 'constant', name: 'pi' }, bottom: integer(180) }],
    }
  }

  #postfix(): Node {
    return this.#marks(this.#primary())
  }

  #marks(node: Node): Node {
    let result = node
    for (;;) {
      const sign = this.#peek()
      if (sign === '!') {
        this.#at++
        const twice = this.#peek() === '!' && !this.#tokens[this.#at]!.gap
        if (twice) this.#at++
        result = { kind: 'call', name: twice ? 'double_factorial' : 'factorial', args: [result] }
      } else if (sign === '°') {
        this.#at++
        result = this.#degrees(result)
      } else if (sign === '%') {
        this.#at++
        result = { kind: 'percent', value: result }
      } else return result
    }
  }

  #primary(): Node {
    if (this.#at >= this.#end) throw new Unreadable()
    const token = this.#tokens[this.#at]!
    switch (token.type) {
      case 'number':
        return this.#number(token)
      case 'name':
        this.#at++
        return this.#name(token.text)
      case 'letters':
        this.#at++
        return this.#letters(token.text)
      case 'function':
        this.#at++
        return this.#function(token.text)
      case 'command':
        this.#at++
        return this.#command(token.text)
      case 'text':
        throw new Unreadable()
    }
    const group = this.#group()
    if (group !== undefined) return group
    this.#at++
    switch (token.text) {
      case '|':
        return this.#absolute()
      case '∞':
        return { kind: 'constant', name: 'infinity' }
      case '∅':
        return { kind: 'set', items: [] }
      case '…':
      case 'ℝ':
      case 'ℕ':
      case 'ℤ':
      case 'ℚ':
      case 'ℂ':
        return this.#subscripted(token.text)
      case '∑':
      case '∏':
        return this.#sumOver(token.text === '∑' ? 'sum' : 'product')
      case '∫':
        return this.#integral()
      default:
        throw new Unreadable()
    }
  }

  #number(token: Token & { type: 'number' }): Node {
    this.#at++
    const value: Node = { kind: 'number', value: token.value, decimal: token.decimal }
    if (this.#peek() === '_') {
      this.#at++
      const base = this.#argument()
      if (base.kind !== 'number' || base.value.d !== 1n) throw new Unreadable()
      return { kind: 'numeral', digits: token.text, base: Number(base.value.n) }
    }
    if (token.decimal || token.value.d !== 1n) return value
    const fraction = this.#properFraction()
    return fraction === undefined ? value : { kind: 'sum', terms: [value, fraction] }
  }

  /** The fraction of a mixed number: 2\frac{3}{4}, 2 3/4. */
  #properFraction(): Node | undefined {
    const at = this.#at
    const [a, b, c] = [0, 1, 2].map((i) => (at + i < this.#end ? this.#tokens[at + i] : undefined))
    if (a?.type === 'number' && a.gap && b?.text === '/' && c?.type === 'number') {
      if (a.decimal || c.decimal || a.value.n >= c.value.n) return undefined
      this.#at += 3
      return { kind: 'quotient', top: integer(a.value.n), bottom: integer(c.value.n) }
    }
    if (a?.type !== 'command' || a.text !== 'frac') return undefined
    this.#at++
    const [top, bottom] = [this.#argument(), this.#argument()]
    const whole = (node: Node) => node.kind === 'number' && node.value.d === 1n && node.value.n > 0n
    if (whole(top) && whole(bottom) && top.kind === 'number' && bottom.kind === 'number') {
      if (top.value.n < bottom.value.n) return { kind: 'quotient', top, bottom }
    }
    this.#at = at
    return undefined
  }

  #name(text: string): Node {
    if (text === 'pi' && this.#peek() !== '_') return { kind: 'constant', name: 'pi' }
    if ((text === 'e' || text === 'i') && this.#peek() !== '_' && this.#peek() !== "'") {
      return { kind: 'constant', name: text }
    }
    const symbol = this.#subscripted(text)
    const bracket = this.#at < this.#end && this.#peek() === '(' && !this.#tokens[this.#at]!.gap
    if (symbol.kind !== 'symbol' || !bracket) {
      if (symbol.kind !== 'symbol' || this.#peek() !== '(' || !this.#functions.has(text)) return symbol
    }
    const close = this.#brackets.partner[this.#at]!
    const several = this.#split(this.#at + 1, close, (sign) => sign === ',').length > 1
    if (!this.#functions.has(text) && !several) return symbol
    const args = this.#items(this.#at + 1, close)
    this.#at = close + 1
    return { kind: 'call', name: `?${symbol.name}`, args }
  }

  /** With its subscript and primes, which belong to the name. */
  #subscripted(text: string): Node {
    let name = text
    for (;;) {
      if (this.#peek() === '_') {
        this.#at++
        name += `_${this.#flatArgument()}`
      } else if (this.#peek() === "'") {
        this.#at++
        name += "'"
      } else if (this.#peek() === '^' && this.#sign(this.#at + 1) === "'") {
        this.#at += 2
        name += "'"
      } else if (
        this.#peek() === '^' &&
        this.#sign(this.#at + 1) === '{' &&
        this.#sign(this.#at + 2) === "'" &&
        this.#sign(this.#brackets.partner[this.#at + 1]! - 1) === "'"
      ) {
        const close = this.#brackets.partner[this.#at + 1]!
        name += "'".repeat(close - this.#at - 2)
        this.#at = close + 1
      } else return { kind: 'symbol', name }
    }
  }

  #flatArgument(): string {
    const open = this.#peek() === '{' || this.#peek() === '('
    const [from, to] = open ? [this.#at + 1, this.#brackets.partner[this.#at]!] : [this.#at, this.#at + 1]
    if (to > this.#end) throw new Unreadable()
    this.#at = open ? to + 1 : to
    return this.#tokens
      .slice(from, to)
      .map((token) => token.text)
      .join('')
  }

  /** Up to three letters in a row are a product; more are a word. */
  #letters(text: string): Node {
    const split = /^(sin|cos|tan|cot|ln|log|sqrt)([a-zA-Z])$/.exec(text)
    if (split) {
      const arg = this.#name(split[2]!)
      const args = split[1] === 'sqrt' ? [arg, integer(2)] : [arg]
      return { kind: 'call', name: split[1] === 'sqrt' ? 'root' : split[1]!, args }
    }
    if (text.length > 3) throw new Unreadable()
    const names = [...text]
    const factors = names.map((letter, i): Node => {
      if (i === names.length - 1) return this.#name(letter)
      if (letter === 'e' || letter === 'i') return { kind: 'constant', name: letter }
      return { kind: 'symbol', name: letter }
    })
    return { kind: 'product', factors }
  }

  #function(name: string): Node {
    let exponent: Node | undefined
    let base: Node | undefined
    for (;;) {
      if (this.#peek() === '^' && exponent === undefined) {
        this.#at++
        exponent = this.#exponent()
      } else if (this.#peek() === '_' && base === undefined) {
        this.#at++
        base = this.#argument()
      } else if (this.#peek() === '[' && name === 'sqrt') {
        const close = this.#brackets.partner[this.#at]!
        base = this.#expression(this.#at + 1, close)
        this.#at = close + 1
      } else break
    }
    const inverse = exponent?.kind === 'number' && exponent.value.n === -1n ? inverseOf(name) : undefined
    const angle = this.#angle
    this.#angle = /^(?:sin|cos|tan|cot|sec|csc|cis)$/.test(name)
    const args = this.#arguments(name)
    this.#angle = angle
    const call = known(inverse ?? name, args, base)
    return exponent === undefined || inverse !== undefined ? call : { kind: 'power', base: call, exponent }
  }

  #arguments(name: string): Node[] {
    const sign = this.#peek()
    if (sign === '(' || sign === '{' || sign === '[' || sign === '\\{') {
      const close = this.#brackets.partner[this.#at]!
      const args = this.#items(this.#at + 1, close)
      this.#at = close + 1
      return args
    }
    if (name === 'sqrt' || name === 'cbrt') return [this.#postfix()]
    if (sign === '|') return [this.#primary()]
    if (sign === '-') {
      this.#at++
      return [negative(this.#power())]
    }
    const factors = [this.#power()]
    while (this.#startsFactor() && factors.length < 8) {
      const token = this.#tokens[this.#at]!
      if (token.type === 'function' && token.text !== 'sqrt') break
      if (token.type === 'sign' || (token.type === 'command' && token.text !== 'frac')) break
      if (token.type === 'number' && factors.at(-1)!.kind === 'number') break
      factors.push(this.#power())
    }
    return [factors.length === 1 ? factors[0]! : { kind: 'product', factors }]
  }

  #command(name: string): Node {
    switch (name) {
      case 'frac':
        return { kind: 'quotient', top: this.#argument(), bottom: this.#argument() }
      case 'binom':
        return { kind: 'call', name: 'binom', args: [this.#argument(), this.#argument()] }
      case 'begin':
        return this.#environment()
      case 'lim':
        return this.#limit()
      default:
        throw new Unreadable()
    }
  }

  /** A group, or the one digit, letter or command that TeX would take. */
  #argument(): Node {
    const group = this.#group()
    if (group !== undefined) return group
    const token = this.#tokens[this.#at]
    if (token?.type === 'number' && token.text.length > 1 && !token.decimal && this.#isFrac()) {
      // \frac12 is one half: the tokeniser read 12.
      const [first, rest] = [token.text[0]!, token.text.slice(1)]
      this.#tokens[this.#at] = { ...token, text: rest, value: { n: BigInt(rest), d: 1n } }
      return integer(BigInt(first))
    }
    if (token?.type === 'letters') throw new Unreadable()
    return this.#primary()
  }

  #isFrac(): boolean {
    const before = [1, 2].map((back) => this.#tokens[this.#at - back])
    return before.some((token) => token?.type === 'command') || this.#sign(this.#at - 1) === '}'
  }

  /** What stands in brackets, from the one at hand; undefined where there is none. */
  #group(): Node | undefined {
    const open = this.#peek()
    const close = this.#at < this.#end ? this.#brackets.partner[this.#at]! : -1
    if (open === undefined || close < this.#at) return undefined
    if (close >= this.#end) throw new Unreadable()
    const from = this.#at + 1
    this.#at = close + 1
    const angle = this.#angle
    const bars = this.#bars
    this.#bars = 0
    const node = this.#bracketed(open, from, close)
    this.#angle = angle
    this.#bars = bars
    return node
  }

  #bracketed(open: string, from: number, close: number): Node {
    if (open === '⌊' || open === '⌈') {
      return { kind: 'call', name: open === '⌊' ? 'floor' : 'ceil', args: [this.#expression(from, close)] }
    }
    if (open === '\\{') {
      const parts = this.#split(from, close, (sign) => sign === '|' || sign === ':')
      const condition = parts[1]
      if (parts.length === 2 && this.#hasRelation(...condition!)) {
        return { kind: 'builder', condition: this.answer(...condition!) }
      }
      return { kind: 'set', items: from === close ? [] : this.#items(from, close) }
    }
    const items = this.#items(from, close)
    if (open === '{') return items.length === 1 ? items[0]! : { kind: 'set', items }
    if (items.length === 1) return items[0]!
    if (open === '⟨') return { kind: 'group', open: '<', close: '>', items }
    const turn = (at: number, sign: string) =>
      this.#brackets.reversed.has(at) ? (sign === ']' ? '(' : ')') : sign
    return {
      kind: 'group',
      open: turn(from - 1, open) as '(' | '[',
      close: turn(close, this.#sign(close)!) as ')' | ']',
      items,
    }
  }

  #hasRelation(from: number, to: number): boolean {
    return this.#split(from, to, (sign) => Object.hasOwn(relations, sign)).length > 1
  }

  #absolute(): Node {
    this.#bars++
    const inner = this.#sum()
    this.#bars--
    if (this.#peek() !== '|') throw new Unreadable()
    this.#at++
    return { kind: 'call', name: inner.kind === 'matrix' ? 'det' : 'abs', args: [inner] }
  }

  #bounds(): { lower?: [number, number]; upper?: Node } {
    const bounds: { lower?: [number, number]; upper?: Node } = {}
    for (;;) {
      if (this.#peek() === '_') {
        this.#at++
        const open = this.#peek() === '{'
        const close = open ? this.#brackets.partner[this.#at]! : this.#at + 1
        bounds.lower = [open ? this.#at + 1 : this.#at, close]
        this.#at = open ? close + 1 : close
      } else if (this.#peek() === '^') {
        this.#at++
        bounds.upper = this.#exponent()
      } else return bounds
    }
  }

  #sumOver(op: 'sum' | 'product'): Node {
    const { lower, upper } = this.#bounds()
    if (lower === undefined || upper === undefined) throw new Unreadable()
    const start = this.#item(...lower)
    if (start.kind !== 'relation' || start.operators[0] !== '=') throw new Unreadable()
    const index = this.#index(start.sides[0]!)
    return { kind: 'series', op, index, from: start.sides[1]!, to: upper, body: rename(this.#term(), index) }
  }

  /** An index called i is no imaginary unit. */
  #index(node: Node): string {
    if (node.kind === 'symbol') return node.name
    if (node.kind === 'constant') return node.name
    throw new Unreadable()
  }

  #integral(): Node {
    const { lower, upper } = this.#bounds()
    if (lower === undefined || upper === undefined) throw new Unreadable()
    const from = this.#expression(...lower)
    for (let at = this.#at; at < this.#end; at++) {
      const token = this.#tokens[at]!
      const next = this.#tokens[at + 1]
      const joined = token.type === 'letters' && /^d[a-z]$/.test(token.text)
      const apart = token.type === 'name' && token.text === 'd' && next?.type === 'name' && at + 1 < this.#end
      if (this.#brackets.partner[at]! > at) at = this.#brackets.partner[at]!
      if (!joined && !apart) continue
      const body = at === this.#at ? integer(1) : this.#expression(this.#at, at)
      this.#at = joined ? at + 1 : at + 2
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

  #limit(): Node {
    const { lower } = this.#bounds()
    const arrow = lower && this.#split(...lower, (sign) => sign === '→')
    if (arrow?.length !== 2) throw new Unreadable()
    const index = this.#index(this.#expression(...arrow[0]!))
    const from = this.#expression(...arrow[1]!)
    return { kind: 'series', op: 'limit', index, from, to: from, body: rename(this.#term(), index) }
  }

  /** Rows of a matrix, or equations of a system. */
  #environment(): Node {
    const name = this.#flatArgument().replace('*', '')
    if (name === 'array') this.#flatArgument()
    const from = this.#at
    let depth = 1
    let end = from
    for (; end < this.#end; end++) {
      const token = this.#tokens[end]!
      if (token.type !== 'command') continue
      depth += token.text === 'begin' ? 1 : token.text === 'end' ? -1 : 0
      if (depth === 0) break
    }
    if (depth !== 0) throw new Unreadable()
    this.#at = end + 1
    this.#flatArgument()
    const rows = this.#split(from, end, (sign) => sign === '\\\\').filter(([a, b]) => a < b)
    if (/matrix$|^array$/.test(name)) {
      const cells = rows.map((row) =>
        this.#split(...row, (sign) => sign === '&').map(([a, b]) => this.#side(a, b)),
      )
      if (cells.length === 0 || cells.some((row) => row.length !== cells[0]!.length)) throw new Unreadable()
      const matrix: Node = { kind: 'matrix', rows: cells }
      return /^[vV]matrix$/.test(name) ? { kind: 'call', name: 'det', args: [matrix] } : matrix
    }
    if (!/^(?:cases|aligned?|gather(?:ed)?|split)$/.test(name)) throw new Unreadable()
    const items = rows.flatMap(([a, b]) => this.#items(a, b))
    return items.length === 1 ? items[0]! : { kind: 'list', items }
  }

  #sign(at: number): string | undefined {
    const token = this.#tokens[at]
    return token?.type === 'sign' ? token.text : undefined
  }

  #peek(): string | undefined {
    return this.#at < this.#end ? this.#sign(this.#at) : undefined
  }
}

function known(name: string, args: Node[], base: Node | undefined): Node {
  if (args.length === 0) throw new Unreadable()
  if (name === 'sqrt') return { kind: 'call', name: 'root', args: [args[0]!, base ?? integer(2)] }
  if (name === 'cbrt') return { kind: 'call', name: 'root', args: [args[0]!, integer(3)] }
  if (name === 'lg') return { kind: 'call', name: 'log', args: [args[0]!, integer(10)] }
  if (name === 'log') return { kind: 'call', name: 'log', args: base ? [args[0]!, base] : args }
  return { kind: 'call', name, args }
}

function rename(node: Node, index: string): Node {
  if (index !== 'i' && index !== 'e') return node
  if (node.kind === 'constant' && node.name === index) return { kind: 'symbol', name: index }
  return withChildren(
    node,
    children(node).map((child) => rename(child, index)),
  )
}
