/**
 * The shapes of released models, and folders of random weights in them that stand in for what cannot be downloaded in a
 * test: a layer or two at full width, stored in bfloat16 and in shards, as the models are.
 *
 *     node dist/test/parity/shapes.js FOLDER && python test/parity/shapes.py FOLDER test/parity/released/fixtures/shapes.json
 *
 * writes them all, and the log-probabilities that transformers gives them.
 */
import { copyFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeRandomModel } from '../../bench/random-model.js'
import { projectRoot } from '../../src/core/paths.js'

export interface Shape {
  /** config.json of the model at the Hub, as far as it matters. */
  config: Record<string, unknown>
  /** eos_token_id of its generation_config.json. */
  ends: number | number[]
  /** Numbers in its weights, a tied head counted once. */
  parameters: number
}

const qwen = {
  hidden_act: 'silu',
  rms_norm_eps: 1e-6,
  rope_theta: 1e6,
  bos_token_id: 151643,
  vocab_size: 151936,
  tie_word_embeddings: true,
  use_sliding_window: false,
}
const qwen2 = {
  ...qwen,
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  max_position_embeddings: 32768,
  sliding_window: 32768,
  eos_token_id: 151645,
}
const qwen3 = {
  ...qwen,
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  max_position_embeddings: 40960,
  head_dim: 128,
  attention_bias: false,
  rope_scaling: null,
  sliding_window: null,
  eos_token_id: 151645,
}
const llama3 = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  rope_theta: 500000.0,
  rope_scaling: {
    factor: 32.0,
    high_freq_factor: 4.0,
    low_freq_factor: 1.0,
    original_max_position_embeddings: 8192,
    rope_type: 'llama3',
  },
  max_position_embeddings: 131072,
  attention_bias: false,
  mlp_bias: false,
  pretraining_tp: 1,
  vocab_size: 128256,
  bos_token_id: 128000,
  eos_token_id: [128001, 128008, 128009],
  tie_word_embeddings: true,
}
const distilled = {
  bos_token_id: 151646,
  eos_token_id: 151643,
  rope_theta: 10000,
  tie_word_embeddings: false,
}
const size = (
  hidden_size: number,
  intermediate_size: number,
  num_hidden_layers: number,
  num_attention_heads: number,
  num_key_value_heads: number,
) => ({ hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads })
const llama8 = {
  ...llama3,
  ...size(4096, 14336, 32, 32, 8),
  rope_scaling: { ...llama3.rope_scaling, factor: 8.0 },
  tie_word_embeddings: false,
}
const qwenEnds = [151645, 151643]
const llamaEnds = [128001, 128008, 128009]

export const shapes: Record<string, Shape> = {
  'Qwen2.5-0.5B': {
    config: { ...qwen2, ...size(896, 4864, 24, 14, 2) },
    ends: qwenEnds,
    parameters: 494032768,
  },
  'Qwen2.5-1.5B': {
    config: { ...qwen2, ...size(1536, 8960, 28, 12, 2) },
    ends: qwenEnds,
    parameters: 1543714304,
  },
  'Qwen3-0.6B': {
    config: { ...qwen3, ...size(1024, 3072, 28, 16, 8) },
    ends: qwenEnds,
    parameters: 596049920,
  },
  'Qwen3-1.7B': {
    config: { ...qwen3, ...size(2048, 6144, 28, 16, 8) },
    ends: qwenEnds,
    parameters: 1720574976,
  },
  'Qwen3-4B': {
    config: { ...qwen3, ...size(2560, 9728, 36, 32, 8) },
    ends: qwenEnds,
    parameters: 4022468096,
  },
  'Llama-3.2-1B': {
    config: { ...llama3, ...size(2048, 8192, 16, 32, 8), head_dim: 64 },
    ends: llamaEnds,
    parameters: 1235814400,
  },
  'Llama-3.2-3B': {
    config: { ...llama3, ...size(3072, 8192, 28, 24, 8), head_dim: 128 },
    ends: llamaEnds,
    parameters: 3212749824,
  },
  'Llama-3.1-8B': { config: llama8, ends: llamaEnds, parameters: 8030261248 },
  'DeepSeek-R1-Distill-Qwen-1.5B': {
    config: { ...qwen2, ...distilled, ...size(1536, 8960, 28, 12, 2), max_position_embeddings: 131072 },
    ends: 151643,
    parameters: 1777088000,
  },
  'DeepSeek-R1-Distill-Qwen-7B': {
    config: { ...qwen2, ...distilled, ...size(3584, 18944, 28, 28, 4), vocab_size: 152064 },
    ends: 151643,
    parameters: 7615616512,
  },
  'DeepSeek-R1-Distill-Llama-8B': {
    config: { ...llama8, eos_token_id: 128001 },
    ends: 128001,
    parameters: 8030261248,
  },
}

/** Those whose weights are made and scored; `large` on request only, since a disk takes a minute for a gigabyte. */
export const small = ['Qwen2.5-0.5B', 'Qwen3-0.6B', 'Llama-3.2-1B', 'DeepSeek-R1-Distill-Qwen-1.5B']
export const large = ['Qwen2.5-1.5B', 'Qwen3-1.7B', 'Qwen3-4B', 'DeepSeek-R1-Distill-Llama-8B']

/** Writes a model folder of random weights; layers and vocabulary are cut, widths are not. */
export async function writeStandIn(name: string, folder: string): Promise<void> {
  const { config, ends } = shapes[name]!
  const layers = Number(config.hidden_size) > 1024 ? 1 : 2
  const cut = { ...config, num_hidden_layers: layers, vocab_size: 2048 }
  await writeRandomModel(folder, { dtype: 'BF16', seed: 7, config: cut, maxShardBytes: 40e6 })
  writeFileSync(join(folder, 'generation_config.json'), JSON.stringify({ eos_token_id: ends }))
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) {
    copyFileSync(join(projectRoot(), 'models/tiny/base', file), join(folder, file))
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  for (const name of [...small, ...large]) await writeStandIn(name, join(process.argv[2]!, name))
}
