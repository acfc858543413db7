/**
 * One decoder layer of Qwen3, Qwen2/2.5 or Llama as a graph. All layers of a model have the same shapes, and weights are
 * inputs, so one compiled layer serves them all and a weight update costs nothing.
 */
import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import type { Dim, Graph, Shape, Value } from '../graph/graph.js'
import {
  add,
  addBias,
  linear,
  type RotaryTables,
  reshape,
  rmsNorm,
  rotary,
  scale,
  swiglu,
} from '../graph/ops.js'

/** Linear layers of a decoder layer, by the name that LoRA targets use: [path, inputs, outputs, has a bias]. */
export function linearLayers(config: ModelConfig): Map<string, LinearShape> {
  const { hiddenSize: d, intermediateSize: f, headDim, heads, kvHeads } = config
  const shape = (path: string, inputs: number, outputs: number, bias: boolean): LinearShape => ({
    path,
    inputs,
    outputs,
    bias,
  })
  return new Map([
    ['q_proj', shape('self_attn.q_proj', d, heads * headDim, config.attentionBias)],
    ['k_proj', shape('self_attn.k_proj', d, kvHeads * headDim, config.attentionBias)],
    ['v_proj', shape('self_attn.v_proj', d, kvHeads * headDim, config.attentionBias)],
    ['o_proj', shape('self_attn.o_proj', heads * headDim, d, config.outputBias)],
    ['gate_proj', shape('mlp.gate_proj', d, f, config.mlpBias)],
    ['up_proj', shape('mlp.up_proj', d, f, config.mlpBias)],
    ['down_proj', shape('mlp.down_proj', f, d, config.mlpBias)],
  ])
}

export interface LinearShape {
  path: string
  inputs: number
  outputs: number
  bias: boolean
}

/** The layer's weights as graph inputs, made when first asked for, named by their path within the layer plus `suffix`. */
export class LayerWeights {
  readonly inputs = new Map<string, Value>()
  readonly #linears: Map<string, LinearShape>

  constructor(
    private readonly g: Graph,
    readonly config: ModelConfig,
    private readonly lora: LoraSpec | undefined,
    private readonly prefix = '',
  ) {
    this.#linears = linearLayers(config)
  }

  get(path: string, shape: Shape): Value {
    const known = this.inputs.get(path) ?? this.g.input(this.prefix + path, shape)
    this.inputs.set(path, known)
    return known
  }

  /** y = x Wᵀ + b, plus the adapter's (alpha / rank) (x Aᵀ) Bᵀ where there is one. */
  apply(name: string, x: Value): Value {
    const { path, inputs, outputs, bias } = this.#linears.get(name)!
    let y = linear(this.g, x, this.get(`${path}.weight`, [outputs, inputs]))
    if (bias) y = addBias(this.g, y, this.get(`${path}.bias`, [outputs]))
    if (this.lora?.targets.includes(name)) {
      const { rank, alpha } = this.lora
      const low = linear(this.g, x, this.get(`${path}.lora_A.weight`, [rank, inputs]))
      const update = linear(
        this.g,
        scale(this.g, low, alpha / rank),
        this.get(`${path}.lora_B.weight`, [outputs, rank]),
      )
      y = add(this.g, y, update)
    }
    return y
  }
}

/** Attends over the sequence: takes q [.., H dh], k and v [.., Hkv dh], gives [.., H dh]. */
export type Attend = (q: Value, k: Value, v: Value) => Value

/** Layer output for x [.., D]: x' = x + attention(norm(x)), y = x' + mlp(norm(x')). */
export function decoderLayer(
  g: Graph,
  x: Value,
  weights: LayerWeights,
  tables: RotaryTables,
  attend: Attend,
): Value {
  const { config } = weights
  const norm = (value: Value, name: string) =>
    rmsNorm(g, value, weights.get(`${name}.weight`, [config.hiddenSize]), config.normEpsilon)

  const h = norm(x, 'input_layernorm')
  const q = headNorm(g, weights.apply('q_proj', h), 'q_norm', weights)
  const k = headNorm(g, weights.apply('k_proj', h), 'k_norm', weights)
  const v = weights.apply('v_proj', h)
  const attended = attend(rotate(g, q, tables), rotate(g, k, tables), v)
  const middle = add(g, x, weights.apply('o_proj', attended))

  const m = norm(middle, 'post_attention_layernorm')
  const hidden = swiglu(g, weights.apply('gate_proj', m), weights.apply('up_proj', m))
  return add(g, middle, weights.apply('down_proj', hidden))
}

/** RMS norm of each head (Qwen3). */
function headNorm(g: Graph, x: Value, name: string, weights: LayerWeights): Value {
  const { config } = weights
  if (!config.qkNorm) return x
  const heads = (x.shape.at(-1) as number) / config.headDim
  // Packed tokens [N, H dh] become rows [N H, dh], whose weight gradient is a sum over rows.
  const split: Shape = x.shape.length === 2 ? [`${x.shape[0]}*${heads}`] : [...x.shape.slice(0, -1), heads]
  const byHead = reshape(g, x, [...split, config.headDim])
  const weight = weights.get(`self_attn.${name}.weight`, [config.headDim])
  return reshape(g, rmsNorm(g, byHead, weight, config.normEpsilon), x.shape)
}

function rotate(g: Graph, x: Value, tables: RotaryTables): Value {
  if (x.shape.length === 3) return rotary(g, x, tables)
  // Packed tokens are sequences of one: the kernel wants no sequence longer than the tables.
  const [rows, width] = x.shape as [Dim, Dim]
  return reshape(g, rotary(g, reshape(g, x, [rows, 1, width]), tables), x.shape)
}

/** Rotary tables as graph inputs; positions have the leading axes of x. */
export function rotaryInputs(g: Graph, config: ModelConfig, positions: Shape): RotaryTables {
  const table: Shape = ['positions', config.headDim / 2]
  return {
    positions: g.input('positions', positions, 'i64'),
    cos: g.input('cos', table),
    sin: g.input('sin', table),
    negativeSin: g.input('negativeSin', table),
  }
}
