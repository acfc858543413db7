/** Lists as sets of solutions: values, tuples, or groups of assignments such as p = 5, q = 2; p = 7, q = 2. */
import type { Budget } from '../maths/equal.js'
import { keyOf, type Node } from '../maths/node.js'
import { assignment, stem } from './assignment.js'

export interface Solution {
  /** Undefined where values are told apart by their place only. */
  names: string[] | undefined
  values: Node[]
}

/** Undefined where the node mixes what cannot be a list of solutions. */
export function solutionsOf(node: Node, budget: Budget): Solution[] | undefined {
  const items = node.kind === 'list' ? node.items : [node]
  const named = items.map((item) => (item.kind === 'relation' ? assignment(item, budget) : undefined))
  if (!named.some((each) => each?.name !== undefined)) {
    return items.map((item, i) => ({ names: undefined, values: valuesOf(named[i]?.value ?? item) }))
  }
  return grouped(items, named)
}

function valuesOf(item: Node): Node[] {
  return item.kind === 'group' && item.open === '(' && item.close === ')' ? item.items : [item]
}

/** A name that comes back begins the next solution; a value without one goes by the name before it. */
function grouped(items: Node[], named: ({ name: Node | undefined; value: Node } | undefined)[]): Solution[] {
  const solutions: { names: string[]; values: Node[] }[] = []
  let last = ''
  const stems = named.map((each) => (each?.name ? stem(each.name) : undefined))
  const oneStem = new Set(stems.filter((each) => each !== undefined)).size === 1
  for (const [i, item] of items.entries()) {
    const name = named[i]?.name
    const value = named[i]?.value ?? item
    last = name === undefined ? last : oneStem ? stem(name) : keyOf(name)
    const current = solutions.at(-1)
    if (current === undefined || current.names.includes(last))
      solutions.push({ names: [last], values: [value] })
    else {
      current.names.push(last)
      current.values.push(value)
    }
  }
  const tuples = solutions.every(({ values }) => values.length === 1 && values[0]!.kind === 'group')
  return tuples
    ? solutions.map(({ values }) => ({ names: undefined, values: valuesOf(values[0]!) }))
    : solutions
}

/** The same solutions in any order. */
export function equalSolutions(a: Solution[], b: Solution[], equal: (x: Node, y: Node) => boolean): boolean {
  const [x, y] = [distinct(flattened(a, b)), distinct(flattened(b, a))]
  if (x.length !== y.length) return false
  const rest = [...y]
  return x.every((solution) => {
    const found = rest.findIndex((each) => equalSolution(solution, each, equal))
    if (found >= 0) rest.splice(found, 1)
    return found >= 0
  })
}

/** A tuple said twice is said once; of single values, the number counts. */
function distinct(solutions: Solution[]): Solution[] {
  const key = ({ names, values }: Solution) => JSON.stringify([names, values.map(keyOf)])
  if (solutions.some(({ values }) => values.length === 1)) return solutions
  return [...new Map(solutions.map((solution) => [key(solution), solution])).values()]
}

/** One solution of several values beside a bare list of as many values is the list of its values, in order. */
function flattened(own: Solution[], other: Solution[]): Solution[] {
  if (
    own.length !== 1 &&
    other.length === 1 &&
    other[0]!.names !== undefined &&
    other[0]!.values.length === own.length
  ) {
    if (own.every(({ names, values }) => names === undefined && values.length === 1)) {
      return [{ names: undefined, values: own.map(({ values }) => values[0]!) }]
    }
  }
  return own
}

function equalSolution(a: Solution, b: Solution, equal: (x: Node, y: Node) => boolean): boolean {
  if (a.values.length !== b.values.length) return false
  if (a.names === undefined || b.names === undefined)
    return a.values.every((value, i) => equal(value, b.values[i]!))
  return a.names.every((name, i) => {
    const place = b.names!.indexOf(name)
    return place >= 0 && equal(a.values[i]!, b.values[place]!)
  })
}
