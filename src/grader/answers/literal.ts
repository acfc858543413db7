/** Whether an answer states a number as such, with nothing left to work out. */
import { children, type Node } from '../maths/node.js'

/** Numerals, their fractions, mixed numbers, scientific notation, and these with a name, a unit or in a list. */
export function isLiteral(node: Node): boolean {
  switch (node.kind) {
    case 'number':
    case 'numeral':
    case 'time':
      return true
    case 'quotient':
      return isSignedNumber(node.top) && isSignedNumber(node.bottom)
    case 'sum':
      return node.terms.length === 2 && isWhole(node.terms[0]!) && isProperFraction(node.terms[1]!)
    case 'product':
      return isNegated(node) ? isLiteral(node.factors[1]!) : isScientific(node)
    case 'relation':
      return node.sides.length === 2 && node.operators[0] === '=' && isLiteral(node.sides[1]!)
    case 'percent':
    case 'quantity':
    case 'ratio':
    case 'group':
    case 'set':
    case 'list':
    case 'matrix':
      return children(node).every(isLiteral)
    default:
      return false
  }
}

const isSignedNumber = (node: Node): boolean =>
  node.kind === 'number' || (isNegated(node) && node.kind === 'product' && isSignedNumber(node.factors[1]!))
const isWhole = (node: Node) => node.kind === 'number' && node.value.d === 1n
const isProperFraction = (node: Node) => node.kind === 'quotient' && isWhole(node.top) && isWhole(node.bottom)

function isNegated(node: Node): boolean {
  if (node.kind !== 'product' || node.factors.length !== 2) return false
  const [sign] = node.factors
  return sign!.kind === 'number' && sign!.value.n === -1n
}

function isScientific(node: Node & { kind: 'product' }): boolean {
  const [mantissa, power] = node.factors
  if (node.factors.length !== 2 || power?.kind !== 'power' || !isSignedNumber(mantissa!)) return false
  return power.base.kind === 'number' && power.base.value.n === 10n && isSignedNumber(power.exponent)
}
