/**
 * A small tensor graph with reverse-mode differentiation. Nodes are ONNX operators; each carries the rule that turns
 * cotangents of its outputs into cotangents of its inputs, written as further nodes of the same graph. A graph is
 * never run whole: `extract` cuts out what a set of outputs needs, stopping at values that another run has kept.
 */
import { InvariantError } from '../../../core/errors.js'

export type Dtype = 'f32' | 'i32' | 'i64'
/** A size, or the name of one that is known only when the graph runs. */
export type Dim = number | string
export type Shape = readonly Dim[]

export interface Value {
  readonly name: string
  readonly shape: Shape
  readonly dtype: Dtype
  /** Absent for graph inputs and constants. */
  readonly node?: Node
  readonly constant?: Float32Array | BigInt64Array
}

/** Cotangents of the inputs, undefined where an input has none (indices, masks). */
export type Rule = (cotangents: readonly (Value | undefined)[]) => (Value | undefined)[]

export interface Node {
  readonly op: string
  readonly domain: '' | 'com.microsoft'
  readonly inputs: readonly (Value | undefined)[]
  readonly outputs: Value[]
  readonly attributes: Record<string, number | number[] | string | { float: number }>
  readonly rule: Rule | undefined
  /** Values whose cotangents the rule gives: the inputs, or those of the first of several nodes that share one rule. */
  readonly differentiates: readonly (Value | undefined)[]
}

export interface NodeOptions {
  attributes?: Node['attributes']
  domain?: Node['domain']
  rule?: Rule
  differentiates?: readonly Value[]
}

export class Graph {
  #count = 0

  input(name: string, shape: Shape, dtype: Dtype = 'f32'): Value {
    return { name, shape, dtype }
  }

  constant(data: Float32Array | BigInt64Array, shape: readonly number[]): Value {
    return {
      name: `c${this.#count++}`,
      shape,
      dtype: data instanceof Float32Array ? 'f32' : 'i64',
      constant: data,
    }
  }

  scalar(value: number): Value {
    return this.constant(Float32Array.of(value), [])
  }

  /** Adds a node; `outputs` lists the shape of each output, undefined for one that is not wanted. */
  node(
    op: string,
    inputs: readonly (Value | undefined)[],
    outputs: readonly (Shape | undefined)[],
    options: NodeOptions = {},
  ): Value[] {
    const node: Node = {
      op,
      domain: options.domain ?? '',
      inputs,
      outputs: [],
      attributes: options.attributes ?? {},
      rule: options.rule,
      differentiates: options.differentiates ?? inputs,
    }
    for (const shape of outputs) {
      const name = shape ? `${op}${this.#count++}` : ''
      node.outputs.push({ name, shape: shape ?? [], dtype: 'f32', node })
    }
    return node.outputs
  }

  /** A node with one output. */
  op(op: string, inputs: readonly (Value | undefined)[], shape: Shape, options: NodeOptions = {}): Value {
    return this.node(op, inputs, [shape], options)[0]!
  }
}

/** Nodes that `outputs` depend on, in execution order, not looking behind `boundary`. */
export function topologicalOrder(outputs: Iterable<Value>, boundary: ReadonlySet<Value> = new Set()): Node[] {
  const order: Node[] = []
  const seen = new Set<Node>()
  const visit = (value: Value) => {
    const node = value.node
    if (!node || boundary.has(value) || seen.has(node)) return
    seen.add(node)
    for (const input of node.inputs) if (input) visit(input)
    order.push(node)
  }
  for (const value of outputs) visit(value)
  return order
}

/**
 * Cotangents of `wrt`, given the cotangents of some values (`seeds`). A value of `wrt` that no seed depends on has none
 * and is an error: asking for it is a mistake in the model.
 */
export function gradients(graph: Graph, seeds: ReadonlyMap<Value, Value>, wrt: readonly Value[]): Value[] {
  const order = topologicalOrder(seeds.keys())
  const needed = new Set<Value>(wrt)
  for (const node of order)
    if (node.inputs.some((input) => input && needed.has(input)))
      for (const output of node.outputs) needed.add(output)

  const cotangents = new Map<Value, Value>(seeds)
  for (const node of order.reverse()) {
    const given = node.outputs.map((output) => cotangents.get(output))
    if (given.every((cotangent) => cotangent === undefined)) continue
    if (!node.differentiates.some((input) => input && needed.has(input))) continue
    if (!node.rule) throw new InvariantError(`The operator ${node.op} has no gradient rule.`)
    const contributions = node.rule(given)
    node.differentiates.forEach((input, i) => {
      const contribution = contributions[i]
      if (!input || !contribution || !needed.has(input)) return
      const sum = cotangents.get(input)
      cotangents.set(input, sum ? graph.op('Add', [sum, contribution], input.shape) : contribution)
    })
  }
  return wrt.map((value) => {
    const cotangent = cotangents.get(value)
    if (!cotangent) throw new InvariantError(`Nothing differentiated depends on ${value.name}.`)
    return cotangent
  })
}

/** A part of a graph that runs on its own. */
export interface Program {
  name: string
  nodes: Node[]
  inputs: Value[]
  outputs: Value[]
}

/** The program that computes `outputs` from graph inputs and from the `boundary` values that it needs. */
export function extract(
  name: string,
  outputs: readonly Value[],
  boundary: ReadonlySet<Value> = new Set(),
): Program {
  const nodes = topologicalOrder(outputs, boundary)
  const inside = new Set(nodes)
  const inputs = new Set<Value>()
  for (const node of nodes)
    for (const input of node.inputs)
      if (input && !input.constant && (boundary.has(input) || !input.node || !inside.has(input.node)))
        inputs.add(input)
  return { name, nodes, inputs: [...inputs], outputs: [...outputs] }
}

/** Values computed by the nodes of `forward` that the nodes of `backward` read: what a forward run must keep. */
export function keptValues(forward: Program, backward: readonly Value[]): Value[] {
  const made = new Set(forward.nodes)
  const kept = new Set<Value>()
  for (const node of topologicalOrder(backward, new Set(forward.nodes.flatMap((n) => n.outputs))))
    for (const input of node.inputs) if (input?.node && made.has(input.node)) kept.add(input)
  return [...kept]
}
