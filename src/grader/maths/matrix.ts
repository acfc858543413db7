/** Sums, products and determinants of matrices, entry by entry. */
import { children, type Node, negative, some, withChildren } from './node.js'

/** Largest matrix whose determinant is written out. */
const MAX_ORDER = 5

/** Matrices of a product that are multiplied out: its entries double in length with each. */
const MAX_FACTORS = 5

/** Entries of a matrix, or of a sum or product of matrices; undefined where the node is none. */
export function matrixOf(node: Node): Node[][] | undefined {
  switch (node.kind) {
    case 'matrix':
      return node.rows
    case 'sum':
      return hasMatrix(node) ? node.terms.map(matrixOf).reduce(added) : undefined
    case 'power':
      return powerOf(node.base, node.exponent)
    case 'product':
      return hasMatrix(node) ? multiplied(node.factors) : undefined
    default:
      return undefined
  }
}

/** Transposes, small powers, and the inverse of a matrix of two rows. */
function powerOf(base: Node, exponent: Node): Node[][] | undefined {
  const row = base.kind === 'group' && base.open === '[' ? [base.items] : undefined
  const rows = matrixOf(base) ?? row
  if (rows === undefined) return undefined
  if (exponent.kind === 'symbol' && exponent.name === 'T') {
    return rows[0]!.map((_, j) => rows.map((each) => each[j]!))
  }
  if (exponent.kind !== 'number' || exponent.value.d !== 1n) return undefined
  const count = Number(exponent.value.n)
  if (count === -1) return inverse(rows)
  if (count < 1 || count > MAX_FACTORS) return undefined
  return multiplied(Array.from({ length: count }, (): Node => ({ kind: 'matrix', rows })))
}

function inverse(rows: Node[][]): Node[][] | undefined {
  if (rows.length !== 2 || rows[0]!.length !== 2) return undefined
  const [[a, b], [c, d]] = rows as [[Node, Node], [Node, Node]]
  const bottom = determinant(rows)
  return [
    [d, negative(b)],
    [negative(c), a],
  ].map((row) => row.map((top): Node => ({ kind: 'quotient', top, bottom })))
}

const hasMatrix = (node: Node) => some(node, ({ kind }) => kind === 'matrix')

function added(a: Node[][] | undefined, b: Node[][] | undefined): Node[][] | undefined {
  if (a === undefined || b?.length !== a.length || a[0]!.length !== b[0]!.length) return undefined
  return a.map((row, i) => row.map((entry, j): Node => ({ kind: 'sum', terms: [entry, b[i]![j]!] })))
}

function multiplied(factors: Node[]): Node[][] | undefined {
  let result: Node[][] | undefined
  const scalars: Node[] = []
  let matrices = 1
  for (const factor of factors) {
    const rows = matrixOf(factor)
    if (rows === undefined) scalars.push(factor)
    else if (result === undefined) result = rows
    else if (result[0]!.length !== rows.length || ++matrices > MAX_FACTORS) return undefined
    else result = times(result, rows)
  }
  if (scalars.length === 0) return result
  return result?.map((row) => row.map((entry): Node => ({ kind: 'product', factors: [...scalars, entry] })))
}

function times(a: Node[][], b: Node[][]): Node[][] {
  return a.map((row) =>
    b[0]!.map(
      (_, j): Node => ({
        kind: 'sum',
        terms: row.map((entry, k): Node => ({ kind: 'product', factors: [entry, b[k]![j]!] })),
      }),
    ),
  )
}

/** Determinants written out (Laplace). */
export function withoutDeterminants(node: Node): Node {
  if (!some(node, (each) => each.kind === 'call' && each.name === 'det')) return node
  if (node.kind === 'call' && node.name === 'det' && node.args.length === 1) {
    const rows = matrixOf(node.args[0]!)
    if (rows !== undefined && rows.length === rows[0]!.length && rows.length <= MAX_ORDER)
      return determinant(rows)
  }
  return withChildren(node, children(node).map(withoutDeterminants))
}

function determinant(rows: Node[][]): Node {
  const [first, ...rest] = rows
  if (rest.length === 0) return first![0]!
  const terms = first!.map((entry, j): Node => {
    const minor = determinant(rest.map((row) => row.filter((_, k) => k !== j)))
    const term: Node = { kind: 'product', factors: [entry, minor] }
    return j % 2 === 0 ? term : negative(term)
  })
  return { kind: 'sum', terms }
}
