/** A decoder layer in float64, one sequence after another and one head after another: no packing, no padding. */
import type { LoraSpec } from '../../src/engine/engine.js'
import type { ModelConfig } from '../../src/engine/hf/config.js'
import {
  type Array64,
  add,
  addBias,
  array64,
  attention,
  linear,
  reshape,
  rmsNorm,
  rotary,
  scale,
  swiglu,
} from './array64.js'

/** Weights by their path in the layer. A bias, an adapter or a head norm is applied where there is one. */
export type Weights64 = Readonly<Record<string, Array64>>

/** x [N, D] holds sequences of the given lengths one behind another; so does the result. */
export function decoderLayer64(
  config: ModelConfig,
  lora: LoraSpec | undefined,
  weights: Weights64,
  x: Array64,
  lengths: readonly number[],
): Array64 {
  const width = config.hiddenSize
  const out = array64(x.shape)
  let start = 0
  for (const length of lengths) {
    const rows = x.data.subarray(start * width, (start + length) * width)
    const y = layerOverSequence(config, lora, weights, { shape: [length, width], data: rows })
    out.data.set(y.data, start * width)
    start += length
  }
  return out
}

function layerOverSequence(
  config: ModelConfig,
  lora: LoraSpec | undefined,
  weights: Weights64,
  x: Array64,
): Array64 {
  const { heads, kvHeads, headDim, normEpsilon } = config
  const length = x.shape[0]!
  const project = (path: string, value: Array64) => {
    const y = linear(value, weights[`${path}.weight`]!)
    const bias = weights[`${path}.bias`]
    const [a, b] = [weights[`${path}.lora_A.weight`], weights[`${path}.lora_B.weight`]]
    const biased = bias ? addBias(y, bias) : y
    return a && b ? add(biased, scale(linear(linear(value, a), b), lora!.alpha / lora!.rank)) : biased
  }
  const normalise = (value: Array64, w: Array64 | undefined) => (w ? rmsNorm(value, w, normEpsilon) : value)

  const angles = Array.from({ length }, (_, t) =>
    Array.from({ length: headDim / 2 }, (_, j) => t * config.ropeTheta ** ((-2 * j) / headDim)),
  ).flat()
  const cos = array64([length, headDim / 2], (i) => Math.cos(angles[i]!))
  const sin = array64([length, headDim / 2], (i) => Math.sin(angles[i]!))
  const positions = Array.from({ length }, (_, t) => t)

  /** [T, H dh] to one [1, 1, T, dh] a head. */
  const splitHeads = (value: Array64, count: number) =>
    Array.from({ length: count }, (_, head) =>
      array64([1, 1, length, headDim], (i) => {
        const [t, j] = [Math.floor(i / headDim), i % headDim]
        return value.data[(t * count + head) * headDim + j]!
      }),
    )
  const rotatedHeads = (path: string, norm: string, value: Array64, count: number) => {
    const byHead = reshape(project(path, value), [length * count, headDim])
    const whole = reshape(normalise(byHead, weights[norm]), [1, length, count * headDim])
    return splitHeads(rotary(whole, positions, cos, sin), count)
  }

  const h = normalise(x, weights['input_layernorm.weight'])
  const q = rotatedHeads('self_attn.q_proj', 'self_attn.q_norm.weight', h, heads)
  const k = rotatedHeads('self_attn.k_proj', 'self_attn.k_norm.weight', h, kvHeads)
  const v = splitHeads(project('self_attn.v_proj', h), kvHeads)
  const causal = array64([length, length], (i) => (i % length <= Math.floor(i / length) ? 0 : -Infinity))
  const attended = q.map((query, head) => {
    const shared = Math.floor(head / (heads / kvHeads))
    return attention(query, k[shared]!, v[shared]!, causal, 1 / Math.sqrt(headDim))
  })
  const joined = array64([length, heads * headDim], (i) => {
    const [t, head, j] = [Math.floor(i / (heads * headDim)), Math.floor(i / headDim) % heads, i % headDim]
    return attended[head]!.data[t * headDim + j]!
  })
  const middle = add(x, project('self_attn.o_proj', joined))

  const m = normalise(middle, weights['post_attention_layernorm.weight'])
  const hidden = swiglu(project('mlp.gate_proj', m), project('mlp.up_proj', m))
  return add(middle, project('mlp.down_proj', hidden))
}
