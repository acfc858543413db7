import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { largestDifference } from '../../../test/support/sampling.js'
import { type Dialect, startTinkerServer } from '../../../test/tinker-server/index.js'
import { CheckpointError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import { profiles } from '../../tinker/profile.js'
import type { Engine } from '../engine.js'
import { exportWeights } from '../hf/export.js'
import { openLocalEngine } from '../local/index.js'
import { fetchAdapter } from './fetch.js'
import { openTinkerEngine } from './index.js'

const model = join(projectRoot(), 'test/parity/fixtures/qwen2-untied/model')
const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
const sequence = {
  tokens: Int32Array.from([3, 14, 15, 9, 26, 5, 35, 8]),
  targets: Int32Array.from([14, 15, 9, 26, 5, 35, 8, 9]),
}
const adam = { learningRate: 0.02, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 0 }

const key = process.env.TINKER_API_KEY
let local: Engine
beforeAll(async () => {
  process.env.TINKER_API_KEY = 'tml-test'
  local = await openLocalEngine({ threads: 1 })
})
afterAll(async () => {
  await local.close()
  if (key === undefined) delete process.env.TINKER_API_KEY
  else process.env.TINKER_API_KEY = key
})

/** A policy trained for a step on a server, its checkpoint, and what it gives the sequence. */
async function trained(dialect: Dialect) {
  const server = await startTinkerServer({ dialect, models: { fixture: model } })
  onTestFinished(() => server.close())
  const engine = openTinkerEngine({ url: server.url })
  const policy = await engine.open({
    model,
    lora: { rank: 4, alpha: profiles[dialect].alpha(4), targets },
    seed: 7,
  })
  const weights = new Float32Array(sequence.tokens.length).fill(1)
  await policy.forwardBackward([{ ...sequence, weights }], { name: 'cross_entropy' })
  await policy.optimStep(adam)
  const checkpoint = join(temporaryFolder(), 'role')
  await policy.save(checkpoint)
  const [scores] = await policy.logprobs([sequence])
  await policy.close()
  await engine.close()
  return { checkpoint, scores: scores! }
}

describe('the adapter of a policy on a server', () => {
  it.each(['hosted', 'skyrl', 'tuft'] as const)(
    '%s: is fetched, and merged scores as it did there',
    async (dialect) => {
      const { checkpoint, scores } = await trained(dialect)
      const to = join(temporaryFolder(), 'fetched')
      const names = await fetchAdapter(checkpoint, to)
      expect(readdirSync(to).sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
      expect(names).toEqual([model, 'fixture'])

      const merged = join(temporaryFolder(), 'merged')
      await exportWeights(to, merged, { form: 'merged', base: names[0] })
      const policy = await local.open({ model: merged, seed: 0 })
      const [exported] = await policy.logprobs([sequence])
      expect(largestDifference(exported!, scores)).toBeLessThan(1e-4)
      await policy.close()
      const start = await local.open({ model, seed: 0 })
      const [before] = await start.logprobs([sequence])
      expect(largestDifference(before!, scores)).toBeGreaterThan(0.01)
      await start.close()

      const adapter = join(temporaryFolder(), 'adapter')
      await exportWeights(to, adapter, { base: names[0] })
      const { base_model_name_or_path } = JSON.parse(
        readFileSync(join(adapter, 'adapter_config.json'), 'utf8'),
      )
      expect(base_model_name_or_path).toBe(model)
    },
  )

  it('is known by the model that it is on, where its tokenizer was pulled as that of a sibling', async () => {
    const server = await startTinkerServer({ dialect: 'hosted', models: { 'some/base': model } })
    onTestFinished(() => server.close())
    const engine = openTinkerEngine({ url: server.url })
    const policy = await engine.open({
      model,
      lora: { rank: 4, alpha: 32, targets },
      seed: 7,
      remote: { name: 'some/chat@main', baseModel: 'some/base' },
    })
    const checkpoint = join(temporaryFolder(), 'role')
    await policy.save(checkpoint)
    await engine.close()
    expect(await fetchAdapter(checkpoint, join(temporaryFolder(), 'fetched'))).toEqual(['some/base'])
  })

  it('stands on the model folder of the run file, whatever the server calls its model', async () => {
    const server = await startTinkerServer({ dialect: 'hosted', models: { 'some/base': model } })
    onTestFinished(() => server.close())
    const root = temporaryFolder()
    const saved = async (folder: string, name: string) => {
      const engine = openTinkerEngine({ url: server.url, dialect: 'hosted' })
      const lora = { rank: 4, alpha: 32, targets }
      const policy = await engine.open({ model: folder, lora, seed: 7, remote: { name } })
      const checkpoint = join(temporaryFolder(), 'role')
      await policy.save(checkpoint)
      await engine.close()
      return checkpoint
    }
    const own = join(root, 'models/mine')
    cpSync(model, own, { recursive: true, dereference: true })
    const whole = await saved(own, 'models/mine')
    expect(await fetchAdapter(whole, join(root, 'a'))).toEqual([own, 'some/base'])
    for (const name of readdirSync(own)) if (name.endsWith('.safetensors')) rmSync(join(own, name))
    expect(await fetchAdapter(whole, join(root, 'b'))).toEqual(['some/base'])
  })

  it('cannot be had of a server that keeps it', async () => {
    const { checkpoint } = await trained('openrl')
    const to = join(temporaryFolder(), 'fetched')
    await expect(fetchAdapter(checkpoint, to)).rejects.toThrow(/openrl servers keep them/)
    expect(existsSync(join(to, 'archive.tar.gz'))).toBe(false)
  })

  it('is asked for only of a checkpoint that names one', async () => {
    const empty = temporaryFolder()
    await expect(fetchAdapter(empty, join(empty, 'out'))).rejects.toThrow(CheckpointError)
    writeFileSync(join(empty, 'tinker.json'), '{}')
    await expect(fetchAdapter(empty, join(empty, 'out'))).rejects.toThrow(/has no usable url/)
  })
})
