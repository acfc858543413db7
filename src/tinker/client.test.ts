/** The whole client against a server with made-up weights, in every dialect. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { adam, connected, datum, dialects, serve, spec } from '../../test/support/tinker-client.js'

const ppo = { name: 'ppo', clipLow: 0.8, clipHigh: 1.2 } as const

describe.each(dialects)('%s', (dialect) => {
  it('is recognised, trains, saves, samples, and gives what it was asked for', async () => {
    const server = await serve({ dialect })
    const service = await connected({ url: server.url })
    expect(service.profile.dialect).toBe(dialect)
    expect(service.models.map(({ model_name }) => model_name)).toEqual(['tiny'])

    const session = await service.createSession()
    const model = await session.createModel(spec)
    const [trained, stepped] = await Promise.all([
      model.forwardBackward([datum(), datum(1)], ppo),
      model.optimStep(adam),
    ])
    expect(trained.logprobs).toEqual([0, 1].map(() => new Float32Array(4).fill(-0.1)))
    expect(stepped.metrics).toBeTypeOf('object')
    expect(server.steps(model.id)).toBe(1)

    const scored = await model.forward([datum()])
    expect(scored.logprobs[0]).toHaveLength(4)

    const sampler = await model.snapshot()
    const { sequences } = await sampler.sample(Int32Array.of(1, 2, 3), {
      n: 3,
      maxTokens: 5,
      temperature: 1,
      seed: 3,
    })
    expect(sequences.map(({ tokens }) => tokens.length)).toEqual([5, 5, 5])
    const scores = await sampler.computeLogprobs(Int32Array.of(1, 2, 3, 4))
    expect(scores).toHaveLength(4)
    expect(scores[0]).toBeNaN()

    const { path } = await model.saveWeights('step-1')
    expect(path).toMatch(/^tinker:/)
    const second = await session.createModel(spec)
    await second.loadWeights(path, { optimizer: true })
    await Promise.all([second.forwardBackward([datum()], { name: 'cross_entropy' }), second.optimStep(adam)])
    expect(server.steps()).toBe(2)
    expect(await service.weightsInfo(path)).toMatchObject({ base_model: 'tiny', is_lora: true })
    await second.unload()
    expect(server.held.models).toBe(1)
  })

  it('sends nothing that a strict server refuses, and never the key elsewhere than in its header', async () => {
    const server = await serve({ dialect })
    const folder = temporaryFolder()
    const service = await connected(server, { journal: folder })
    const model = await (await service.createSession({ tags: ['test'] })).createModel(spec)
    await model.forwardBackward([datum()], ppo, { label: 'a' })
    await model.optimStep(adam, { label: 'b' })
    expect(server.log.requests.filter(({ status = 0 }) => status >= 400).map(({ route }) => route)).toEqual(
      dialect === 'openrl' ? ['client/config'] : [],
    )
    expect(readFileSync(join(folder, 'requests.jsonl'), 'utf8')).not.toContain('tml-test')
  })
})
