import { DataError } from '../../core/errors.js'
import type { ModelConfig } from './config.js'
import type { TensorFile } from './safetensors.js'

export interface Parameter {
  /** Name in the Hugging Face checkpoint. */
  name: string
  shape: number[]
  /** Weight decay applies: not to norms and biases. */
  decay: boolean
}

/** Every trained tensor of the model, in the order transformers lists them; a tied head is not listed. */
export function modelParameters(config: ModelConfig): Parameter[] {
  const { vocabSize, hiddenSize, layers, tiedEmbeddings } = config
  return [
    { name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize], decay: true },
    ...Array.from({ length: layers }, (_, layer) => layerParameters(config, `model.layers.${layer}.`)).flat(),
    norm('model.norm.weight', hiddenSize),
    ...(tiedEmbeddings ? [] : [{ name: 'lm_head.weight', shape: [vocabSize, hiddenSize], decay: true }]),
  ]
}

function layerParameters(config: ModelConfig, prefix: string): Parameter[] {
  const { hiddenSize, intermediateSize, headDim, attentionBias, outputBias, mlpBias } = config
  const queries = config.heads * headDim
  const keys = config.kvHeads * headDim
  const attention = `${prefix}self_attn.`
  const mlp = `${prefix}mlp.`
  return [
    ...linear(`${attention}q_proj`, queries, hiddenSize, attentionBias),
    ...linear(`${attention}k_proj`, keys, hiddenSize, attentionBias),
    ...linear(`${attention}v_proj`, keys, hiddenSize, attentionBias),
    ...linear(`${attention}o_proj`, hiddenSize, queries, outputBias),
    ...(config.qkNorm
      ? [norm(`${attention}q_norm.weight`, headDim), norm(`${attention}k_norm.weight`, headDim)]
      : []),
    ...linear(`${mlp}gate_proj`, intermediateSize, hiddenSize, mlpBias),
    ...linear(`${mlp}up_proj`, intermediateSize, hiddenSize, mlpBias),
    ...linear(`${mlp}down_proj`, hiddenSize, intermediateSize, mlpBias),
    norm(`${prefix}input_layernorm.weight`, hiddenSize),
    norm(`${prefix}post_attention_layernorm.weight`, hiddenSize),
  ]
}

function linear(name: string, rows: number, columns: number, bias: boolean): Parameter[] {
  const weight = { name: `${name}.weight`, shape: [rows, columns], decay: true }
  return bias ? [weight, { name: `${name}.bias`, shape: [rows], decay: false }] : [weight]
}

function norm(name: string, size: number): Parameter {
  return { name, shape: [size], decay: false }
}

/**
 * Checks that the file holds exactly the model's tensors. A tensor too many is refused as well, since leaving out a
 * bias would be wrong in silence. Throws DataError.
 */
export function checkParameters(config: ModelConfig, file: TensorFile): void {
  const parameters = modelParameters(config)
  const hint =
    'config.json and the weights do not belong together, or the weights are incomplete: download both again.'
  const missing = parameters.filter(({ name }) => !file.has(name))
  if (missing.length > 0) {
    throw new DataError(`The weights in ${file.folder} lack ${listed(missing.map(({ name }) => name))}.`, {
      hint,
    })
  }
  for (const { name, shape } of parameters) {
    const found = file.shape(name)
    if (found.length !== shape.length || found.some((size, i) => size !== shape[i])) {
      throw new DataError(
        `"${name}" in ${file.folder} has shape [${found}], but config.json asks for [${shape}].`,
        { hint },
      )
    }
  }
  const known = new Set(parameters.map(({ name }) => name))
  const unknown = file.names().filter((name) => !known.has(name) && !isRedundant(config, name))
  if (unknown.length > 0) {
    throw new DataError(
      `The weights in ${file.folder} hold ${listed(unknown)}, which the model does not use.`,
      { hint },
    )
  }
}

/** Tensors that older tools wrote although they follow from the rest. */
function isRedundant(config: ModelConfig, name: string): boolean {
  return name.endsWith('.rotary_emb.inv_freq') || (config.tiedEmbeddings && name === 'lm_head.weight')
}

function listed(names: string[]): string {
  const shown = names
    .slice(0, 3)
    .map((name) => `"${name}"`)
    .join(', ')
  return names.length > 3 ? `${shown} and ${names.length - 3} more tensors` : shown
}
