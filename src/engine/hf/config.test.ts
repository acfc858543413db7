import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { DataError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import { readModelConfig } from './config.js'

const qwen3 = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  vocab_size: 151936,
  hidden_size: 1024,
  intermediate_size: 3072,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  hidden_act: 'silu',
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  rope_scaling: null,
  max_position_embeddings: 40960,
  tie_word_embeddings: true,
  attention_bias: false,
  sliding_window: null,
  use_sliding_window: false,
  bos_token_id: 151643,
  eos_token_id: 151645,
}
const llama = {
  architectures: ['LlamaForCausalLM'],
  vocab_size: 32000,
  hidden_size: 64,
  intermediate_size: 172,
  num_hidden_layers: 2,
  num_attention_heads: 8,
}
const scaling = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 }
const ropeScaling = {
  type: 'llama3',
  factor: 8,
  lowFreqFactor: 1,
  highFreqFactor: 4,
  originalMaxPosition: 8192,
}

function folderWith(config: unknown, generation?: unknown): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  if (generation) writeFileSync(join(folder, 'generation_config.json'), JSON.stringify(generation))
  return folder
}

describe('readModelConfig', () => {
  it('reads Qwen3', async () => {
    const folder = folderWith(qwen3, { eos_token_id: [151645, 151643], do_sample: true })
    expect(await readModelConfig(folder)).toEqual({
      architecture: 'qwen3',
      vocabSize: 151936,
      hiddenSize: 1024,
      intermediateSize: 3072,
      layers: 28,
      heads: 16,
      kvHeads: 8,
      headDim: 128,
      normEpsilon: 1e-6,
      ropeTheta: 1e6,
      maxPosition: 40960,
      tiedEmbeddings: true,
      attentionBias: false,
      outputBias: false,
      mlpBias: false,
      qkNorm: true,
      eosIds: [151645, 151643],
      bosId: 151643,
      raw: qwen3,
    })
  })

  it('gives Qwen2 biases on queries, keys and values only, whatever attention_bias says', async () => {
    const config = { ...qwen3, architectures: ['Qwen2ForCausalLM'], head_dim: null, sliding_window: 131072 }
    expect(await readModelConfig(folderWith(config))).toMatchObject({
      ...{ architecture: 'qwen2', attentionBias: true, outputBias: false, mlpBias: false },
      ...{ headDim: 64, qkNorm: false, eosIds: [151645] },
    })
  })

  it('reads a spare Llama configuration with the defaults of transformers', async () => {
    const config = await readModelConfig(folderWith(llama))
    expect(config).toMatchObject({
      ...{
        architecture: 'llama',
        kvHeads: 8,
        headDim: 8,
        normEpsilon: 1e-6,
        ropeTheta: 10000,
        maxPosition: 2048,
      },
      ...{ tiedEmbeddings: false, attentionBias: false, outputBias: false, mlpBias: false, eosIds: [] },
    })
    expect(config).not.toHaveProperty('bosId')
    expect(config).not.toHaveProperty('ropeScaling')
  })

  it('reads the biases of Llama', async () => {
    const config = await readModelConfig(folderWith({ ...llama, attention_bias: true, mlp_bias: true }))
    expect(config).toMatchObject({ attentionBias: true, outputBias: true, mlpBias: true, qkNorm: false })
  })

  it('takes the architecture from model_type where no class is named', async () => {
    const { architectures: _, ...rest } = qwen3
    expect(await readModelConfig(folderWith(rest))).toMatchObject({ architecture: 'qwen3' })
  })

  it.each([
    ['older keys', { rope_theta: 5e5, rope_scaling: { ...scaling, rope_type: 'llama3' } }],
    ['the oldest name of the type', { rope_theta: 5e5, rope_scaling: { ...scaling, type: 'llama3' } }],
    [
      'rope_parameters',
      { rope_scaling: null, rope_parameters: { ...scaling, rope_type: 'llama3', rope_theta: 5e5 } },
    ],
  ])('reads the scaling of positions from %s', async (_, keys) => {
    const config = await readModelConfig(folderWith({ ...llama, ...keys }))
    expect(config).toMatchObject({ ropeTheta: 5e5, ropeScaling })
  })

  it('reads linear and default scaling, and the fallback of the original length', async () => {
    const linear = { rope_scaling: { type: 'linear', factor: 4 } }
    expect((await readModelConfig(folderWith({ ...llama, ...linear }))).ropeScaling).toEqual({
      type: 'linear',
      factor: 4,
    })
    const plain = { rope_parameters: { rope_type: 'default', rope_theta: 7 } }
    const config = await readModelConfig(folderWith({ ...llama, ...plain }))
    expect(config.ropeTheta).toBe(7)
    expect(config.ropeScaling).toBeUndefined()
    const { original_max_position_embeddings: _, ...short } = scaling
    const fallback = { rope_scaling: { ...short, rope_type: 'llama3' }, max_position_embeddings: 4096 }
    expect((await readModelConfig(folderWith({ ...llama, ...fallback }))).ropeScaling).toMatchObject({
      originalMaxPosition: 4096,
    })
  })

  it.each([
    ['more tokens than can be', { vocab_size: 1e9 }, /vocab_size to 1000000000: it must be at most/],
    ['more layers than can be', { num_hidden_layers: 1e9 }, /num_hidden_layers to 1000000000/],
    ['a number as a string', { hidden_size: '64' }, /hidden_size to "64": it must be a whole number/],
    ['a fraction', { num_hidden_layers: 1.5 }, /num_hidden_layers to 1.5/],
    ['zero', { vocab_size: 0 }, /vocab_size to 0/],
    ['a missing key', { intermediate_size: undefined }, /has no intermediate_size/],
    [
      'a flag that is none',
      { tie_word_embeddings: 'yes' },
      /tie_word_embeddings to "yes": it must be true or false/,
    ],
    [
      'another architecture',
      { architectures: ['GPT2LMHeadModel'] },
      /\["GPT2LMHeadModel"\]: this architecture is not supported/,
    ],
    ['a name of the prototype', { architectures: ['constructor'] }, /not supported/],
    ['no architecture', { architectures: undefined }, /has no model_type/],
    ['an unknown model type', { architectures: null, model_type: 'gpt2' }, /model_type to "gpt2"/],
    ['sliding windows', { use_sliding_window: true }, /sliding-window attention is not supported/],
    ['sliding layers', { layer_types: ['full_attention', 'sliding_attention'] }, /only full_attention/],
    ['another activation', { hidden_act: 'gelu' }, /hidden_act to "gelu": only silu/],
    ['quantised weights', { quantization_config: { bits: 4 } }, /quantised/],
    ['heads that do not divide', { num_key_value_heads: 3 }, /does not divide the 8 heads/],
    ['heads of odd width', { head_dim: 7 }, /7 wide, which must be even/],
    ['heads of broken width', { num_attention_heads: 7, num_key_value_heads: 7 }, /9\.14\d* wide/],
    [
      'another scaling',
      { rope_scaling: { rope_type: 'yarn', factor: 4 } },
      /rope_scaling.rope_type to "yarn"/,
    ],
    ['scaling without factor', { rope_scaling: { type: 'linear' } }, /has no rope_scaling.factor/],
    [
      'scaling turned around',
      { rope_scaling: { ...scaling, type: 'llama3', low_freq_factor: 4 } },
      /high_freq_factor/,
    ],
    ['partial rotation', { rope_parameters: { partial_rotary_factor: 0.5 } }, /partial_rotary_factor to 0.5/],
    ['a broken end id', { eos_token_id: [2, 'x'] }, /eos_token_id to \[2,"x"\]/],
  ])('refuses %s', async (_, keys, message) => {
    const failed = readModelConfig(folderWith({ ...llama, ...keys }))
    await expect(failed).rejects.toThrow(DataError)
    await expect(failed).rejects.toThrow(message)
  })

  it('names the supported architectures', async () => {
    const failed = readModelConfig(folderWith({ ...llama, architectures: ['MambaForCausalLM'] }))
    const hint = 'Supported are Qwen3ForCausalLM, Qwen2ForCausalLM, LlamaForCausalLM.'
    await expect(failed).rejects.toMatchObject({ hint })
  })

  it('says what is missing', async () => {
    const folder = temporaryFolder()
    await expect(readModelConfig(join(folder, 'none'))).rejects.toThrow(/There is no model folder .*none/)
    await expect(readModelConfig(folder)).rejects.toThrow(/has no config.json/)
    writeFileSync(join(folder, 'config.json'), '{"a"')
    await expect(readModelConfig(folder)).rejects.toThrow(/config.json is not valid JSON/)
    writeFileSync(join(folder, 'config.json'), '[]')
    await expect(readModelConfig(folder)).rejects.toThrow(/does not hold a JSON object/)
    await expect(readModelConfig(join(projectRoot(), 'package.json'))).rejects.toThrow(DataError)
  })
})
