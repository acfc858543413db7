import { describe, expect, it, onTestFinished } from 'vitest'
import { loraTargets } from '../../src/engine/hf/lora.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import type { WireDatum } from '../../src/tinker/wire.js'
import { decodeForwardBackwardOutput } from '../../src/tinker/wire.js'
import { datum, policyDatum, serveReal, tiny } from './support.js'

const adam = { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 0 }
const probe = [10, 11, 12, 13, 14, 15]
const data: WireDatum[] = [
  datum({ weights: [0, 1, 1] }),
  datum({ weights: [0, 0.5, 1, 0.25, 2] }, [20, 30, 31, 32, 33]),
]

/** What the local engine makes of the same data and a factor for each datum: log-probabilities after one step. */
async function locally(alpha: number, factors: number[]) {
  const engine = await openLocalEngine({ threads: 2 })
  onTestFinished(() => engine.close())
  const lora = { rank: 4, alpha, targets: loraTargets }
  const policy = await engine.open({ model: tiny, lora, seed: 1 })
  const scored = data.map(({ tokens, inputs }, i) => ({
    tokens,
    targets: inputs.target_tokens!.data as Int32Array,
    weights: (inputs.weights!.data as Float32Array).map((weight) => weight * factors[i]!),
  }))
  const before = await policy.logprobs(scored)
  await policy.forwardBackward(scored, { name: 'cross_entropy' })
  const { gradNorm } = await policy.optimStep(adam)
  const sequence = { tokens: Int32Array.from(probe.slice(0, -1)), targets: Int32Array.from(probe.slice(1)) }
  const [after] = await policy.logprobs([sequence])
  return { before, gradNorm, after: Array.from(after!) }
}

