/** What an export holds, and that it scores as PyTorch scores the model that it was made of. exported.py asks transformers and peft. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, DataError } from '../../src/core/errors.js'
import type { Engine } from '../../src/engine/engine.js'
import { addProduct, exportWeights } from '../../src/engine/hf/export.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { temporaryFolder } from '../support/folders.js'
import { readSafetensorsFolder } from '../support/safetensors.js'
import { largestDifference } from '../support/sampling.js'
import { exportReference, scoresOf } from './exported.js'
import { checkpoints, type Reference, reference } from './reference.js'

let engine: Engine
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
})
afterAll(() => engine.close())

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const fullScores = ({ sequences, logprobs }: Reference) =>
  sequences.map(({ targets }, i) => {
    const size = logprobs[i]!.length / targets.length
    return Array.from(targets, (target, t) => logprobs[i]![t * size + target]!)
  })

describe.each(checkpoints)('%s, exported', (name) => {
  const stored = reference(name)

  it.each([
    ['folder', fullScores(stored)],
    ['peft', stored.adapterLogprobs],
    ['merged', stored.adapterLogprobs],
  ] as const)('as %s, scores as transformers does', async (form, expected) => {
    const to = join(temporaryFolder(), 'out')
    expect(await exportReference(stored, form, to)).toMatchObject({ form })
    const scores = await scoresOf(engine, to, stored)
    for (const [i, each] of scores.entries()) expect(largestDifference(each, expected[i]!)).toBeLessThan(1e-4)
    const tensors = readSafetensorsFolder(to, form === 'peft' ? 'adapter_model' : 'model')
    expect(new Set([...tensors.values()].map(({ dtype }) => dtype))).toEqual(new Set(['F32']))
    expect(existsSync(`${to}.partial`)).toBe(false)
  })

  it('holds the names, the type and the settings that other tools look for', async () => {
    const to = join(temporaryFolder(), 'out')
    await exportReference(stored, 'merged', to, 'BF16')
    const tensors = readSafetensorsFolder(to, 'model')
    expect([...tensors.keys()].sort()).toEqual(
      [...readSafetensorsFolder(stored.model, 'model').keys()].sort(),
    )
    expect(new Set([...tensors.values()].map(({ dtype }) => dtype))).toEqual(new Set(['BF16']))
    const { dtype, torch_dtype = dtype } = json(join(to, 'config.json'))
    expect(torch_dtype).toBe('bfloat16')
    expect(readdirSync(to)).toEqual(
      expect.arrayContaining(['generation_config.json', 'tokenizer.json', 'tokenizer_config.json']),
    )
    expect(readdirSync(to).filter((file) => /adapter|policy|optimizer|index/.test(file))).toEqual([])
  })

  it('names the model that an adapter stands on', async () => {
    const to = join(temporaryFolder(), 'out')
    await exportReference(stored, 'peft', to)
    expect(readdirSync(to).sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
    expect(json(join(to, 'adapter_config.json'))).toMatchObject({
      peft_type: 'LORA',
      base_model_name_or_path: resolve(stored.model),
      r: 4,
      lora_alpha: 8,
    })
  })
})

describe('an export', () => {
  const stored = reference('qwen3-tied')

  it('takes the form that the weights have, and no other', async () => {
    const to = join(temporaryFolder(), 'out')
    await expect(exportWeights(stored.model, to, { form: 'peft' })).rejects.toThrow(
      /holds full weights, which cannot be exported as peft/,
    )
    await expect(exportWeights(stored.adapter, to, { form: 'folder' })).rejects.toThrow(
      /holds an adapter, which cannot be exported as folder/,
    )
    expect(existsSync(to)).toBe(false)
    expect(await exportWeights(stored.model, to)).toEqual({ form: 'folder' })
    expect(await exportWeights(stored.adapter, join(to, 'adapter'))).toMatchObject({ form: 'peft' })
  })

  it('never overwrites, unless it is told to and finds an earlier export', async () => {
    const to = join(temporaryFolder(), 'out')
    await exportReference(stored, 'merged', to)
    await expect(exportReference(stored, 'peft', to)).rejects.toThrow(ConfigError)
    writeFileSync(join(to, 'notes.txt'), 'mine')
    await exportWeights(stored.adapter, to, { form: 'peft', force: true })
    expect(readdirSync(to)).toEqual(
      expect.arrayContaining(['adapter_config.json', 'adapter_model.safetensors', 'notes.txt']),
    )
    expect(readdirSync(to).filter((file) => /^(config\.json|model)/.test(file))).toEqual([])

    writeFileSync(join(to, 'policy.json'), '{}')
    await expect(exportWeights(stored.adapter, to, { force: true })).rejects.toThrow(/a run or a checkpoint/)
    const other = temporaryFolder()
    writeFileSync(join(other, 'thesis.tex'), '')
    await expect(exportWeights(stored.adapter, other, { force: true })).rejects.toThrow(/holds no model/)
  })

  it('says that the model of an adapter is gone', async () => {
    const lost = temporaryFolder()
    const config = json(join(stored.adapter, 'adapter_config.json'))
    writeFileSync(
      join(lost, 'adapter_config.json'),
      JSON.stringify({ ...config, base_model_name_or_path: '../gone' }),
    )
    const failed = exportWeights(lost, join(lost, 'out'), { form: 'merged' })
    await expect(failed).rejects.toThrow(DataError)
    await expect(failed).rejects.toThrow(/stands on the model .*gone, which is not there/)
  })

  it('of an adapter alone asks for no model', async () => {
    const alone = temporaryFolder()
    const config = json(join(stored.adapter, 'adapter_config.json'))
    const named = { ...config, base_model_name_or_path: 'some/model', revision: 'v2' }
    writeFileSync(join(alone, 'adapter_config.json'), JSON.stringify(named))
    copyFileSync(join(stored.adapter, 'adapter_model.safetensors'), join(alone, 'adapter_model.safetensors'))
    const to = join(alone, 'out')
    expect(await exportWeights(alone, to)).toEqual({ form: 'peft', base: 'some/model' })
    expect(json(join(to, 'adapter_config.json'))).toMatchObject({
      base_model_name_or_path: 'some/model',
      revision: 'v2',
    })
    expect(readSafetensorsFolder(to, 'adapter_model')).toEqual(
      readSafetensorsFolder(stored.adapter, 'adapter_model'),
    )
    await expect(exportWeights(alone, join(alone, 'x'), { form: 'merged' })).rejects.toMatchObject({
      hint: 'If it is one of the Hub, fetch it: sparring pull some/model.',
    })
  })

  it('leaves nothing half-written', async () => {
    const broken = temporaryFolder()
    mkdirSync(join(broken, 'model'))
    for (const file of ['config.json', 'tokenizer.json']) {
      writeFileSync(join(broken, 'model', file), readFileSync(join(stored.model, file)))
    }
    const bytes = readFileSync(join(stored.model, 'model.safetensors'))
    writeFileSync(join(broken, 'model/model.safetensors'), bytes.subarray(0, bytes.length - 4))
    await expect(exportWeights(join(broken, 'model'), join(broken, 'out'))).rejects.toThrow(DataError)
    expect(readdirSync(broken)).toEqual(['model'])
  })
})

describe('addProduct', () => {
  it('adds scale B A', () => {
    const w = Float32Array.of(1, 2, 3, 4, 5, 6)
    const a = Float32Array.of(1, 0, 2, 0, 1, -1)
    const b = Float32Array.of(1, 2, -3, 0.5)
    expect([...addProduct(w, a, b, 2, 2)]).toEqual([3, 6, 3, -2, 6, -7])
  })
})
