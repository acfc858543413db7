import { integer, type Node, negative } from '../maths/node.js'
import { relations } from './relations.js'
import { inverseOf } from './spellings.js'
import { Structures } from './structures.js'
import { type Token, Unreadable } from './tokens.js'

/** Reads values: sums, products with and without a sign, powers, functions, what stands in brackets. */
export abstract class Expressions extends Structures {
  /** Functions, fractions and exponents around the place at hand: a letter in them is no unit. */
  protected nested = 0
  /** Letter of the token at hand that is next, where it is a run of letters. */
  protected letter = 0
  /** Whether `|` closes an absolute value rather than opening one. */
  protected bars = 0
  /** Whether a degree sign turns a number into an angle, as under sin. */
  protected angle = false
  /** Letters that a bracket applies to as functions do. */
  protected readonly functions = new Set(['f', 'g', 'h'])

  /** The whole range as one expression. */
  protected expression(from: number, to: number): Node {
    const [at, end, bars] = [this.at, this.end, this.bars]
    this.at = from
    this.end = to
    this.bars = 0
    this.letter = 0
    const node = this.sum()
    if (this.at !== to) throw new Unreadable()
    this.at = at
    this.end = end
    this.bars = bars
    return node
  }

  protected sum(): Node {
    const terms = [this.term()]
    for (;;) {
      const sign = this.peek()
      if (sign === '+') this.at++
      if (sign !== '+' && sign !== '-' && sign !== '±' && sign !== '∓') break
      terms.push(this.term())
    }
    return terms.length === 1 ? terms[0]! : { kind: 'sum', terms }
  }

  /** A product with its sign. A division takes one factor, so that 1/2(y + 5) is half of y + 5. */
  protected term(): Node {
    const sign = this.peek()
    if (sign === '-' || sign === '+' || sign === '±' || sign === '∓') {
      this.at++
      const operand = this.term()
      if (sign === '+') return operand
      return sign === '-' ? negative(operand) : { kind: 'plusminus', sign: sign === '±' ? 1 : -1, operand }
    }
    let node = this.power()
    let last = node
    const multiply = (factor: Node) => {
      node =
        node.kind === 'product'
          ? { kind: 'product', factors: [...node.factors, factor] }
          : { kind: 'product', factors: [node, factor] }
      last = factor
    }
    for (;;) {
      const next = this.peek()
      if (next === '*') {
        this.at++
        multiply(this.signedPower())
      } else if (next === '/') {
        this.at++
        const bottom = this.divisor()
        node = { kind: 'quotient', top: node, bottom }
        last = bottom
      } else if (next === 'mod' || this.isModulus()) {
        this.at++
        node = { kind: 'call', name: 'mod', args: [node, this.power()] }
      } else if (this.startsFactor()) {
        if (last.kind === 'number' && this.tokens[this.at]!.type === 'number') throw new Unreadable()
        // Two words in a row are a sentence.
        if (this.letter === 0 && this.isLetters(this.at - 1) && this.isLetters(this.at))
          throw new Unreadable()
        multiply(this.power())
      } else return node
    }
  }

  /** Letters without a space are one divisor: dx/dt. */
  protected divisor(): Node {
    const run = this.at < this.end && this.isLetters(this.at) ? this.at : -1
    const first = this.signedPower()
    const factors = [first]
    while (this.at === run && this.letter > 0) factors.push(this.power())
    return factors.length === 1 ? first : { kind: 'product', factors }
  }

  protected isLetters(at: number): boolean {
    return this.tokens[at]!.type === 'letters'
  }

  protected isModulus(): boolean {
    const token = this.at < this.end ? this.tokens[this.at] : undefined
    return token?.type === 'command' && /mod$/.test(token.text)
  }

  protected signedPower(): Node {
    const sign = this.peek()
    if (sign !== '-' && sign !== '+') return this.power()
    this.at++
    const operand = this.signedPower()
    return sign === '-' ? negative(operand) : operand
  }

  protected startsFactor(): boolean {
    if (this.at >= this.end) return false
    const token = this.tokens[this.at]!
    if (token.type === 'sign') {
      if (token.text === '|') return this.bars === 0
      return ['(', '[', '{', '\\{', '⟨', '⌊', '⌈', '∞', '…', '∑', '∏', '∫', 'ℝ'].includes(token.text)
    }
    if (token.type === 'command') return token.text !== 'end'
    return token.type !== 'text'
  }

