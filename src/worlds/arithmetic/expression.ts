/**
 * The language of the arithmetic world: integers, + - * and parentheses. Products bind tighter than sums, equal
 * operators group from the left. A negative number stands in parentheses unless it opens the text or a pair of
 * parentheses: `-4*2`, `5-(-4)`.
 */
export type Operator = '+' | '-' | '*'

export interface Operation {
  op: Operator
  left: Expression
  right: Expression
}

export type Expression = number | Operation

/** No number of this world, intermediate results included, is larger in absolute value. */
export const LIMIT = 9999

const MAX_LENGTH = 100
const MAX_DEPTH = 8

/** Value of one operation; never -0, so that printed values read back as themselves. */
export function apply(op: Operator, a: number, b: number): number {
  const value = op === '+' ? a + b : op === '-' ? a - b : a * b
  return value === 0 ? 0 : value
}

/** Exact value, or undefined where a number on the way leaves [-LIMIT, LIMIT]. */
export function evaluate(expression: Expression): number | undefined {
  if (typeof expression === 'number') return within(expression)
  const left = evaluate(expression.left)
  const right = evaluate(expression.right)
  if (left === undefined || right === undefined) return undefined
  return within(apply(expression.op, left, right))
}

function within(value: number): number | undefined {
  return Math.abs(value) <= LIMIT ? value : undefined
}

/** Canonical text: no spaces and only the parentheses that the tree needs. */
export function print(expression: Expression): string {
  return printAs(expression, 0, true)
}

/** `tightness` is the least precedence that needs no parentheses here; `opening` says that nothing stands before it. */
function printAs(expression: Expression, tightness: number, opening: boolean): string {
  if (typeof expression === 'number') return expression < 0 && !opening ? `(${expression})` : `${expression}`
  const own = precedence(expression.op)
  if (own < tightness) return `(${printAs(expression, 0, true)})`
  return printAs(expression.left, own, opening) + expression.op + printAs(expression.right, own + 1, false)
}

function precedence(op: Operator): number {
  return op === '*' ? 2 : 1
}

/** Number of operations. */
export function operations(expression: Expression): number {
  return typeof expression === 'number' ? 0 : 1 + operations(expression.left) + operations(expression.right)
}

/**
 * Reads a text of this world, or undefined. Spaces around operators and needless parentheses are allowed; leading
 * zeros, numbers above LIMIT, signs before parentheses, anything beyond 100 characters or 8 nested pairs are not.
 */
export function parseExpression(text: string): Expression | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const tokens = text.match(/\d+|[^ ]/g) ?? []
  let at = 0

  function sum(depth: number): Expression | undefined {
    let left = product(depth, true)
    while (left !== undefined && (tokens[at] === '+' || tokens[at] === '-')) {
      const op = tokens[at++] as Operator
      const right = product(depth, false)
      left = right === undefined ? undefined : { op, left, right }
    }
    return left
  }

  function product(depth: number, opening: boolean): Expression | undefined {
    let left = atom(depth, opening)
    while (left !== undefined && tokens[at] === '*') {
      at++
      const right = atom(depth, false)
      left = right === undefined ? undefined : { op: '*', left, right }
    }
    return left
  }

  function atom(depth: number, opening: boolean): Expression | undefined {
    const token = tokens[at++]
    if (token === '(') {
      const inner = depth < MAX_DEPTH ? sum(depth + 1) : undefined
      return tokens[at++] === ')' ? inner : undefined
    }
    if (token === '-' && opening) {
      const value = numeral(tokens[at++])
      return value ? -value : undefined
    }
    return numeral(token)
  }

  const whole = sum(0)
  return at === tokens.length ? whole : undefined
}

function numeral(token: string | undefined): number | undefined {
  return token !== undefined && /^(0|[1-9]\d{0,3})$/.test(token) ? Number(token) : undefined
}

/** Canonical text of a text of this world, or undefined. */
export function canonical(text: string): string | undefined {
  const expression = parseExpression(text)
  return expression === undefined ? undefined : print(expression)
}

/** The true answer to a question of this world, or undefined where the text is none or leaves the bounds. */
export function solveQuestion(text: string): string | undefined {
  const expression = parseExpression(text)
  return expression === undefined ? undefined : evaluate(expression)?.toString()
}
