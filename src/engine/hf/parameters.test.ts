import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DataError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import { type ModelConfig, readModelConfig } from './config.js'
import { checkParameters, modelParameters } from './parameters.js'
import { openSafetensors, type TensorFile } from './safetensors.js'

const small: ModelConfig = {
  ...{
    architecture: 'llama',
    vocabSize: 11,
    hiddenSize: 8,
    intermediateSize: 12,
    layers: 1,
    heads: 4,
    kvHeads: 2,
  },
  ...{
    headDim: 2,
    normEpsilon: 1e-6,
    ropeTheta: 1e4,
    maxPosition: 64,
    tiedEmbeddings: false,
    eosIds: [],
    raw: {},
  },
  ...{ attentionBias: false, outputBias: false, mlpBias: false, qkNorm: false },
}

/** named_parameters() of models that transformers 5.24 built from the same sizes, layers shown as one. */
const references: [string, Partial<ModelConfig>, string][] = [
  [
    'Qwen3, tied',
    { architecture: 'qwen3', headDim: 6, tiedEmbeddings: true, qkNorm: true },
    `model.embed_tokens.weight 11x8, L.self_attn.q_proj.weight 24x8, L.self_attn.k_proj.weight 12x8,
     L.self_attn.v_proj.weight 12x8, L.self_attn.o_proj.weight 8x24, L.self_attn.q_norm.weight 6,
     L.self_attn.k_norm.weight 6, L.mlp.gate_proj.weight 12x8, L.mlp.up_proj.weight 12x8, L.mlp.down_proj.weight 8x12,
     L.input_layernorm.weight 8, L.post_attention_layernorm.weight 8, model.norm.weight 8`,
  ],
  [
    'Qwen2',
    { architecture: 'qwen2', attentionBias: true },
    `model.embed_tokens.weight 11x8, L.self_attn.q_proj.weight 8x8, L.self_attn.q_proj.bias 8,
     L.self_attn.k_proj.weight 4x8, L.self_attn.k_proj.bias 4, L.self_attn.v_proj.weight 4x8, L.self_attn.v_proj.bias 4,
     L.self_attn.o_proj.weight 8x8, L.mlp.gate_proj.weight 12x8, L.mlp.up_proj.weight 12x8, L.mlp.down_proj.weight 8x12,
     L.input_layernorm.weight 8, L.post_attention_layernorm.weight 8, model.norm.weight 8, lm_head.weight 11x8`,
  ],
  [
    'Llama with every bias',
    { attentionBias: true, outputBias: true, mlpBias: true },
    `model.embed_tokens.weight 11x8, L.self_attn.q_proj.weight 8x8, L.self_attn.q_proj.bias 8,
     L.self_attn.k_proj.weight 4x8, L.self_attn.k_proj.bias 4, L.self_attn.v_proj.weight 4x8, L.self_attn.v_proj.bias 4,
     L.self_attn.o_proj.weight 8x8, L.self_attn.o_proj.bias 8, L.mlp.gate_proj.weight 12x8, L.mlp.gate_proj.bias 12,
     L.mlp.up_proj.weight 12x8, L.mlp.up_proj.bias 12, L.mlp.down_proj.weight 8x12, L.mlp.down_proj.bias 8,
     L.input_layernorm.weight 8, L.post_attention_layernorm.weight 8, model.norm.weight 8, lm_head.weight 11x8`,
  ],
]

function fileOf(tensors: { name: string; shape: readonly number[] }[]): TensorFile {
  const shapes = new Map(tensors.map(({ name, shape }) => [name, shape]))
  return {
    folder: 'folder',
    names: () => [...shapes.keys()],
    has: (name) => shapes.has(name),
    shape: (name) => shapes.get(name)!,
    read: () => Promise.reject(new Error('not read here')),
    close: () => Promise.resolve(),
  }
}

describe('modelParameters', () => {
  it.each(references)('lists what transformers lists: %s', (_, changes, reference) => {
    const listed = modelParameters({ ...small, ...changes }).map(
      ({ name, shape }) => `${name} ${shape.join('x')}`,
    )
    expect(listed).toEqual(reference.split(/,\s+/).map((line) => line.replace(/^L\./, 'model.layers.0.')))
  })

  it('spares norms and biases from decay', () => {
    const config = { ...small, layers: 2, attentionBias: true, mlpBias: true, qkNorm: true }
    const spared = modelParameters(config).filter(({ decay }) => !decay)
    expect(spared.every(({ name, shape }) => shape.length === 1 && /norm|bias/.test(name))).toBe(true)
    expect(modelParameters(config).filter(({ shape }) => shape.length === 1)).toEqual(spared)
  })
})

describe('checkParameters', () => {
  const all = modelParameters(small)

  it('accepts the right tensors, and those that older tools add', () => {
    checkParameters(small, fileOf(all))
    checkParameters(
      small,
      fileOf([...all, { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', shape: [1] }]),
    )
    checkParameters({ ...small, tiedEmbeddings: true }, fileOf(all))
  })

  it('names what is missing', () => {
    expect(() => checkParameters(small, fileOf(all.slice(0, -1)))).toThrow(
      /in folder lack "lm_head.weight"\./,
    )
    const none = /lack "model.embed_tokens.weight", .* and 9 more tensors/
    expect(() => checkParameters(small, fileOf([]))).toThrow(none)
  })

  it('names the shape that is wrong, transposed and flattened included', () => {
    for (const shape of [[8, 12], [96], [12, 8, 1]]) {
      const wrong = all.map((tensor) =>
        tensor.name.endsWith('up_proj.weight') ? { ...tensor, shape } : tensor,
      )
      const check = () => checkParameters(small, fileOf(wrong))
      expect(check).toThrow(DataError)
      expect(check).toThrow(
        `"model.layers.0.mlp.up_proj.weight" in folder has shape [${shape}], but config.json asks for [12,8]`,
      )
    }
  })

  it('refuses a bias that the configuration does not know', () => {
    const more = [...all, { name: 'model.layers.0.self_attn.q_proj.bias', shape: [8] }]
    expect(() => checkParameters(small, fileOf(more))).toThrow(
      /hold "model.layers.0.self_attn.q_proj.bias", which/,
    )
  })

  const fixtures = join(projectRoot(), 'test', 'parity', 'fixtures')
  it.each(readdirSync(fixtures))('accepts the checkpoint %s, which transformers wrote', async (name) => {
    const folder = join(fixtures, name, 'model')
    const file = await openSafetensors(folder)
    checkParameters(await readModelConfig(folder), file)
    await file.close()
  })
})
