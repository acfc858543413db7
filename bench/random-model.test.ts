import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { readSafetensors } from '../test/support/safetensors.js'
import { qwen05, writeRandomModel } from './random-model.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-random-model-'))
afterAll(() => rmSync(folder, { recursive: true }))

const config = { ...qwen05, hidden_size: 56, intermediate_size: 80, num_hidden_layers: 2, vocab_size: 300 }

describe('the random model', () => {
  it.each(['BF16', 'F32'] as const)(
    'has every tensor of its architecture, in %s, of random spread',
    async (dtype) => {
      const target = join(folder, dtype)
      await writeRandomModel(target, { dtype, seed: 1, config })
      const tensors = readSafetensors(join(target, 'model.safetensors'))
      // Embedding and final norm; 3 biased and 4 plain linear layers and 2 norms a layer.
      expect(tensors.size).toBe(2 + 2 * (3 * 2 + 4 + 2))
      for (const [name, tensor] of tensors) {
        expect(tensor.dtype).toBe(dtype)
        const spread = Math.sqrt(tensor.values.reduce((sum, v) => sum + v * v, 0) / tensor.values.length)
        if (name.endsWith('norm.weight')) expect(new Set(tensor.values)).toEqual(new Set([1]))
        else if (tensor.values.length > 1000) expect(spread).toBeCloseTo(0.02, 3)
      }
      const rows = [
        tensors.get('model.layers.0.mlp.up_proj.weight'),
        tensors.get('model.layers.1.mlp.up_proj.weight'),
      ]
      expect(rows[0]!.values).not.toEqual(rows[1]!.values)
    },
  )

  it('unpacks the tokenizer, and names what the folder lacks', async () => {
    const [source, target] = [mkdtempSync(join(folder, 'tokenizer-')), join(folder, 'with-tokenizer')]
    writeFileSync(join(source, 'qwen2_5-tokenizer.json.gz'), gzipSync('{"a":1}'))
    const options = { dtype: 'BF16', seed: 1, config, tokenizer: source } as const
    await expect(writeRandomModel(target, options)).rejects.toThrow(/tokenizer_config\.json/)
    writeFileSync(join(source, 'qwen2_5-tokenizer_config.json'), '{}')
    await writeRandomModel(target, options)
    expect(readFileSync(join(target, 'tokenizer.json'), 'utf8')).toBe('{"a":1}')
  })
})