  protected power(): Node {
    let base = this.postfix()
    while (this.peek() === '^') {
      this.at++
      if (this.isDegree()) {
        base = this.degrees(base)
        continue
      }
      base = { kind: 'power', base, exponent: this.exponent() }
      base = this.marks(base)
    }
    return base
  }

  protected exponent(): Node {
    if (this.peek() === '-' || this.peek() === '+') return this.signedExponent()
    this.nested++
    const group = this.group()
    this.nested--
    if (group !== undefined) return group
    const node = this.postfix()
    if (this.peek() !== '^') return node
    this.at++
    return { kind: 'power', base: node, exponent: this.exponent() }
  }

  protected signedExponent(): Node {
    const minus = this.peek() === '-'
    this.at++
    const exponent = this.exponent()
    return minus ? negative(exponent) : exponent
  }

  /** `^\circ` and `^{\circ}` */
  protected isDegree(): boolean {
    if (this.peek() === '°') {
      this.at++
      return true
    }
    if (this.peek() === '{' && this.sign(this.at + 1) === '°' && this.sign(this.at + 2) === '}') {
      this.at += 3
      return true
    }
    return false
  }

  protected degrees(node: Node): Node {
    if (!this.angle) return node
    return {
      kind: 'product',
      factors: [node, { kind: 'quotient', top: { kind: 'constant', name: 'pi' }, bottom: integer(180) }],
    }
  }

  protected postfix(): Node {
    return this.marks(this.primary())
  }

  protected marks(node: Node): Node {
    let result = node
    for (;;) {
      const sign = this.peek()
      if (sign === '!') {
        this.at++
        const twice = this.peek() === '!' && !this.tokens[this.at]!.gap
        if (twice) this.at++
        result = { kind: 'call', name: twice ? 'double_factorial' : 'factorial', args: [result] }
      } else if (sign === '°') {
        this.at++
        result = this.degrees(result)
      } else if (sign === '%') {
        this.at++
        result = { kind: 'percent', value: result }
      } else return result
    }
  }

  protected primary(): Node {
    if (this.at >= this.end) throw new Unreadable()
    const token = this.tokens[this.at]!
    switch (token.type) {
      case 'number':
        return this.number(token)
      case 'name':
        this.at++
        return this.name(token.text)
      case 'letters':
        return this.letters(token.text)
      case 'function':
        this.at++
        return this.function(token.text)
      case 'command':
        this.at++
        return this.command(token.text)
      case 'text':
        throw new Unreadable()
    }
    const group = this.group()
    if (group !== undefined) return group
    this.at++
    switch (token.text) {
      case '|':
        return this.absolute()
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
        return this.subscripted(token.text)
      case '∑':
      case '∏':
        return this.sumOver(token.text === '∑' ? 'sum' : 'product')
      case '∫':
        return this.integral()
      default:
        throw new Unreadable()
    }
  }

  protected number(token: Token & { type: 'number' }): Node {
    this.at++
    const value: Node = { kind: 'number', value: token.value, decimal: token.decimal }
    if (this.peek() === '_') {
      this.at++
      const base = this.argument()
      if (base.kind !== 'number' || base.value.d !== 1n) throw new Unreadable()
      return { kind: 'numeral', digits: token.text, base: Number(base.value.n) }
    }
    if (token.decimal || token.value.d !== 1n) return value
    const fraction = this.properFraction()
    return fraction === undefined ? value : { kind: 'sum', terms: [value, fraction] }
  }

  /** The fraction of a mixed number: 2\frac{3}{4}, 2 3/4. */
  protected properFraction(): Node | undefined {
    const at = this.at
    const [a, b, c] = [0, 1, 2].map((i) => (at + i < this.end ? this.tokens[at + i] : undefined))
    if (a?.type === 'number' && a.gap && b?.text === '/' && c?.type === 'number') {
      if (a.decimal || c.decimal || a.value.n >= c.value.n) return undefined
      this.at += 3
      return { kind: 'quotient', top: integer(a.value.n), bottom: integer(c.value.n) }
    }
    if (a?.type !== 'command' || a.text !== 'frac') return undefined
    this.at++
    const [top, bottom] = [this.argument(), this.argument()]
    const whole = (node: Node) => node.kind === 'number' && node.value.d === 1n && node.value.n > 0n
    if (whole(top) && whole(bottom) && top.kind === 'number' && bottom.kind === 'number') {
      if (top.value.n < bottom.value.n) return { kind: 'quotient', top, bottom }
    }
    this.at = at
    return undefined
  }