describe('real weights', () => {
  it.each([
    ['hosted', 32, [1, 1]],
    ['tuft', 8, [1, 1]],
    ['skyrl', 32, [1 / 2 / 2, 1 / 3.75 / 2]],
  ] as const)('%s takes the step of the local engine', async (dialect, alpha, factors) => {
    const { client } = await serveReal({ dialect })
    const model = await client.model(await client.session())
    const expected = await locally(alpha, [...factors])
    const output = await client.trained({ modelId: model, seqId: 1, data })
    for (const [i, record] of output.outputs.entries())
      for (const [t, logprob] of record.logprobs!.data.entries())
        expect(logprob).toBeCloseTo(expected.before[i]![t]!, 4)
    const { metrics } = await client.result(client.step(model, 2, { learning_rate: 1e-2 }))
    if (dialect === 'skyrl') expect(metrics['skyrl.ai/grad_norm'] / expected.gradNorm).toBeCloseTo(1, 3)
    const scores = await client.scores(await client.snapshot(model, 3), probe)
    for (const [t, score] of scores.entries()) expect(score).toBeCloseTo(expected.after[t]!, 3)
  })

  it('gradients gather until a step, over batches and not over forward passes', async () => {
    const { client } = await serveReal({ dialect: 'skyrl' })
    const session = await client.session()
    const [whole, parts] = [await client.model(session), await client.model(session)]
    await client.trained({ modelId: whole, seqId: 1, data })
    await client.trained({ modelId: parts, seqId: 1, data: [data[1]!] })
    await client.trained({ modelId: parts, seqId: 2, data: [data[0]!], forwardOnly: true })
    await client.trained({ modelId: parts, seqId: 3, data: [data[0]!] })
    const norms = []
    for (const model of [whole, parts])
      norms.push((await client.result(client.step(model, 9))).metrics['skyrl.ai/grad_norm'])
    expect(norms[1] / norms[0]).toBeCloseTo(1, 4)
  })

  it('weight decay of SkyRL acts on every adapter', async () => {
    const { client } = await serveReal({ dialect: 'skyrl' })
    const session = await client.session()
    const [one, other] = [await client.model(session), await client.model(session, { model_seq_id: 1 })]
    await client.trained({ modelId: other, seqId: 1, data: data })
    await client.result(client.step(other, 2, { learning_rate: 2e-2 }))
    const logprobs = async (seqId: number) => {
      const { outputs } = await client.trained({ modelId: other, seqId, data: data, forwardOnly: true })
      return Array.from(outputs[0]!.logprobs!.data)
    }
    const before = await logprobs(3)
    await client.result(client.step(one, 1, { learning_rate: 0.1 }))
    expect(await logprobs(4)).toEqual(before)
    await client.result(client.step(one, 2, { learning_rate: 0.1, weight_decay: 0.5 }))
    expect(await logprobs(5)).not.toEqual(before)
  })

  it('a step without a gradient is taken all the same', async () => {
    const { client, server } = await serveReal({ dialect: 'skyrl' })
    const model = await client.model(await client.session())
    const { metrics } = await client.result(client.step(model, 1))
    expect(metrics['skyrl.ai/grad_norm']).toBe(0)
    expect(server.steps()).toBe(1)
  })

  it('a refused batch leaves no gradient behind', async () => {
    const { client } = await serveReal({ dialect: 'skyrl' })
    const model = await client.model(await client.session())
    const outside = datum({}, [10, 999, 12])
    const { body } = await client.forwardBackward({ modelId: model, data: [data[0]!, outside] })
    expect((await client.retrieve(body.request_id)).body.detail).toMatch(/vocabulary/)
    const { metrics } = await client.result(client.step(model, 2))
    expect(metrics['skyrl.ai/grad_norm']).toBe(0)
  })

  it('a policy learns what it is rewarded for', async () => {
    const { client } = await serveReal({ dialect: 'hosted' })
    const model = await client.model(await client.session())
    const one = policyDatum({ advantages: [0, 1, 1] })
    const logprobOf = async (seqId: number) => {
      const output = await client.trained({
        modelId: model,
        seqId,
        data: [one],
        lossFn: 'importance_sampling',
      })
      return output.outputs[0]!.logprobs!.data[2]!
    }
    const before = await logprobOf(1)
    for (let i = 0; i < 3; i++) {
      await client.result(client.step(model, 2 + 2 * i, { learning_rate: 1e-2 }))
      await logprobOf(3 + 2 * i)
    }
    expect(await logprobOf(8)).toBeGreaterThan(before + 0.5)
  })

  it('comes back from a saved state with its optimizer, or without', async () => {
    const { client } = await serveReal({ dialect: 'hosted' })
    const session = await client.session()
    const first = await client.model(session)
    let seq = 0
    const train = async (model: string, seqId: number) => {
      await client.trained({ modelId: model, seqId, data })
      await client.result(client.step(model, seqId + 1, { learning_rate: 1e-2 }))
    }
    for (; seq < 4; seq += 2) await train(first, seq + 1)
    const { path } = await client.result(
      client.post('save_weights', { model_id: first, seq_id: 5, path: 'two', type: 'save_weights' }),
    )
    await train(first, 6)
    const goOn = async (number: number, optimizer: boolean) => {
      const model = await client.model(session, { model_seq_id: number, lora_config: { rank: 4, seed: 9 } })
      await client.result(
        client.post('load_weights', { model_id: model, seq_id: 1, path, optimizer, type: 'load_weights' }),
      )
      await train(model, 2)
      return decodeForwardBackwardOutput(
        await client.protobufResult(
          client.forwardBackward({ modelId: model, seqId: 4, data, forwardOnly: true }),
        ),
      ).outputs[1]!.logprobs!.data
    }
    const expected = (await client.trained({ modelId: first, seqId: 8, data, forwardOnly: true })).outputs[1]!
    const away = async (number: number, optimizer: boolean) => {
      const found = await goOn(number, optimizer)
      return Math.max(...Array.from(found, (value, t) => Math.abs(value - expected.logprobs!.data[t]!)))
    }
    expect(await away(1, true)).toBeLessThan(1e-4)
    expect(await away(2, false)).toBeGreaterThan(1e-3)
  })
})
