/**
 * The operators of a decoder, each with its vector-Jacobian rule. Shapes: N tokens of all sequences packed one behind
 * another, D features. A cotangent has the shape of its value; `dy` is the output's, `dx` the input's.
 */
import type { Dim, Graph, NodeOptions, Rule, Shape, Value } from './graph.js'

const microsoft = 'com.microsoft' as const

/** y = x Wᵀ. x [N, I], W [O, I] as Hugging Face stores it. dx = dy W, dW = dyᵀ x. */
export function linear(g: Graph, x: Value, w: Value): Value {
  const out: Shape = [...x.shape.slice(0, -1), w.shape[0]!]
  return product(
    g,
    x,
    w,
    out,
    { transB: true },
    {
      rule: ([dy]) => [product(g, dy!, w, x.shape, {}), product(g, dy!, x, w.shape, { transA: true })],
    },
  )
}

/** y = a + b, same shapes. */
export function add(g: Graph, a: Value, b: Value): Value {
  return g.op('Add', [a, b], a.shape, { rule: ([dy]) => [dy, dy] })
}

/** y = x + b for every row. x [..., D], b [D]. db = column sums of dy. */
export function addBias(g: Graph, x: Value, b: Value): Value {
  return g.op('Add', [x, b], x.shape, { rule: ([dy]) => [dy, sumRows(g, dy!)] })
}

/** y = c x, c a number. */
export function scale(g: Graph, x: Value, c: number): Value {
  if (c === 1) return x
  const factor = g.scalar(c)
  return g.op('Mul', [x, factor], x.shape, {
    rule: ([dy]) => [g.op('Mul', [dy, factor], x.shape), undefined],
  })
}

/** Sums of x [..., D] over all axes but the last, shape [D], as a matrix product: the reduction kernel is slower. */
export function sumRows(g: Graph, x: Value): Value {
  const leading = x.shape.slice(0, -1)
  const columns = x.shape.at(-1)!
  const rows = leading.length === 1 ? leading[0]! : leading.join('*')
  const ones = onesLike(g, rows)
  const matrix = leading.length === 1 ? x : reshape(g, x, [rows, columns])
  const sum = g.op('MatMul', [ones, matrix], [1, columns])
  return g.op('Reshape', [sum, g.constant(BigInt64Array.of(-1n), [1])], [columns])
}

/** Rows of ones come in as an input named after the dimension, so that no kernel has to fill them. */
const onesInputs = new WeakMap<Graph, Map<Dim, Value>>()
function onesLike(g: Graph, rows: Dim): Value {
  const known = onesInputs.get(g) ?? new Map<Dim, Value>()
  onesInputs.set(g, known)
  const ones = known.get(rows) ?? g.input(`ones_${rows}`, [1, rows])
  known.set(rows, ones)
  return ones
}

/**
 * RMS norm over the last axis: y = x̂ w, x̂ = x / rms(x). x [..., D], w [D].
 * With t = dy w: dx = (t - x̂ mean(t x̂)) / rms(x), dw = Σ dy x̂.
 */
export function rmsNorm(g: Graph, x: Value, w: Value, epsilon: number): Value {
  const column: Shape = [...x.shape.slice(0, -1), 1]
  const [y, inverseRms] = g.node('SimplifiedLayerNormalization', [x, w], [x.shape, column], {
    attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
    rule: ([dy]) => {
      const normal = g.op('Mul', [x, inverseRms], x.shape)
      const t = g.op('Mul', [dy, w], x.shape)
      const projection = g.op('ReduceMean', [g.op('Mul', [t, normal], x.shape)], column, {
        attributes: { axes: [-1], keepdims: 1 },
      })
      const orthogonal = g.op('Sub', [t, g.op('Mul', [normal, projection], x.shape)], x.shape)
      return [g.op('Mul', [orthogonal, inverseRms], x.shape), sumRows(g, g.op('Mul', [dy, normal], x.shape))]
    },
  }) as [Value, Value]
  return y
}

/** Tables of a rotary position embedding: positions [B, S] (int64), cos, sin and -sin [positions, dh / 2]. */
export interface RotaryTables {
  positions: Value
  cos: Value
  sin: Value
  negativeSin: Value
}

/**
 * Rotary position embedding in the half-split form of Hugging Face. x [B, S, H dh].
 * A rotation's transpose turns the other way, so the rule is the same kernel with -sin.
 */
export function rotary(g: Graph, x: Value, tables: RotaryTables): Value {
  const turn = (value: Value, sin: Value, rule?: Rule) =>
    g.op('RotaryEmbedding', [value, tables.positions, tables.cos, sin], x.shape, {
      domain: microsoft,
      ...(rule && { rule }),
    })
  return turn(x, tables.sin, ([dy]) => [turn(dy!, tables.negativeSin)])
}

/** The same elements under another shape. A symbolic dimension keeps its place, or is the only one to be inferred. */
export function reshape(g: Graph, x: Value, shape: Shape): Value {
  const to = (value: Value, target: Shape, rule?: Rule) => {
    const size = (dim: Dim, i: number) => (typeof dim === 'number' ? dim : value.shape[i] === dim ? 0 : -1)
    const sizes = BigInt64Array.from(target.map((dim, i) => BigInt(size(dim, i))))
    return g.op('Reshape', [value, g.constant(sizes, [sizes.length])], target, { ...(rule && { rule }) })
  }
  return to(x, shape, ([dy]) => [to(dy!, x.shape)])
}

/**
 * Rows moved to other places: y = rows(x)[index]. x [..., D] has R rows in all, index [...] (int32) names every row that
 * matters exactly once; `inverse` has x's leading shape and names for each row of x its place among the rows of y. Being
 * a permutation of the rows that matter, its rule is a gather as well; a scatter that adds would race between threads.
 * `real`, where given, has x's leading shape and a last axis of 1, and is 0 at rows of x that are only padding.
 */