  protected name(text: string): Node {
    if (text === 'pi' && this.peek() !== '_') return { kind: 'constant', name: 'pi' }
    if ((text === 'e' || text === 'i') && this.peek() !== '_' && this.peek() !== "'") {
      return { kind: 'constant', name: text }
    }
    const symbol = this.subscripted(text)
    const bracket = this.at < this.end && this.peek() === '(' && !this.tokens[this.at]!.gap
    if (symbol.kind !== 'symbol' || !bracket) {
      if (symbol.kind !== 'symbol' || this.peek() !== '(' || !this.functions.has(text)) return symbol
    }
    const close = this.brackets.partner[this.at]!
    const several = this.split(this.at + 1, close, (sign) => sign === ',').length > 1
    if (!this.functions.has(text) && !several) return symbol
    const args = this.items(this.at + 1, close)
    this.at = close + 1
    return { kind: 'call', name: `?${symbol.name}`, args }
  }

  /** With its subscript and primes, which belong to the name. */
  protected subscripted(text: string): Node {
    let name = text
    for (;;) {
      if (this.peek() === '_') {
        this.at++
        name += `_${this.flatArgument()}`
      } else if (this.peek() === "'") {
        this.at++
        name += "'"
      } else if (this.peek() === '^' && this.sign(this.at + 1) === "'") {
        this.at += 2
        name += "'"
      } else if (
        this.peek() === '^' &&
        this.sign(this.at + 1) === '{' &&
        this.sign(this.at + 2) === "'" &&
        this.sign(this.brackets.partner[this.at + 1]! - 1) === "'"
      ) {
        const close = this.brackets.partner[this.at + 1]!
        name += "'".repeat(close - this.at - 2)
        this.at = close + 1
      } else return { kind: 'symbol', name }
    }
  }

  /** Up to three letters in a row are a product, read one by one; more are a word. */
  protected letters(text: string): Node {
    const split = this.letter === 0 ? /^(sin|cos|tan|cot|ln|log|sqrt)([a-zA-Z])$/.exec(text) : null
    if (split) {
      this.at++
      const arg = this.name(split[2]!)
      return split[1] === 'sqrt'
        ? { kind: 'call', name: 'root', args: [arg, integer(2)] }
        : { kind: 'call', name: split[1]!, args: [arg] }
    }
    if (text.length > 3) throw new Unreadable()
    const letter = text[this.letter]!
    this.letter = (this.letter + 1) % text.length
    if (this.letter === 0) this.at++
    return this.name(letter)
  }

  protected function(name: string): Node {
    let exponent: Node | undefined
    let base: Node | undefined
    for (;;) {
      if (this.peek() === '^' && exponent === undefined) {
        this.at++
        exponent = this.exponent()
      } else if (this.peek() === '_' && base === undefined) {
        this.at++
        base = this.argument()
      } else if (this.peek() === '[' && name === 'sqrt') {
        const close = this.brackets.partner[this.at]!
        base = this.expression(this.at + 1, close)
        this.at = close + 1
      } else break
    }
    const inverse = exponent?.kind === 'number' && exponent.value.n === -1n ? inverseOf(name) : undefined
    const angle = this.angle
    this.angle = /^(?:sin|cos|tan|cot|sec|csc|cis)$/.test(name)
    this.nested++
    const args = this.arguments(name)
    this.nested--
    this.angle = angle
    const call = known(inverse ?? name, args, base)
    return exponent === undefined || inverse !== undefined ? call : { kind: 'power', base: call, exponent }
  }

