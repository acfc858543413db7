/** Whether a prediction states what the gold answer states, over all forms that answers take. */
import { type Budget, equalValues, newBudget } from '../maths/equal.js'
import { positiveMultiple, proportionalNumerators } from '../maths/equations.js'
import { matrixOf, withoutDeterminants } from '../maths/matrix.js'
import { difference, keyOf, type Node, type NodeOf, some, variables } from '../maths/node.js'
import { conversion } from '../notation/units.js'
import { assignment, isName, sameName } from './assignment.js'
import { withoutPlusMinus } from './plusminus.js'
import { equalSets, isSurelySet, realSet } from './realset.js'
import { equalSolutions, solutionsOf } from './solutions.js'

/** `tolerance`: relative difference allowed to a plain decimal. Symmetric but where the documentation says otherwise. */
export function equalAnswers(gold: Node, prediction: Node, tolerance: number): boolean {
  return new Comparison(tolerance).equal(prepared(gold), prepared(prediction))
}

const prepared = (node: Node) => withoutPlusMinus(withoutDeterminants(node))

class Comparison {
  readonly #tolerance: number
  readonly #budget: Budget = newBudget()

  constructor(tolerance: number) {
    this.#tolerance = tolerance
  }

  equal = (a: Node, b: Node): boolean => {
    if (keyOf(a) === keyOf(b)) return true
    if (a.kind === 'relation' || b.kind === 'relation') {
      const verdict = this.#relations(a, b)
      if (verdict !== undefined) return verdict
    }
    if (isSurelySet(a) || isSurelySet(b)) return this.#sets(a, b)
    if (a.kind === 'list' || b.kind === 'list') return this.#lists(a, b)
    if (a.kind === 'set' || b.kind === 'set') return this.#finiteSets(a, b)
    if (a.kind === 'group' || b.kind === 'group') return this.#groups(point(a), point(b))
    if (a.kind === 'ratio' || b.kind === 'ratio') return this.#ratios(a, b)
    if (a.kind === 'quantity' || b.kind === 'quantity') return this.#quantities(a, b)
    if (a.kind === 'percent' || b.kind === 'percent') return this.#percents(a, b)
    if (a.kind === 'numeral' || b.kind === 'numeral') return numerals(a, b)
    if (a.kind === 'time' || b.kind === 'time') {
      return a.kind === 'time' && b.kind === 'time' && a.seconds === b.seconds
    }
    const [x, y] = [matrixOf(a), matrixOf(b)]
    if (x !== undefined || y !== undefined) return this.#matrices(x, y)
    return equalValues(a, b, this.#tolerance, this.#budget)
  }

  /** Undefined where neither names a value, and both may be sets. */
  #relations(a: Node, b: Node): boolean | undefined {
    if (a.kind === 'relation' && b.kind === 'relation') return this.#twoRelations(a, b)
    const [relation, other] = a.kind === 'relation' ? [a, b] : [b as NodeOf<'relation'>, a]
    const named = assignment(relation, this.#budget)
    if (named !== undefined && other.kind !== 'list') return this.equal(named.value, other)
    if (relation.operators.length === 1 && relation.operators[0] === 'in' && isName(relation.sides[0]!)) {
      const set = relation.sides[1]!
      if (other.kind !== 'list' || set.kind === 'set') return this.equal(set, other)
    }
    return undefined
  }

  #twoRelations(a: NodeOf<'relation'>, b: NodeOf<'relation'>): boolean | undefined {
    if (isSurelySet(a) && isSurelySet(b) && unknowns(a) !== unknowns(b)) return false
    const [x, y] = [assignment(a, this.#budget), assignment(b, this.#budget)]
    if (x?.name && y?.name) {
      if (sameName(x.name, y.name) || bothFunctions(x.name, y.name, x.value)) {
        if (this.equal(x.value, y.value)) return true
      }
    } else if (x && y && !x.name && !y.name) return this.equal(x.value, y.value)
    if (a.operators.length > 1 && a.operators.length === b.operators.length) {
      const [low, high] = [rising(a), rising(b)]
      if (low.operators.join() === high.operators.join() && this.#ordered(low.sides, high.sides)) return true
    }
    if (a.operators.length !== 1 || b.operators.length !== 1)
      return isSurelySet(a) && isSurelySet(b) ? undefined : false
    const [left, right] = [turned(a), turned(b)]
    if (left.operator !== right.operator) return isSurelySet(a) && isSurelySet(b) ? undefined : false
    if (!isExpression(left.node) || !isExpression(right.node)) {
      return a.operators[0] === 'in' && b.operators[0] === 'in' && sameName(a.sides[0]!, b.sides[0]!)
        ? this.equal(a.sides[1]!, b.sides[1]!)
        : false
    }
    if (left.operator === '=' || left.operator === '!=') {
      return proportionalNumerators(left.node, right.node, this.#budget)
    }
    return positiveMultiple(left.node, right.node, this.#budget) || undefined
  }

  #sets(a: Node, b: Node): boolean {
    const [x, y] = [realSet(a, this.#budget), realSet(b, this.#budget)]
    if (x !== undefined && y !== undefined) return equalSets(x, y, this.#tolerance, this.#budget)
    if (a.kind === 'combination' && b.kind === 'combination' && a.op === b.op) {
      return this.equal(a.left, b.left) && this.equal(a.right, b.right)
    }
    if (a.kind === 'list' && b.kind === 'list') return this.#lists(a, b)
    if (a.kind === 'group' && b.kind === 'group') return this.#groups(a, b)
    return false
  }

  /** Without order; a tuple of the same values in the same order is the same as well. */
  #lists(a: Node, b: Node): boolean {
    const [list, other] = a.kind === 'list' ? [a, b] : [b as NodeOf<'list'>, a]
    if (other.kind === 'set') return this.#unordered(distinct(list.items), distinct(other.items))
    if (
      other.kind === 'group' &&
      sameBrackets(other) &&
      !list.items.some((item) => item.kind === 'relation')
    ) {
      if (other.open !== '[' || other.items.length > 2) {
        if (this.#ordered(list.items, other.items)) return true
      }
    }
    const [x, y] = [a, b].map((node) => solutionsOf(node, this.#budget))
    return x !== undefined && y !== undefined && equalSolutions(x, y, this.equal)
  }

  #finiteSets(a: Node, b: Node): boolean {
    if (a.kind === 'set' && b.kind === 'set') return this.#unordered(distinct(a.items), distinct(b.items))
    const [set, other] = a.kind === 'set' ? [a, b] : [b as NodeOf<'set'>, a]
    return set.items.length === 1 && other.kind !== 'group' && this.equal(set.items[0]!, other)
  }

  #groups(a: Node, b: Node): boolean {
    const [x, y] = [this.#sequence(a), this.#sequence(b)]
    if (x === undefined || y === undefined) return this.#rowsOfGroups(a, b)
    if (!this.#ordered(x.items, y.items)) return false
    // Of two values the brackets tell a point from an interval, and which ends belong to it.
    return x.brackets === '' || y.brackets === '' || x.items.length > 2 || x.brackets === y.brackets
  }

  /** [[1, 2], [3, 4]] as a matrix. */
  #rowsOfGroups(a: Node, b: Node): boolean {
    const rows = (node: Node) =>
      matrixOf(node) ??
      (node.kind === 'group' && node.items.every((item) => item.kind === 'group')
        ? node.items.map((item) => (item as NodeOf<'group'>).items)
        : undefined)
    return this.#matrices(rows(a), rows(b))
  }

  /** Entries of a tuple, or of a matrix of one column; a row is no column. */
  #sequence(node: Node): { items: Node[]; brackets: string } | undefined {
    if (node.kind === 'group') {
      const brackets = node.open === '<' ? '' : `${node.open}${node.close}`
      return { items: node.items, brackets }
    }
    const rows = matrixOf(node)
    return rows?.every((row) => row.length === 1)
      ? { items: rows.map(([entry]) => entry!), brackets: '' }
      : undefined
  }

  #matrices(x: Node[][] | undefined, y: Node[][] | undefined): boolean {
    return x !== undefined && y?.length === x.length && x.every((row, i) => this.#ordered(row, y[i]!))
  }

  #ratios(a: Node, b: Node): boolean {
    if (a.kind === 'ratio' && b.kind === 'ratio') {
      const [first, ...rest] = a.parts
      return (
        a.parts.length === b.parts.length &&
        rest.every((part, i) => this.equal(quotient(first!, part), quotient(b.parts[0]!, b.parts[i + 1]!)))
      )
    }
    const [ratio, other] = a.kind === 'ratio' ? [a, b] : [b as NodeOf<'ratio'>, a]
    return (
      ratio.parts.length === 2 &&
      isExpression(other) &&
      this.equal(quotient(ratio.parts[0]!, ratio.parts[1]!), other)
    )
  }

  #quantities(a: Node, b: Node): boolean {
    const [x, y] = [a, b].map((node) => (node.kind === 'quantity' ? node : { value: node, unit: '' })) as [
      { value: Node; unit: string },
      { value: Node; unit: string },
    ]
    const times = conversion(x.unit, y.unit)
    if (times === undefined) return false
    if (times.n === times.d) return this.equal(x.value, y.value)
    const factor: Node = { kind: 'number', value: times, decimal: false }
    return this.equal({ kind: 'product', factors: [factor, x.value] }, y.value)
  }

  /** A percentage is that many hundredths; its sign may also be missing where the question says percent. */
  #percents(a: Node, b: Node): boolean {
    const bare = (node: Node) => (node.kind === 'percent' ? node.value : node)
    const constant = variables(a).size === 0
    if ((constant || a.kind === b.kind) && this.equal(bare(a), bare(b))) return true
    return (
      (a.kind === 'percent') !== (b.kind === 'percent') && equalValues(a, b, this.#tolerance, this.#budget)
    )
  }

  #ordered(a: Node[], b: Node[]): boolean {
    return a.length === b.length && a.every((item, i) => this.equal(item, b[i]!))
  }

  /** Equal up to order, each item used once. */
  #unordered(a: Node[], b: Node[]): boolean {
    if (a.length !== b.length) return false
    if (this.#ordered(a, b)) return true
    const rest = [...b]
    return a.every((item) => {
      const found = rest.findIndex((each) => this.equal(item, each))
      if (found >= 0) rest.splice(found, 1)
      return found >= 0
    })
  }
}

/** The coordinates of a named point: P(6, 5). */
function point(node: Node): Node {
  const named = node.kind === 'call' && /^\?[A-Z]$/.test(node.name) && node.args.length > 1
  return named ? { kind: 'group', open: '(', close: ')', items: node.args } : node
}

const sameBrackets = ({ open, close }: NodeOf<'group'>) => open === '<' || (open === '(') === (close === ')')
const quotient = (top: Node, bottom: Node): Node => ({ kind: 'quotient', top, bottom })

function distinct(items: Node[]): Node[] {
  const seen = new Map(items.map((item) => [keyOf(item), item]))
  return [...seen.values()]
}

/** y = 2x + 3 and f(x) = 2x + 3 define the same function. */
function bothFunctions(a: Node, b: Node, value: Node): boolean {
  const isFunction = (node: Node) =>
    node.kind === 'call' || (node.kind === 'symbol' && /^[yz]$/.test(node.name))
  return a.kind !== b.kind && isFunction(a) && isFunction(b) && variables(value).size > 0
}

/** What a condition is about: x < 1 says nothing of y. */
const unknowns = (node: Node) => [...variables(node)].sort().join()

/** left - right with < or <= turned so that the node is on the smaller side. */
function turned({ sides, operators }: NodeOf<'relation'>): { node: Node; operator: string } {
  const [left, right] = sides as [Node, Node]
  const operator = operators[0]!
  if (operator === '>' || operator === '>=') {
    return { node: difference(right, left), operator: operator === '>' ? '<' : '<=' }
  }
  return { node: difference(left, right), operator }
}

/** A chain with its signs turned to < and <=. */
function rising({ sides, operators }: NodeOf<'relation'>): { sides: Node[]; operators: string[] } {
  const back: Record<string, string> = { '>': '<', '>=': '<=' }
  if (!operators.every((operator) => back[operator])) return { sides, operators }
  return { sides: [...sides].reverse(), operators: operators.map((operator) => back[operator]!).reverse() }
}

const values = new Set([
  'number',
  'symbol',
  'constant',
  'sum',
  'product',
  'quotient',
  'power',
  'call',
  'series',
  'percent',
])

/** Whether it has one value, rather than being a tuple, a set or a relation. */
function isExpression(node: Node): boolean {
  return !some(node, ({ kind }) => !values.has(kind))
}

/** A numeral may go without its base: the question fixed it. */
function numerals(a: Node, b: Node): boolean {
  const digits = (node: Node) =>
    node.kind === 'numeral'
      ? node.digits
      : node.kind === 'number' && node.value.d === 1n
        ? `${node.value.n}`
        : undefined
  return digits(a) !== undefined && digits(a) === digits(b) && (a.kind !== b.kind || keyOf(a) === keyOf(b))
}
