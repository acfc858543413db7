/** config.json and generation_config.json of a model folder, read into what the engine needs to know. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DataError } from '../../core/errors.js'
import { Fields } from './fields.js'
import { type JsonObject, readJson } from './files.js'

export type Architecture = 'qwen3' | 'qwen2' | 'llama'

export type RopeScaling =
  | {
      type: 'llama3'
      factor: number
      lowFreqFactor: number
      highFreqFactor: number
      originalMaxPosition: number
    }
  | { type: 'linear'; factor: number }

export interface ModelConfig {
  architecture: Architecture
  /** Rows of the embedding, which is the size of the logits. */
  vocabSize: number
  hiddenSize: number
  intermediateSize: number
  layers: number
  heads: number
  kvHeads: number
  /** Width of one head; heads * headDim may differ from hiddenSize. */
  headDim: number
  normEpsilon: number
  ropeTheta: number
  ropeScaling?: RopeScaling
  maxPosition: number
  /** The output head is the embedding matrix. */
  tiedEmbeddings: boolean
  /** Biases of q_proj, k_proj and v_proj. */
  attentionBias: boolean
  /** Bias of o_proj. */
  outputBias: boolean
  /** Biases of gate_proj, up_proj and down_proj. */
  mlpBias: boolean
  /** RMS norms over each head of queries and keys. */
  qkNorm: boolean
  /** Ids that end a text, of generation_config.json and config.json together. */
  eosIds: number[]
  bosId?: number
  /** config.json as read. */
  raw: JsonObject
}

const architectures: Record<string, Architecture> = {
  Qwen3ForCausalLM: 'qwen3',
  Qwen2ForCausalLM: 'qwen2',
  LlamaForCausalLM: 'llama',
}

/** Far above every model there is: lists as long are made before the weights show that a count is wrong. */
const mostTokens = 2 ** 22
const mostLayers = 10_000

/** Reads and checks the configuration of a Hugging Face model folder. Throws DataError. */
export async function readModelConfig(folder: string): Promise<ModelConfig> {
  const path = join(folder, 'config.json')
  const raw = await readJson(path)
  if (raw === undefined) throw await missing(folder)
  const fields = new Fields(path, raw)
  const generationPath = join(folder, 'generation_config.json')
  const generation = new Fields(generationPath, (await readJson(generationPath)) ?? {})

  const architecture = readArchitecture(fields)
  refuseUnsupported(fields)
  const hiddenSize = fields.count('hidden_size')
  const heads = fields.count('num_attention_heads')
  const kvHeads = fields.count('num_key_value_heads', heads)
  if (heads % kvHeads !== 0) {
    throw fields.refuse('num_key_value_heads', `it does not divide the ${heads} heads`, 'Correct the value.')
  }
  const headDim = fields.count('head_dim', hiddenSize / heads)
  if (headDim % 2 !== 0) {
    const key = fields.has('head_dim') ? 'head_dim' : 'hidden_size'
    throw fields.refuse(key, `a head would be ${headDim} wide, which must be even`, 'Correct the value.')
  }
  const maxPosition = fields.count('max_position_embeddings', 2048)
  const bias = architecture !== 'qwen2' && fields.flag('attention_bias', false)
  const bosId = fields.ids('bos_token_id')[0]
  return {
    architecture,
    vocabSize: fields.count('vocab_size', undefined, mostTokens),
    hiddenSize,
    intermediateSize: fields.count('intermediate_size'),
    layers: fields.count('num_hidden_layers', undefined, mostLayers),
    heads,
    kvHeads,
    headDim,
    normEpsilon: fields.positive('rms_norm_eps', 1e-6),
    ...readRope(fields, maxPosition),
    maxPosition,
    tiedEmbeddings: fields.flag('tie_word_embeddings', false),
    attentionBias: architecture === 'qwen2' || bias,
    outputBias: bias,
    mlpBias: architecture === 'llama' && fields.flag('mlp_bias', false),
    qkNorm: architecture === 'qwen3',
    eosIds: [...new Set([...generation.ids('eos_token_id'), ...fields.ids('eos_token_id')])],
    ...(bosId === undefined ? {} : { bosId }),
    raw,
  }
}

async function missing(folder: string): Promise<DataError> {
  const isFolder = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    return new DataError(`There is no model folder ${folder}.`, {
      hint: 'Give the path of a model in Hugging Face form; a model of the Hub must be downloaded first.',
    })
  }
  return new DataError(`${folder} has no config.json.`, {
    hint: 'Give a model folder in Hugging Face form: config.json, tokenizer.json and weights in safetensors form.',
  })
}

function readArchitecture(fields: Fields): Architecture {
  const supported = `Supported are ${Object.keys(architectures).join(', ')}.`
  const [name] = fields.texts('architectures', [])
  if (name === undefined) {
    const type = fields.text('model_type')
    const found = Object.values(architectures).find((architecture) => architecture === type)
    if (!found) throw fields.refuse('model_type', 'this architecture is not supported', supported)
    return found
  }
  if (!Object.hasOwn(architectures, name)) {
    throw fields.refuse('architectures', 'this architecture is not supported', supported)
  }
  return architectures[name]!
}

function refuseUnsupported(fields: Fields): void {
  if (fields.flag('use_sliding_window', false)) {
    throw fields.refuse(
      'use_sliding_window',
      'sliding-window attention is not supported',
      'Use a model with full attention.',
    )
  }
  if (fields.texts('layer_types', []).some((type) => type !== 'full_attention')) {
    throw fields.refuse('layer_types', 'only full_attention is supported', 'Use a model with full attention.')
  }
  if (fields.text('hidden_act', 'silu') !== 'silu') {
    throw fields.refuse('hidden_act', 'only silu is supported', 'Use a model with SwiGLU layers.')
  }
  if (fields.has('quantization_config')) {
    throw new DataError(`${fields.path} describes quantised weights, which cannot be trained.`, {
      hint: 'Use the original checkpoint in float32, float16 or bfloat16.',
    })
  }
}

/** Both the older keys rope_theta and rope_scaling and the newer object rope_parameters. */
function readRope(fields: Fields, maxPosition: number): Pick<ModelConfig, 'ropeTheta' | 'ropeScaling'> {
  const rope =
    fields.object('rope_scaling') ?? fields.object('rope_parameters') ?? new Fields(fields.path, {})
  const ropeTheta = rope.positive('rope_theta', fields.positive('rope_theta', 10000))
  for (const place of [rope, fields]) {
    if (place.positive('partial_rotary_factor', 1) !== 1) {
      throw place.refuse('partial_rotary_factor', 'only whole heads can be rotated', 'Use another model.')
    }
  }
  const key = rope.has('rope_type') ? 'rope_type' : 'type'
  const type = rope.text(key, 'default')
  if (type === 'default') return { ropeTheta }
  const factor = rope.positive('factor')
  if (type === 'linear') return { ropeTheta, ropeScaling: { type, factor } }
  if (type !== 'llama3') {
    throw rope.refuse(
      key,
      'this scaling of positions is not supported',
      'Supported are default, linear and llama3.',
    )
  }
  const lowFreqFactor = rope.positive('low_freq_factor')
  const highFreqFactor = rope.positive('high_freq_factor')
  if (highFreqFactor <= lowFreqFactor) {
    throw rope.refuse(
      'high_freq_factor',
      `it must be above low_freq_factor ${lowFreqFactor}`,
      'Correct the value.',
    )
  }
  const originalMaxPosition = rope.count('original_max_position_embeddings', maxPosition)
  return { ropeTheta, ropeScaling: { type, factor, lowFreqFactor, highFreqFactor, originalMaxPosition } }
}