  protected arguments(name: string): Node[] {
    const sign = this.peek()
    if (sign === '(' || sign === '{' || sign === '[' || sign === '\\{') {
      const close = this.brackets.partner[this.at]!
      const args = this.items(this.at + 1, close)
      this.at = close + 1
      return args
    }
    if (name === 'sqrt' || name === 'cbrt') return [this.postfix()]
    if (sign === '|') return [this.primary()]
    if (sign === '-') {
      this.at++
      return [negative(this.power())]
    }
    const factors = [this.power()]
    while (this.startsFactor() && factors.length < 8) {
      const token = this.tokens[this.at]!
      if (token.type === 'function' && token.text !== 'sqrt') break
      if (token.type === 'sign' || (token.type === 'command' && token.text !== 'frac')) break
      if (token.type === 'number' && factors.at(-1)!.kind === 'number') break
      factors.push(this.power())
    }
    return [factors.length === 1 ? factors[0]! : { kind: 'product', factors }]
  }

  protected command(name: string): Node {
    switch (name) {
      case 'frac':
        return { kind: 'quotient', top: this.argument(), bottom: this.argument() }
      case 'binom':
        return { kind: 'call', name: 'binom', args: [this.argument(), this.argument()] }
      case 'begin':
        return this.environment()
      case 'lim':
        return this.limit()
      default:
        throw new Unreadable()
    }
  }

  /** A group, or the one digit, letter or command that TeX would take. */
  protected argument(): Node {
    this.nested++
    const group = this.group()
    this.nested--
    if (group !== undefined) return group
    const token = this.tokens[this.at]
    if (token?.type === 'number' && /^\d{2,}$/.test(token.text) && this.isFrac()) {
      // \frac12 is one half: the tokeniser read 12.
      const [first, rest] = [token.text[0]!, token.text.slice(1)]
      this.tokens[this.at] = { ...token, text: rest, value: { n: BigInt(rest), d: 1n } }
      return integer(BigInt(first))
    }
    if (token?.type === 'letters') throw new Unreadable()
    return this.primary()
  }

  protected isFrac(): boolean {
    const before = [1, 2].map((back) => this.tokens[this.at - back])
    return before.some((token) => token?.type === 'command') || this.sign(this.at - 1) === '}'
  }

  /** What stands in brackets, from the one at hand; undefined where there is none. */
  protected group(): Node | undefined {
    const open = this.peek()
    const close = this.at < this.end ? this.brackets.partner[this.at]! : -1
    if (open === undefined || close < this.at) return undefined
    if (close >= this.end) throw new Unreadable()
    const from = this.at + 1
    this.at = close + 1
    const angle = this.angle
    const bars = this.bars
    this.bars = 0
    const node = this.bracketed(open, from, close)
    this.angle = angle
    this.bars = bars
    return node
  }

  protected bracketed(open: string, from: number, close: number): Node {
    if (open === '⌊' || open === '⌈') {
      return { kind: 'call', name: open === '⌊' ? 'floor' : 'ceil', args: [this.expression(from, close)] }
    }
    if (open === '\\{') {
      const parts = this.split(from, close, (sign) => sign === '|' || sign === ':')
      const condition = parts[1]
      if (parts.length === 2 && this.hasRelation(...condition!)) {
        return { kind: 'builder', condition: this.answer(...condition!) }
      }
      return { kind: 'set', items: from === close ? [] : this.items(from, close) }
    }
    const items = this.items(from, close)
    if (open === '{') return items.length === 1 ? items[0]! : { kind: 'set', items }
    if (items.length === 1) return items[0]!
    if (open === '⟨') return { kind: 'group', open: '<', close: '>', items }
    const turn = (at: number, sign: string) =>
      this.brackets.reversed.has(at) ? (sign === ']' ? '(' : ')') : sign
    return {
      kind: 'group',
      open: turn(from - 1, open) as '(' | '[',
      close: turn(close, this.sign(close)!) as ')' | ']',
      items,
    }
  }

  protected hasRelation(from: number, to: number): boolean {
    return this.split(from, to, (sign) => Object.hasOwn(relations, sign)).length > 1
  }

  protected absolute(): Node {
    this.bars++
    const inner = this.sum()
    this.bars--
    if (this.peek() !== '|') throw new Unreadable()
    this.at++
    return { kind: 'call', name: inner.kind === 'matrix' ? 'det' : 'abs', args: [inner] }
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
