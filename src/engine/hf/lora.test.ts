import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { ConfigError, DataError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import { readModelConfig } from './config.js'
import { isAdapter, loraPairs, loraTargets, openAdapter, readAdapterConfig, writeAdapter } from './lora.js'

const fixtures = join(projectRoot(), 'test', 'parity', 'fixtures')
const config = await readModelConfig(join(fixtures, 'qwen3-tied', 'model'))
const spec = { rank: 3, alpha: 6, targets: ['q_proj', 'down_proj'] }

function tensorsOf(rank = spec.rank) {
  const shapes = loraPairs(config, { ...spec, rank }).flatMap(({ a, b }) => [a, b])
  return shapes.map(({ name, shape }, i) => ({
    name,
    shape,
    data: new Float32Array(shape[0]! * shape[1]!).fill(i),
  }))
}

describe('loraPairs', () => {
  it('names and shapes the tensors as PEFT does', () => {
    const { hiddenSize, heads, headDim, layers } = config
    const pairs = loraPairs(config, spec)
    expect(pairs).toHaveLength(2 * layers)
    const prefix = 'base_model.model.model.layers.0.self_attn.q_proj'
    expect(pairs[0]).toEqual({
      weight: 'model.layers.0.self_attn.q_proj.weight',
      a: { name: `${prefix}.lora_A.weight`, shape: [3, hiddenSize] },
      b: { name: `${prefix}.lora_B.weight`, shape: [heads * headDim, 3] },
    })
  })

  it('refuses a target that is no linear layer', () => {
    expect(() => loraPairs(config, { ...spec, targets: ['q_prj'] })).toThrow(ConfigError)
    expect(() => loraPairs(config, { ...spec, targets: ['lm_head'] })).toThrow(
      /"lm_head" is not a linear layer/,
    )
  })
})

describe('adapters on disk', () => {
  it('come back as they were written', async () => {
    const folder = temporaryFolder()
    await writeAdapter(folder, { spec, baseModel: 'some/model' }, tensorsOf())
    expect(readdirSync(folder).sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
    const adapter = await openAdapter(folder, config)
    expect(adapter).toMatchObject({ spec, baseModel: 'some/model' })
    for (const { name, data } of tensorsOf()) expect(await adapter.tensors.read(name)).toEqual(data)
    await adapter.tensors.close()
    expect(await isAdapter(folder)).toBe(true)
    expect(await isAdapter(join(fixtures, 'qwen3-tied', 'model'))).toBe(false)
  })

  it.each(readdirSync(fixtures))('%s, whose tensors PyTorch wrote, is accepted', async (name) => {
    const model = await readModelConfig(join(fixtures, name, 'model'))
    const adapter = await openAdapter(join(fixtures, name, 'adapter'), model)
    const { rank } = adapter.spec
    const [first] = loraPairs(model, adapter.spec)
    expect(await adapter.tensors.read(first!.a.name)).toHaveLength(rank * first!.a.shape[1]!)
    await adapter.tensors.close()
  })

  it('must belong to the model', async () => {
    const folder = temporaryFolder()
    const all = tensorsOf()
    await writeAdapter(folder, { spec, baseModel: '' }, all.slice(1))
    await expect(openAdapter(folder, config)).rejects.toThrow(`lacks "${all[0]!.name}"`)
    await writeAdapter(folder, { spec, baseModel: '' }, tensorsOf(4))
    await expect(openAdapter(folder, config)).rejects.toThrow(
      /has shape \[4,\d+\], but the model asks for \[3,\d+\]/,
    )
    await writeAdapter(folder, { spec, baseModel: '' }, [...all, { ...all[0]!, name: 'other' }])
    await expect(openAdapter(folder, config)).rejects.toThrow(/holds "other"/)
  })
})

describe('readAdapterConfig', () => {
  const good = { peft_type: 'LORA', r: 8, lora_alpha: 16, target_modules: ['v_proj'], bias: 'none' }

  function folderWith(changes: object): string {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ ...good, ...changes }))
    return folder
  }

  it('accepts the many empty settings that PEFT writes', async () => {
    const empty = {
      rank_pattern: {},
      alpha_pattern: {},
      modules_to_save: null,
      use_dora: false,
      lora_dropout: 0.1,
    }
    const found = await readAdapterConfig(folderWith(empty))
    expect(found).toEqual({ spec: { rank: 8, alpha: 16, targets: ['v_proj'] }, baseModel: '' })
    const all = await readAdapterConfig(folderWith({ target_modules: 'all-linear' }))
    expect(all.spec.targets).toEqual(loraTargets)
  })

  it.each([
    ['another kind', { peft_type: 'IA3' }, /peft_type to "IA3"/],
    ['DoRA', { use_dora: true }, /use_dora to true/],
    ['another scale', { use_rslora: true }, /use_rslora/],
    ['biases', { bias: 'all' }, /bias to "all"/],
    ['whole modules', { modules_to_save: ['lm_head'] }, /modules_to_save to \["lm_head"\]/],
    ['ranks by layer', { rank_pattern: { q_proj: 2 } }, /rank_pattern/],
    ['some layers only', { layers_to_transform: 3 }, /layers_to_transform to 3/],
    ['other modules', { target_modules: ['embed_tokens'] }, /target_modules/],
    ['a pattern of modules', { target_modules: '.*proj' }, /target_modules to ".\*proj"/],
    ['no rank', { r: undefined }, /has no r\./],
  ])('refuses %s', async (_, changes, message) => {
    const failed = readAdapterConfig(folderWith(changes))
    await expect(failed).rejects.toThrow(DataError)
    await expect(failed).rejects.toThrow(message)
  })

  it('says that there is none', async () => {
    await expect(readAdapterConfig(temporaryFolder())).rejects.toThrow(/has no adapter_config.json/)
  })

  it('is written as JSON that names what PEFT needs', async () => {
    const folder = temporaryFolder()
    await writeAdapter(folder, { spec, baseModel: 'some/model' }, [])
    const written = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'))
    expect(written).toMatchObject({
      peft_type: 'LORA',
      task_type: 'CAUSAL_LM',
      r: 3,
      lora_alpha: 6,
      bias: 'none',
    })
  })
})