export function moveRows(g: Graph, x: Value, index: Value, inverse: Value, real?: Value): Value {
  const width = x.shape.at(-1)!
  const take = (from: Value, at: Value, options: NodeOptions = {}) => {
    const rows = from.shape.length === 2 ? from : reshape(g, from, ['rows', width])
    return g.op('Gather', [rows, at], [...at.shape, width], { ...options, attributes: { axis: 0 } })
  }
  return take(x, index, {
    differentiates: [x],
    rule: ([dy]) => {
      const dx = take(dy!, inverse)
      return [real ? g.op('Mul', [dx, real], x.shape) : dx]
    },
  })
}

/**
 * Masked attention: o = p v, p = softmax(alpha q kᵀ + mask). q [B, H, R, dh], k and v [B, H, S, dh], mask [R, S].
 * With δ = rowsum(do o) and ds = p (do vᵀ - δ): dq = alpha ds k, dk = alpha dsᵀ q, dv = pᵀ do. δ equals the row sum of
 * dp p that the softmax needs, over dh columns instead of S.
 */
export function attention(g: Graph, q: Value, k: Value, v: Value, mask: Value, alpha: number): Value {
  const scores: Shape = [...q.shape.slice(0, -1), k.shape.at(-2)!]
  const masked = g.op('Add', [product(g, q, k, scores, { transB: true, alpha }), mask], scores)
  const p = g.op('Softmax', [masked], scores, { attributes: { axis: -1 } })
  const o: Value = product(
    g,
    p,
    v,
    q.shape,
    {},
    {
      differentiates: [q, k, v],
      rule: ([dy]) => {
        const delta = g.op(
          'ReduceSum',
          [g.op('Mul', [dy, o], q.shape), lastAxis(g)],
          [...q.shape.slice(0, -1), 1],
          {
            attributes: { keepdims: 1 },
          },
        )
        const dp = product(g, dy!, v, scores, { transB: true })
        const ds = g.op('Mul', [p, g.op('Sub', [dp, delta], scores)], scores)
        return [
          product(g, ds, k, q.shape, { alpha }),
          product(g, ds, q, k.shape, { transA: true, alpha }),
          product(g, p, dy!, v.shape, { transA: true }),
        ]
      },
    },
  )
  return o
}

const lastAxis = (g: Graph) => g.constant(BigInt64Array.of(-1n), [1])

/** alpha op(a) op(b), batched over leading axes. */
function product(
  g: Graph,
  a: Value,
  b: Value,
  shape: Shape,
  how: { transA?: boolean; transB?: boolean; alpha?: number },
  options: NodeOptions = {},
): Value {
  return g.op('FusedMatMul', [a, b], shape, {
    ...options,
    domain: microsoft,
    attributes: {
      transA: Number(how.transA ?? 0),
      transB: Number(how.transB ?? 0),
      alpha: { float: how.alpha ?? 1 },
    },
  })
}

/**
 * Gated unit of Llama and Qwen: y = silu(gate) up, silu(z) = z σ(z). Shapes [N, F].
 * dup = dy silu(gate), dgate = dy up (σ + silu(gate) (1 - σ)).
 */
export function swiglu(g: Graph, gate: Value, up: Value): Value {
  const mul = (a: Value, b: Value, options: NodeOptions = {}) => g.op('Mul', [a, b], gate.shape, options)
  const sigma = g.op('Sigmoid', [gate], gate.shape)
  const silu = mul(gate, sigma)
  return mul(silu, up, {
    differentiates: [gate, up],
    rule: ([dy]) => {
      const slope = g.op('Add', [sigma, g.op('Sub', [silu, mul(silu, sigma)], gate.shape)], gate.shape)
      return [mul(mul(dy!, up), slope), mul(dy!, silu)]
    },
  })
}

/**
 * Log-probabilities of targets: y = log softmax(h Wᵀ / T)[target]. h [M, D], W [V, D], target [M, 1] (int64),
 * inverseTemperature [] = 1/T; y [M, 1]. With dy [M, 1]: dlogits = (onehot - softmax) dy / T.
 * Also returns all log-probabilities [M, V], which carry no gradient.
 */
export function targetLogprobs(
  g: Graph,
  h: Value,
  w: Value,
  target: Value,
  inverseTemperature: Value,
): { logprobs: Value; all: Value } {
  const logits: Shape = [h.shape[0]!, w.shape[0]!]
  const scaled = g.op('Mul', [product(g, h, w, logits, { transB: true }), inverseTemperature], logits)
  const all = g.op('LogSoftmax', [scaled], logits, { attributes: { axis: -1 } })
  const logprobs: Value = g.op('GatherElements', [all, target], target.shape, {
    attributes: { axis: 1 },
    differentiates: [h, w],
    rule: ([dy]) => {
      const probabilities = g.op('Exp', [all], logits)
      const miss = g.op('Sub', [g.op('Exp', [logprobs], target.shape), g.scalar(1)], target.shape)
      // One element a row, so nothing is added twice and threads cannot race.
      const error = g.op('ScatterElements', [probabilities, target, miss], logits, {
        attributes: { axis: 1 },
      })
      const weight = g.op('Neg', [g.op('Mul', [dy, inverseTemperature], target.shape)], target.shape)
      const dlogits = g.op('Mul', [error, weight], logits)
      return [product(g, dlogits, w, h.shape, {}), product(g, dlogits, h, w.shape, { transA: true })]
    },
  })
  return { logprobs, all }
}
