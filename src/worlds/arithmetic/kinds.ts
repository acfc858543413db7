/**
 * The knowledge of the arithmetic world: each text names a kind of problem and thereby a distribution over expressions.
 */
import { InvariantError } from '../../core/errors.js'
import type { RandomStream } from '../../core/random.js'
import { type Expression, evaluate, type Operator, print } from './expression.js'

type Family = 'sums' | 'differences' | 'products' | 'sums and differences' | 'sums and products' | 'mixed'
type Size = 'one digit' | 'two digits' | 'three digits'
type Brackets = 'brackets' | 'two brackets'

export interface Kind {
  /** The knowledge text, at most 60 characters. */
  text: string
  /** 1 (one step on single digits) to 4 (four terms, products and parentheses), and 5 beyond the starter model. */
  level: number
  /** Draws an expression of this kind; its value and all numbers on the way are within the bounds and not negative. */
  sample(stream: RandomStream): Expression
}

const operatorsOf: Record<Family, readonly Operator[]> = {
  sums: ['+'],
  differences: ['-'],
  products: ['*'],
  'sums and differences': ['+', '-'],
  'sums and products': ['+', '*'],
  mixed: ['+', '-', '*'],
}

/** Smallest and largest operand. */
const rangeOf: Record<Size, readonly [number, number]> = {
  'one digit': [1, 9],
  'two digits': [10, 99],
  'three digits': [100, 999],
}

const counts = { two: 2, three: 3, four: 4, five: 5 }

/**
 * Every kind, from easy to hard. Two-digit factors meet only as values of parentheses, and nothing falls below zero: a
 * model of a million weights can learn sums and single-digit products of any length in minutes, but neither the table of
 * all two-digit products nor, from left to right, the digits of negative differences.
 */
export const kinds: readonly Kind[] = [
  kind(1, 'sums', 'two', 'one digit'),
  kind(1, 'differences', 'two', 'one digit'),
  kind(1, 'products', 'two', 'one digit'),
  kind(1, 'sums', 'three', 'one digit'),
  kind(1, 'sums and differences', 'three', 'one digit'),
  kind(2, 'sums', 'two', 'two digits'),
  kind(2, 'differences', 'two', 'two digits'),
  kind(2, 'sums and differences', 'four', 'one digit'),
  kind(2, 'sums and differences', 'three', 'one digit', 'brackets'),
  kind(2, 'sums and products', 'three', 'one digit'),
  kind(2, 'mixed', 'three', 'one digit'),
  kind(3, 'sums', 'three', 'two digits'),
  kind(3, 'sums and differences', 'three', 'two digits'),
  kind(3, 'sums and differences', 'three', 'two digits', 'brackets'),
  kind(3, 'mixed', 'three', 'one digit', 'brackets'),
  kind(3, 'mixed', 'four', 'one digit'),
  kind(3, 'sums and products', 'four', 'one digit'),
  kind(3, 'products', 'three', 'one digit'),
  kind(4, 'sums and differences', 'four', 'two digits'),
  kind(4, 'sums and differences', 'four', 'two digits', 'brackets'),
  kind(4, 'sums', 'two', 'three digits'),
  kind(4, 'differences', 'two', 'three digits'),
  kind(4, 'mixed', 'four', 'one digit', 'brackets'),
  kind(4, 'mixed', 'four', 'one digit', 'two brackets'),
]

export const knowledgeTexts: readonly string[] = kinds.map((kind) => kind.text)

/** Kinds with a term more than the starter model has ever seen: it hardly ever answers them, though it knows every step. */
export const longKinds: readonly Kind[] = [
  kind(5, 'sums', 'five', 'one digit'),
  kind(5, 'sums and differences', 'five', 'one digit'),
  kind(5, 'sums and products', 'five', 'one digit'),
  kind(5, 'mixed', 'five', 'one digit'),
]

function kind(
  level: number,
  family: Family,
  terms: keyof typeof counts,
  size: Size,
  brackets?: Brackets,
): Kind {
  const text = [`${family}: ${terms} terms`, size, ...(brackets ? [brackets] : [])].join(', ')
  return { text, level, sample: (stream) => draw(stream, text, family, counts[terms], size, brackets) }
}

/** Draws until the expression uses every operator class its family names and stays within the bounds. */
function draw(
  stream: RandomStream,
  text: string,
  family: Family,
  terms: number,
  size: Size,
  brackets?: Brackets,
): Expression {
  for (let attempt = 0; attempt < 10_000; attempt++) {
    const operands = Array.from({ length: terms }, (): Expression => operand(stream, size))
    const operators = Array.from({ length: terms - 1 }, () => stream.pick(operatorsOf[family]))
    if (!representative(family, operators)) continue
    const wanted = brackets === 'two brackets' ? 2 : brackets === 'brackets' ? 1 : 0
    const spans = brackets === undefined ? [] : drawSpans(stream, terms, wanted)
    const expression = arrange(operands, operators, spans)
    if (print(expression).split('(').length - 1 === wanted && staysNatural(expression)) return expression
  }
  throw new InvariantError(`No expression was found for the knowledge text "${text}".`)
}

/** Whether the value, and every value on the way to it, is within the bounds and not negative. */
function staysNatural(expression: Expression): boolean {
  const value = evaluate(expression)
  if (value === undefined || value < 0) return false
  return typeof expression === 'number' || (staysNatural(expression.left) && staysNatural(expression.right))
}

function operand(stream: RandomStream, size: Size): number {
  const [low, high] = rangeOf[size]
  return low + stream.int(high - low + 1)
}

function representative(family: Family, operators: readonly Operator[]): boolean {
  if (family === 'sums and differences') return operators.includes('+') && operators.includes('-')
  if (family !== 'sums and products' && family !== 'mixed') return true
  return operators.includes('*') && operators.some((op) => op !== '*')
}

/** Terms that stand in parentheses, as [first, last]: two pairs take the halves of four terms, one pair is any proper run. */
function drawSpans(stream: RandomStream, terms: number, pairs: number): [number, number][] {
  if (pairs === 2) {
    return [
      [2, 3],
      [0, 1],
    ]
  }
  const runs: [number, number][] = []
  for (let first = 0; first < terms - 1; first++) {
    for (let last = first + 1; last < terms; last++) if (last - first < terms - 1) runs.push([first, last])
  }
  return [stream.pick(runs)]
}

/** Builds the tree of terms joined by operators; spans come from right to left and become one term each. */
function arrange(terms: Expression[], operators: Operator[], spans: [number, number][]): Expression {
  for (const [first, last] of spans) {
    const inner = arrange(terms.slice(first, last + 1), operators.slice(first, last), [])
    terms = [...terms.slice(0, first), inner, ...terms.slice(last + 1)]
    operators = [...operators.slice(0, first), ...operators.slice(last)]
  }
  const sums = [terms[0]!]
  const signs: Operator[] = []
  operators.forEach((op, i) => {
    const right = terms[i + 1]!
    if (op === '*') sums.push({ op, left: sums.pop()!, right })
    else {
      sums.push(right)
      signs.push(op)
    }
  })
  return sums.reduce((left, right, i) => ({ op: signs[i - 1]!, left, right }))
}
