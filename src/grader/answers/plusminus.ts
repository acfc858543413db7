/** What plus-or-minus stands for: every choice of signs. */
import { children, type Node, negative, some, withChildren } from '../maths/node.js'

const isPlusMinus = (node: Node) => node.kind === 'plusminus'

/** Signs beyond which the choices are not written out. */
const MAX_SIGNS = 4

/** Values with plus-or-minus become lists of values, each item of a list or set for itself. */
export function withoutPlusMinus(node: Node): Node {
  if (!some(node, isPlusMinus)) return node
  if (node.kind === 'list' || node.kind === 'set') return { ...node, items: node.items.flatMap(choices) }
  const items = choices(node)
  return items.length === 1 ? items[0]! : { kind: 'list', items }
}

function choices(node: Node): Node[] {
  const signs = found(node)
  if (signs.length === 0 || signs.length > MAX_SIGNS) return [node]
  // With minus-or-plus about, the upper signs belong together, and the lower.
  const together = signs.includes(-1)
  const count = together ? 2 : 2 ** signs.length
  return Array.from({ length: count }, (_, choice) => {
    let next = 0
    const chosen = (sign: 1 | -1) => {
      const bit = together ? choice : (choice >> next++) & 1
      return bit === 0 ? sign : -sign
    }
    return replaced(node, chosen)
  })
}

function found(node: Node): (1 | -1)[] {
  const own = node.kind === 'plusminus' ? [node.sign] : []
  return [...own, ...children(node).flatMap(found)]
}

function replaced(node: Node, chosen: (sign: 1 | -1) => number): Node {
  if (node.kind === 'plusminus') {
    const sign = chosen(node.sign)
    const operand = replaced(node.operand, chosen)
    return sign > 0 ? operand : negative(operand)
  }
  const parts = children(node)
  return parts.length === 0
    ? node
    : withChildren(
        node,
        parts.map((part) => replaced(part, chosen)),
      )
}
