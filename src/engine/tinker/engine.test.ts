import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { startTinkerServer, type TinkerServer } from '../../../test/tinker-server/index.js'
import { projectRoot } from '../../core/paths.js'
import { readModelConfig } from '../hf/config.js'
import { openAdapter } from '../hf/lora.js'
import { fetchAdapter } from './fetch.js'
import { openTinkerEngine } from './index.js'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const model = join(projectRoot(), 'models', 'tiny')
const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
const spec = { model, lora: { rank: 4, alpha: 32, targets }, seed: 1 }

describe('the Tinker engine', () => {
  let server: TinkerServer
  beforeAll(async () => {
    server = await startTinkerServer({ dialect: 'skyrl', models: { tiny: model } })
  })
  afterAll(() => server?.close())

  it('wants adapters, and says what the server does otherwise', async () => {
    const warnings: string[] = []
    const engine = openTinkerEngine({ url: server.url, onWarning: (sentence) => warnings.push(sentence) })
    await expect(engine.open({ model, seed: 0 })).rejects.toMatchObject({
      code: 'config',
      hint: expect.stringContaining('lora: {rank'),
    })
    await engine.open({ ...spec, lora: { rank: 4, alpha: 8, targets: ['q_proj'] } })
    expect(warnings.join('\n')).toMatch(/alpha 32, not by 8.*\n.*all together/)
    await engine.close()
  })

  it('refuses losses at a temperature, and sends nothing of a step with such a batch', async () => {
    const engine = openTinkerEngine({ url: server.url })
    const policy = await engine.open(spec)
    const tokens = Int32Array.of(5, 6)
    const datum = { tokens, targets: Int32Array.of(6, 7), advantages: Float32Array.of(0, 1) }
    const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 0 }
    const before = server.steps()
    const asked = [
      policy.forwardBackward([datum], { name: 'importance_sampling', temperature: 1 }),
      policy.forwardBackward([datum], { name: 'importance_sampling', temperature: 0.6 }),
      policy.optimStep(adam),
    ]
    for (const each of await Promise.allSettled(asked))
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'config' } })
    expect(server.steps()).toBe(before)
    await engine.close()
  })

  it('decays the weights of no other policy, where a server decays all that it holds', async () => {
    const warnings: string[] = []
    const engine = openTinkerEngine({ url: server.url, onWarning: (sentence) => warnings.push(sentence) })
    const policy = await engine.open(spec)
    const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 0 }
    await policy.optimStep(adam)
    expect(warnings.join('\n')).toContain('decays every adapter that it holds: weight_decay 0.1')
    const steps = server.steps()
    const frozen = await policy.snapshot()
    await expect(policy.optimStep(adam)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('would decay 1 other adapters'),
    })
    expect(server.steps()).toBe(steps)
    await frozen.close()
    await policy.optimStep(adam)
    expect(server.steps()).toBe(steps + 1)
    await engine.close()
  })

  it('asks for seeds that fit and share no samples, where sample i has the seed `seed + i`', async () => {
    const engine = openTinkerEngine({ url: server.url })
    const policy = await engine.open(spec)
    const requests = [1, 2, 2 ** 31 - 1].map((seed) => ({ prompt: Int32Array.of(5, 6, 7), n: 3, seed }))
    const params = { maxTokens: 4, temperature: 1, topP: 1, topK: 0, stop: [] }
    let rollouts = 0
    for await (const _ of policy.sample(requests, params)) rollouts++
    expect(rollouts).toBe(9)
    const bodies = server.log.of('asample').slice(-3) as { body: { sampling_params: { seed: number } } }[]
    const seeds = bodies.map(({ body }) => body.sampling_params.seed).sort((a, b) => a - b)
    expect(seeds[2]).toBeLessThanOrEqual(2 ** 31 - 3)
    for (const i of [1, 2]) expect(seeds[i]! - seeds[i - 1]!).toBeGreaterThanOrEqual(3)
    await engine.close()
  })

  it('gives the models of a killed run back', async () => {
    const journal = temporaryFolder()
    const held = server.held.models
    const killed = openTinkerEngine({ url: server.url, journal })
    await killed.open(spec)
    await killed.open(spec)
    await killed.close()
    expect(server.held.models).toBe(held + 2)
    const next = openTinkerEngine({ url: server.url, journal })
    const policy = await next.open(spec)
    expect(server.held.models).toBe(held + 1)
    await policy.close()
    expect(server.held.models).toBe(held)
    await next.close()
  })

  it('opens what it saved without being told of adapters, and fetches it for other tools', async () => {
    const folder = join(temporaryFolder(), 'saved')
    const engine = openTinkerEngine({ url: server.url })
    const policy = await engine.open(spec)
    await policy.save(folder)
    const again = await engine.open({ model: folder, seed: 0 })
    const data = [{ tokens: Int32Array.of(5, 6), targets: Int32Array.of(6, 7) }]
    expect(await again.logprobs(data)).toEqual(await policy.logprobs(data))
    const to = join(temporaryFolder(), 'adapter')
    await fetchAdapter(folder, to)
    const adapter = await openAdapter(to, await readModelConfig(model))
    expect(adapter.spec.rank).toBe(4)
    await adapter.tensors.close()
    const empty = temporaryFolder()
    mkdirSync(empty, { recursive: true })
    await expect(policy.load(empty)).rejects.toMatchObject({ code: 'checkpoint' })
    expect(existsSync(join(folder, 'tinker.json'))).toBe(true)
    await engine.close()
  })
})
