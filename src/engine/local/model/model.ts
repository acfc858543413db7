import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import type { Tensor } from '../ort/tensor.js'
import { gradientIn, gradientOut } from './training.js'
import { type Parameter, type Parameters, RotaryCache } from './weights.js'

/** A decoder's weights: the model's own, and an adapter where it has one. Programs find them by their path in a layer. */
export class Model {
  readonly rotary: RotaryCache
  /** Weight tensors by their full names; the head's is `lm_head.weight` also where it is the embedding. */
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly #layers: ReadonlyMap<string, Tensor>[] = []
  #gradients: ReadonlyMap<string, Tensor>[] | undefined

  constructor(
    readonly config: ModelConfig,
    /** Weights of the model folder; may be shared with other models where an adapter is trained instead. */
    readonly base: Parameters,
    readonly lora?: { spec: LoraSpec; adapter: Parameters },
  ) {
    this.rotary = new RotaryCache(config)
    const all = [...base.values(), ...(lora?.adapter.values() ?? [])]
    this.tensors = new Map([
      ['lm_head.weight', this.head.tensor],
      ...all.map((p) => [p.name, p.tensor] as const),
    ])
    for (let layer = 0; layer < config.layers; layer++)
      this.#layers.push(this.#bind(layer, (p) => [['', p.tensor]]))
  }

  /** What training changes. */
  get trained(): Parameters {
    return this.lora?.adapter ?? this.base
  }

  /** Bytes of all layers' weights, which every decoding step reads. */
  get layerBytes(): number {
    return [...this.base.values()].reduce(
      (sum, p) => sum + (p.name.includes('.layers.') ? p.data.byteLength : 0),
      0,
    )
  }

  get embedding(): Parameter {
    return this.base.get('model.embed_tokens.weight')!
  }

  get head(): Parameter {
    return this.base.get('lm_head.weight') ?? this.embedding
  }

  get norm(): Parameter {
    return this.base.get('model.norm.weight')!
  }

  /** Weight tensors of a layer by their path in it. */
  layer(index: number): ReadonlyMap<string, Tensor> {
    return this.#layers[index]!
  }

  /** Where the backward program of a layer reads and writes gradient sums. */
  layerGradients(index: number): ReadonlyMap<string, Tensor> {
    this.#gradients ??= this.#layers.map((_, layer) =>
      this.#bind(layer, (p) =>
        p.training
          ? [
              [gradientIn(''), p.training.gradient],
              [gradientOut(''), p.training.gradient],
            ]
          : [],
      ),
    )
    return this.#gradients[index]!
  }

  prepareTraining(): void {
    for (const parameter of this.trained.values()) parameter.prepareTraining()
  }

  /** The same weights, unmoved by later steps of this model. */
  snapshot(): Model {
    if (!this.lora) return new Model(this.config, copyAll(this.base))
    return new Model(this.config, this.base, { spec: this.lora.spec, adapter: copyAll(this.lora.adapter) })
  }

  #bind(layer: number, entries: (parameter: Parameter) => [string, Tensor][]): ReadonlyMap<string, Tensor> {
    const prefix = `model.layers.${layer}.`
    const out = new Map<string, Tensor>()
    for (const parameters of [this.base, this.lora?.adapter ?? new Map<string, Parameter>()])
      for (const parameter of parameters.values())
        if (parameter.name.startsWith(prefix))
          for (const [kind, tensor] of entries(parameter))
            out.set(kind + parameter.name.slice(prefix.length), tensor)
    return out
  }

  release(): void {
    for (const parameter of this.trained.values()) parameter.release()
  }
}

function copyAll(parameters: Parameters): Parameters {
  return new Map([...parameters].map(([name, parameter]) => [name, parameter.copy()]))
}
