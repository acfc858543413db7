import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectRoot } from '../../core/paths.js'
import { type LocalEngine, openLocalEngine } from './index.js'

const model = join(projectRoot(), 'models', 'tiny')
let engine: LocalEngine
let folder: string
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
  folder = await mkdtemp(join(tmpdir(), 'sparring-store-'))
})
afterAll(async () => {
  await engine.close()
  await rm(folder, { recursive: true })
})

describe('a saved policy', () => {
  it('says that its weights are float32, whatever its source was', async () => {
    const policy = await engine.open({ model, seed: 0 })
    await policy.save(join(folder, 'whole'))
    const config = JSON.parse(await readFile(join(folder, 'whole', 'config.json'), 'utf8'))
    expect(config.torch_dtype).toBe('float32')
  })

  it('is not opened as an adapter of another shape', async () => {
    const lora = { rank: 2, alpha: 4, targets: ['q_proj'] }
    const policy = await engine.open({ model, seed: 0, lora })
    await policy.save(join(folder, 'adapter'))
    const open = (rank: number) =>
      engine.open({ model: join(folder, 'adapter'), seed: 0, lora: { ...lora, rank } })
    await expect(open(4)).rejects.toMatchObject({ code: 'config' })
    await expect(open(2)).resolves.toBeDefined()
  })
})

it('refuses completions without room for a token', async () => {
  const policy = await engine.open({ model, seed: 0 })
  const asked = policy.sample([{ prompt: Int32Array.of(1), n: 1, seed: 0 }], {
    maxTokens: 0,
    temperature: 1,
    topP: 1,
    topK: 0,
    stop: [],
  })
  await expect(asked.next()).rejects.toThrow(/maxTokens/)
})
