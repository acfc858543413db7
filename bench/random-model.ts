/**
 * Writes a model of random weights in the shape of Qwen2.5-0.5B, for measuring speed and memory where no checkpoint
 * can be downloaded:
 *
 *     node dist/bench/random-model.js FOLDER [--dtype bf16|f32] [--tokenizer FOLDER] [--seed N]
 *
 * `--tokenizer` names a folder with Qwen2.5's tokenizer.json and tokenizer_config.json, which may be gzipped and may
 * carry the prefix `qwen2_5-`. No more than one tensor is in memory at a time.
 */
import { existsSync, realpathSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { ConfigError, DataError, messageOf, SparringError } from '../src/core/errors.js'
import { readModelConfig } from '../src/engine/hf/config.js'
import { modelParameters } from '../src/engine/hf/parameters.js'
import { writeSafetensors } from '../src/engine/hf/safetensors.js'

export const qwen05 = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  hidden_size: 896,
  intermediate_size: 4864,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  vocab_size: 151936,
  max_position_embeddings: 32768,
  tie_word_embeddings: true,
  hidden_act: 'silu',
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  use_sliding_window: false,
  bos_token_id: 151643,
  eos_token_id: 151645,
}

export interface RandomModelOptions {
  dtype: 'BF16' | 'F32'
  tokenizer?: string | undefined
  seed: number
  /** config.json of the model. @default Qwen2.5-0.5B */
  config?: Record<string, unknown>
  /** Tensor bytes above which a further shard begins. */
  maxShardBytes?: number
}

/** Throws DataError where the tokenizer's folder lacks a file. */
export async function writeRandomModel(folder: string, options: RandomModelOptions): Promise<void> {
  const { dtype, tokenizer, seed, config = qwen05, maxShardBytes } = options
  await mkdir(folder, { recursive: true })
  const torchDtype = dtype === 'BF16' ? 'bfloat16' : 'float32'
  const text = JSON.stringify({ ...config, torch_dtype: torchDtype }, null, 2)
  await writeFile(join(folder, 'config.json'), `${text}\n`)
  if (tokenizer !== undefined) {
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
      await writeFile(join(folder, name), await readTokenizerFile(tokenizer, name))
    }
  }
  const parameters = modelParameters(await readModelConfig(folder))
  const tensors = parameters.map(({ name, shape }, i) => ({
    name,
    shape,
    data: () => randomTensor(name, shape, seed * parameters.length + i),
  }))
  await writeSafetensors(folder, tensors, { dtype, ...(maxShardBytes && { maxShardBytes }) })
}

async function readTokenizerFile(folder: string, name: string): Promise<Buffer> {
  for (const candidate of [name, `${name}.gz`, `qwen2_5-${name}`, `qwen2_5-${name}.gz`]) {
    const path = join(folder, candidate)
    if (!existsSync(path)) continue
    const bytes = await readFile(path)
    return candidate.endsWith('.gz') ? gunzipSync(bytes) : bytes
  }
  throw new DataError(`${folder} has no ${name}.`, { hint: 'Give a folder with the tokenizer of Qwen2.5.' })
}

/** Norms of 1; everything else uniform with the standard deviation of an initialisation, 0.02. */
function randomTensor(name: string, shape: number[], seed: number): Float32Array {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
  if (name.endsWith('norm.weight')) return values.fill(1)
  const scale = (0.02 * Math.sqrt(12)) / 2 ** 32
  // A xorshift generator: half a billion draws must take seconds, and nothing but their spread matters.
  let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bd1e995) | 1
  for (let i = 0; i < values.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    values[i] = state * scale
  }
  return values
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      dtype: { type: 'string', default: 'bf16' },
      tokenizer: { type: 'string' },
      seed: { type: 'string', default: '0' },
    },
  })
  const dtype = { bf16: 'BF16', f32: 'F32' }[values.dtype] as 'BF16' | 'F32' | undefined
  const [folder] = positionals
  if (!folder || !dtype) {
    throw new ConfigError('A folder and --dtype bf16 or f32 are needed.', {
      hint: 'node dist/bench/random-model.js FOLDER [--dtype bf16|f32] [--tokenizer FOLDER] [--seed N]',
    })
  }
  await writeRandomModel(folder, { dtype, tokenizer: values.tokenizer, seed: Number(values.seed) })
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  main().catch((error) => {
    console.error(messageOf(error))
    if (SparringError.isInstance(error) && error.hint) console.error(error.hint)
    process.exitCode = SparringError.isInstance(error) ? error.exitStatus : 1
  })
}
