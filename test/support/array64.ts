/**
 * What the operators of the tensor graph mean, in float64 and plain loops: the yardstick for the kernels of the runtime
 * and for the gradient rules. Written from the formulas; it shares nothing with the engine.
 */
export interface Array64 {
  readonly shape: readonly number[]
  /** Row by row. */
  readonly data: Float64Array
}

export function array64(shape: readonly number[], entry: (i: number) => number = () => 0): Array64 {
  const length = shape.reduce((product, size) => product * size, 1)
  return { shape, data: Float64Array.from({ length }, (_, i) => entry(i)) }
}

export const reshape = (x: Array64, shape: readonly number[]): Array64 => ({ shape, data: x.data })

export const add = (a: Array64, b: Array64) => array64(a.shape, (i) => a.data[i]! + b.data[i]!)

export const scale = (x: Array64, c: number) => array64(x.shape, (i) => c * x.data[i]!)

const widthOf = (x: Array64) => x.shape.at(-1)!

/** y[r, c] = x[r, c] + b[c] */
export const addBias = (x: Array64, b: Array64) =>
  array64(x.shape, (i) => x.data[i]! + b.data[i % widthOf(x)]!)

/** y[r, o] = Σ_i x[r, i] w[o, i] */
export function linear(x: Array64, w: Array64): Array64 {
  const [outputs, inputs] = w.shape as [number, number]
  return array64([...x.shape.slice(0, -1), outputs], (at) => {
    const [row, o] = [Math.floor(at / outputs), at % outputs]
    let sum = 0
    for (let i = 0; i < inputs; i++) sum += x.data[row * inputs + i]! * w.data[o * inputs + i]!
    return sum
  })
}

/** y[c] = Σ_r x[r, c] */
export function sumRows(x: Array64): Array64 {
  const y = array64([widthOf(x)])
  x.data.forEach((value, i) => {
    y.data[i % widthOf(x)]! += value
  })
  return y
}

/** y[r, c] = w[c] x[r, c] / sqrt(mean_c(x[r, c]²) + epsilon) */
export function rmsNorm(x: Array64, w: Array64, epsilon: number): Array64 {
  const width = widthOf(x)
  const rms = array64([x.data.length / width], (row) => {
    const squares = x.data.subarray(row * width, (row + 1) * width).reduce((sum, v) => sum + v * v, 0)
    return Math.sqrt(squares / width + epsilon)
  })
  return array64(x.shape, (i) => (w.data[i % width]! * x.data[i]!) / rms.data[Math.floor(i / width)]!)
}

/**
 * x [B, S, H dh]: in each head, element j of the first half and element j of the second are turned by the angle of
 * (position, j). positions [B S]; cos, sin [positions, dh / 2].
 */
export function rotary(
  x: Array64,
  positions: ArrayLike<number | bigint>,
  cos: Array64,
  sin: Array64,
): Array64 {
  const half = widthOf(cos)
  return array64(x.shape, (i) => {
    const column = (i % widthOf(x)) % (2 * half)
    const angle = Number(positions[Math.floor(i / widthOf(x))]) * half + (column % half)
    const [c, s] = [cos.data[angle]!, sin.data[angle]!]
    return column < half ? c * x.data[i]! - s * x.data[i + half]! : c * x.data[i]! + s * x.data[i - half]!
  })
}

/** y = rows(x)[index], x of width D; y [...shape of index, D]. */
export function takeRows(x: Array64, index: ArrayLike<number>, shape: readonly number[]): Array64 {
  const width = widthOf(x)
  return array64([...shape, width], (i) => x.data[index[Math.floor(i / width)]! * width + (i % width)]!)
}

function softmax(scores: number[]): number[] {
  const largest = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - largest))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map((power) => power / sum)
}

/** o[b, h, r] = Σ_s softmax_s(alpha q[b, h, r] · k[b, h, s] + mask[r, s]) v[b, h, s] */
export function attention(q: Array64, k: Array64, v: Array64, mask: Array64, alpha: number): Array64 {
  const [batches, heads, queries, width] = q.shape as [number, number, number, number]
  const keys = k.shape[2]!
  const out = array64(q.shape)
  for (let at = 0; at < batches * heads * queries; at++) {
    const head = Math.floor(at / queries)
    const scores = Array.from({ length: keys }, (_, s) => {
      let score = 0
      for (let j = 0; j < width; j++)
        score += q.data[at * width + j]! * k.data[(head * keys + s) * width + j]!
      return alpha * score + mask.data[(at % queries) * keys + s]!
    })
    for (const [s, p] of softmax(scores).entries())
      for (let j = 0; j < width; j++) out.data[at * width + j]! += p * v.data[(head * keys + s) * width + j]!
  }
  return out
}

/** y = up gate / (1 + exp(-gate)) */
export const swiglu = (gate: Array64, up: Array64) =>
  array64(gate.shape, (i) => (up.data[i]! * gate.data[i]!) / (1 + Math.exp(-gate.data[i]!)))

/** ln softmax(inverseTemperature h wᵀ) [M, V] */
export function logSoftmax(h: Array64, w: Array64, inverseTemperature: number): Array64 {
  const logits = scale(linear(h, w), inverseTemperature)
  const [rows, vocabulary] = logits.shape as [number, number]
  const out = array64([rows, vocabulary])
  for (let row = 0; row < rows; row++) {
    const scores = [...logits.data.subarray(row * vocabulary, (row + 1) * vocabulary)]
    out.data.set(softmax(scores).map(Math.log), row * vocabulary)
  }
  return out
}

/** y[m] = logprobs[m, target[m]], y [M, 1] */
export const pickTargets = (logprobs: Array64, targets: ArrayLike<number | bigint>) =>
  array64([logprobs.shape[0]!, 1], (m) => logprobs.data[m * widthOf(logprobs) + Number(targets[m])]!)
