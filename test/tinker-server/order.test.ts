import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Dialect } from './index.js'
import { type Client, datum, serve } from './support.js'

/** Optimizer steps under these numbers in this order; each carries its number as learning rate. Answers by number. */
async function steps(client: Client, model: string, numbers: number[]) {
  const promises = []
  for (const seq of numbers) promises.push(await client.step(model, seq, { learning_rate: seq }))
  return Promise.all(
    promises.map(async ({ body }) => {
      const { status, body: result } = await client.retrieve(body.request_id)
      return status === 200 && !result.error ? 'done' : `${status} ${result.detail ?? result.error}`
    }),
  )
}

async function open(dialect: Dialect) {
  const { client, server } = await serve({ dialect, holdMs: 200 })
  const model = await client.model(await client.session())
  return { client, server, model, applied: () => server.applied.map((step) => step.learningRate) }
}

describe('hosted carries out by number', () => {
  it('whatever the order of arrival', async () => {
    const { client, model, applied, server } = await open('hosted')
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: 6 }), async (numbers) => {
        const from = server.applied.length
        const shifted = numbers.map((number) => number + from)
        expect(await steps(client, model, shifted)).toEqual(numbers.map(() => 'done'))
        expect(applied().slice(from)).toEqual([...shifted].sort((a, b) => a - b))
      }),
      { seed: 1, numRuns: 8 },
    )
  })

  it('waits for a number that has not come', async () => {
    const { client, model, server } = await open('hosted')
    const { body } = await client.step(model, 2)
    expect((await client.post('retrieve_future', { request_id: body.request_id })).status).toBe(408)
    expect(server.steps()).toBe(0)
    await client.step(model, 1)
    expect((await client.retrieve(body.request_id)).status).toBe(200)
  })

  it('knows a retry and carries it out once', async () => {
    const { client, model, server } = await open('hosted')
    const [first, again] = [await client.step(model, 1), await client.step(model, 1)]
    expect(again.body.request_id).toBe(first.body.request_id)
    await client.result(first)
    expect((await client.step(model, 1)).body.request_id).toBe(first.body.request_id)
    expect((await client.step(model, 1, { learning_rate: 1 })).status).toBe(400)
    expect(server.steps()).toBe(1)
    const save = { model_id: model, seq_id: 2, path: 'a', type: 'save_weights' }
    const saved = await client.result(client.post('save_weights', save))
    expect(await client.result(client.post('save_weights', save))).toEqual(saved)
    const session = await client.snapshot(model, 3)
    const sample = await client.sample(session)
    expect((await client.sample(session)).body.request_id).toBe(sample.body.request_id)
    expect((await client.sample(session, { num_samples: 2 })).status).toBe(400)
  })

  it('goes on behind an operation that failed', async () => {
    const { client, model } = await open('hosted')
    const failed = await client.forwardBackward({ modelId: model, data: [datum({ weights: [1] })] })
    expect((await client.retrieve(failed.body.request_id)).body.category).toBe('user')
    await client.result(client.step(model, 2))
  })
})

describe('SkyRL carries out as requests come', () => {
  it('whatever their numbers', async () => {
    const { client, model, applied } = await open('skyrl')
    expect(await steps(client, model, [3, 1, 2])).toEqual(['done', 'done', 'done'])
    expect(applied()).toEqual([3, 1, 2])
  })

  it('knows a retry of training by its number, and refuses the number for anything else', async () => {
    const { client, model, server } = await open('skyrl')
    const first = await client.forwardBackward({ modelId: model, seqId: 1 })
    const again = await client.forwardBackward({ modelId: model, seqId: 1 })
    expect(again.body.request_id).toBe(first.body.request_id)
    const other = await client.forwardBackward({
      modelId: model,
      seqId: 1,
      data: [datum({ weights: [0, 1, 2] })],
    })
    expect([other.status, other.body.detail]).toEqual([409, 'Training request sequence number was reused'])
    expect((await client.step(model, 1)).status).toBe(409)
    const [step, stepAgain] = [await client.step(model, 2), await client.step(model, 2)]
    expect(stepAgain.body.request_id).toBe(step.body.request_id)
    await client.result(step)
    expect(server.steps()).toBe(1)
  })

  it('does not know a retry of a save: the name is taken', async () => {
    const { client, model } = await open('skyrl')
    const save = { model_id: model, seq_id: 1, path: 'a', type: 'save_weights' }
    await client.result(client.post('save_weights', save))
    expect((await client.post('save_weights', save)).status).toBe(409)
    await client.snapshot(model, 2)
    await expect(client.snapshot(model, 2)).rejects.toThrow('refused with 409')
  })
})

describe('TuFT carries out what comes next, and nothing else', () => {
  it('says which number it expects', async () => {
    const { client, model, applied } = await open('tuft')
    const conflict = (expected: number, got: number) =>
      `409 Failed to retrieve future: Sequence conflict: expected ${expected}, got ${got}`
    expect(await steps(client, model, [3, 1, 1, 2])).toEqual([conflict(1, 3), 'done', conflict(2, 1), 'done'])
    expect(applied()).toEqual([1, 2])
  })

  it('an operation that failed leaves its number free', async () => {
    const { client, model } = await open('tuft')
    const failed = await client.forwardBackward({ modelId: model, seqId: 1, data: [datum({ weights: [1] })] })
    expect((await client.retrieve(failed.body.request_id)).status).toBe(400)
    expect(await steps(client, model, [1])).toEqual(['done'])
  })
})

it('Open-RL knows no numbers: what comes twice is done twice', async () => {
  const { client, model, applied } = await open('openrl')
  expect(await steps(client, model, [2, 2, 1])).toEqual(['done', 'done', 'done'])
  expect(applied()).toEqual([2, 2, 1])
})

it('models have lines of their own', async () => {
  const { client, server } = await serve({ dialect: 'hosted' })
  const session = await client.session()
  const [one, other] = [await client.model(session), await client.model(session, { model_seq_id: 1 })]
  await client.step(one, 2)
  await client.result(client.step(other, 1))
  expect(server.steps(one)).toBe(0)
  expect(server.steps(other)).toBe(1)
})
