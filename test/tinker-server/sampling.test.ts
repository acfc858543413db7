import { describe, expect, it } from 'vitest'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { loadTokenizer } from '../../src/engine/hf/tokenizer.js'
import type { Dialect } from './index.js'
import { type Client, datum, serve, serveReal, tiny } from './support.js'

const tokenizer = await loadTokenizer(tiny, await readModelConfig(tiny))
const eos = tokenizer.eosIds[0]!
const prompt = Array.from(tokenizer.encodeChat([{ role: 'user', content: 'What is 3 + 4?' }]))
const asked = { prompt: { chunks: [{ type: 'encoded_text', tokens: prompt }] } }
const probe = [10, 11, 12, 13, 14, 15]

const base = async (client: Client, changes: Record<string, unknown> = {}) => {
  const session_id = await client.session()
  const body = { session_id, sampling_session_seq_id: 0, base_model: 'tiny', ...changes }
  const answer = await client.post('create_sampling_session', body)
  return answer.body.sampling_session_id as string
}

const greedy = async (client: Client, session: string, params: Record<string, unknown>) =>
  (await client.sampled(session, asked, { max_tokens: 40, temperature: 0, ...params })).sequences[0]!

describe('stops', () => {
  it('hosted and TuFT stop at the end of text by themselves, SkyRL goes on to the limit', async () => {
    const { client } = await serveReal({ dialect: 'hosted' })
    const stopped = await greedy(client, await base(client), {})
    expect(stopped).toMatchObject({ stopReason: 'stop' })
    expect(stopped.tokens.at(-1)).toBe(eos)
    const skyrl = (await serveReal({ dialect: 'skyrl' })).client
    const session = await base(skyrl)
    const full = await greedy(skyrl, session, {})
    expect(full).toMatchObject({ stopReason: 'length' })
    expect(full.tokens).toHaveLength(40)
    expect(full.logprobs).toHaveLength(40)
    expect(Array.from(full.tokens.subarray(0, stopped.tokens.length))).toEqual(Array.from(stopped.tokens))
    expect(await greedy(skyrl, session, { stop: [eos] })).toEqual(stopped)
    const text = tokenizer.decode(stopped.tokens.slice(-4, -1), { special: true })
    const cut = await greedy(skyrl, session, { stop: [text] })
    expect(cut.stopReason).toBe('stop')
    expect(tokenizer.decode(cut.tokens, { special: true })).toMatch(
      new RegExp(`${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`),
    )
    expect((await greedy(client, await base(client), { stop: [text] })).tokens).toEqual(cut.tokens)
  })

  it('Open-RL ignores them and always says stop', async () => {
    const { client } = await serveReal({ dialect: 'openrl' })
    const session = await client.snapshot(await client.model(await client.session()), 1)
    const sequence = await greedy(client, session, { stop: [prompt[0]], max_tokens: 3, top_k: 1 })
    expect(sequence).toMatchObject({ stopReason: 'stop' })
    expect(sequence.tokens).toHaveLength(3)
  })

  it.each([
    ['hosted', 'end', 200],
    ['hosted', [5, 'end'], 422],
    ['skyrl', 'end', 422],
    ['skyrl', [5, 'end'], 422],
    ['tuft', [5, 'end'], 422],
    ['tuft', 'end', 202],
  ] as const)('%s answers the stop %j with %i', async (dialect, stop, status) => {
    const { client } = await serve({ dialect })
    expect((await client.sample(await base(client), {}, { stop })).status).toBe(status)
  })
})

describe('requests', () => {
  it.each([
    ['skyrl', { max_tokens: undefined }, {}, 400],
    ['skyrl', { max_tokens: 0 }, {}, 400],
    ['tuft', { max_tokens: undefined }, {}, 202],
    ['tuft', {}, { seq_id: undefined }, 422],
    ['tuft', {}, { sampling_session_id: undefined, base_model: 'tiny' }, 422],
    ['skyrl', {}, { seq_id: undefined }, 422],
    ['skyrl', {}, { sampling_session_id: undefined, base_model: 'tiny' }, 200],
    ['skyrl', {}, { sampling_session_id: 'a:b' }, 400],
    ['hosted', {}, { sampling_session_id: undefined, base_model: 'tiny' }, 200],
    ['hosted', {}, { num_samples: 0 }, 422],
    ['skyrl', { seed: -1 }, {}, 200],
    ['hosted', { seed: -1 }, {}, 422],
  ] as const)(
    '%s: parameters %j and fields %j are answered with %i',
    async (dialect, params, fields, status) => {
      const { client } = await serve({ dialect })
      expect((await client.sample(await base(client), fields, params)).status).toBe(status)
    },
  )

  it('a session is of one thing', async () => {
    const { client } = await serve({ dialect: 'skyrl' })
    const session_id = await client.session()
    const open = (body: object) =>
      client.post('create_sampling_session', { session_id, sampling_session_seq_id: 0, ...body })
    expect((await open({})).status).toBe(400)
    expect((await open({ base_model: 'tiny', model_path: 'tinker://a/b' })).status).toBe(400)
    expect((await open({ model_path: 'tinker://a/b' })).status).toBe(404)
    const { body } = await open({ base_model: 'tiny' })
    expect((await client.get(`samplers/${body.sampling_session_id}`)).body).toMatchObject({
      base_model: 'tiny',
    })
  })

  it('a client that can bear it is told to wait', async () => {
    const { client, server } = await serve({ dialect: 'hosted', sampleLimit: 2 })
    server.pause('active')
    const session = await base(client)
    const bears = { 'x-tinker-sampling-backpressure': '1' }
    const statuses = []
    for (let seq_id = 0; seq_id < 4; seq_id++) {
      client.headers = { ...client.headers, ...(seq_id !== 2 && bears) }
      if (seq_id === 2) delete client.headers['x-tinker-sampling-backpressure']
      statuses.push((await client.sample(session, { seq_id })).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('one wrong prompt does not spoil the batch that it is in', async () => {
    const { client } = await serveReal({ dialect: 'hosted', gatherMs: 50 })
    const session = await base(client)
    const chunks = (tokens: number[]) => ({ prompt: { chunks: [{ type: 'encoded_text', tokens }] } })
    const [good, outside, empty] = await Promise.all([
      client.sample(session, { seq_id: 0, ...asked }),
      client.sample(session, { seq_id: 1, ...chunks([999]) }),
      client.sample(session, { seq_id: 2, ...chunks([]) }),
    ])
    expect((await client.retrieve(outside.body.request_id)).body.error).toMatch(/vocabulary/)
    expect((await client.retrieve(empty.body.request_id)).body.error).toMatch(/prompt/)
    expect((await client.result(good)).sequences).toHaveLength(1)
  })
})

describe('log-probabilities', () => {
  it('of samples are those that the prompt pass gives, and so are the largest', async () => {
    const { client } = await serveReal({ dialect: 'hosted' })
    const session = await base(client)
    const { sequences } = await client.sampled(session, asked, { max_tokens: 5, temperature: 0, stop: [] })
    const tokens = [...prompt, ...sequences[0]!.tokens]
    const scores = await client.scores(session, tokens, 1)
    for (const [t, logprob] of sequences[0]!.logprobs!.entries())
      expect(scores[prompt.length - 1 + t]).toBeCloseTo(logprob, 3)
    const { topkPromptLogprobs: top, promptLogprobs } = await client.sampled(
      session,
      { seq_id: 2, prompt: { chunks: [{ type: 'encoded_text', tokens }] }, topk_prompt_logprobs: 2 },
      { max_tokens: 1 },
    )
    expect(promptLogprobs![0]).toBeNaN()
    expect(top!.k).toBe(2)
    const last = tokens.length - 1
    // Greedy tokens are the most probable.
    expect(top!.tokenIds[2 * last]).toBe(tokens[last])
    expect(top!.logprobs[2 * last]).toBeCloseTo(scores[last - 1]!, 4)
    expect(top!.logprobs[2 * last + 1]).toBeLessThanOrEqual(top!.logprobs[2 * last]!)
    expect(top!.logprobs[0]).toBe(-99999)
  })

  it('of a prompt begin with NaN, on SkyRL with the second token', async () => {
    const of = async (dialect: Dialect) => {
      const { client } = await serve({ dialect })
      const response = await client.sampled(await base(client), { prompt_logprobs: true })
      return Array.from(response.promptLogprobs!).map(Number.isNaN)
    }
    expect(await of('tuft')).toEqual([true, false, false])
    expect(await of('skyrl')).toEqual([false, false])
  })

  it('no samples are none on TuFT, and never answered on SkyRL', async () => {
    const of = async (dialect: Dialect) => {
      const { client } = await serve({ dialect, holdMs: 20 })
      const { body } = await client.sample(await base(client), { num_samples: 0 })
      return client.post('retrieve_future', { request_id: body.request_id })
    }
    expect((await of('tuft')).body).toMatchObject({ sequences: [] })
    expect((await of('skyrl')).status).toBe(408)
  })

  it('SkyRL gives sample i the seed `seed + i`, below 2^31', async () => {
    const { client } = await serveReal({ dialect: 'skyrl' })
    const session = await base(client)
    const of = async (num_samples: number, seed: number) =>
      (await client.sampled(session, { ...asked, num_samples }, { seed })).sequences.map(
        ({ tokens }) => tokens,
      )
    const [first, second] = await of(2, 5)
    expect(await of(2, 6)).toEqual([second, (await of(1, 7))[0]])
    expect(await of(1, 5)).toEqual([first])
    const { body } = await client.sample(session, { num_samples: 2 }, { seed: 2 ** 31 - 1 })
    expect((await client.retrieve(body.request_id)).status).toBe(400)
  })

  it('the same seed gives the same sample', async () => {
    const { client } = await serveReal({ dialect: 'tuft' })
    const session = await base(client)
    const one = await client.sampled(session, { seq_id: 0, ...asked, num_samples: 3 }, { seed: 5 })
    const again = await client.sampled(session, { seq_id: 7, ...asked, num_samples: 3 }, { seed: 5 })
    expect(again).toEqual(one)
  })
})

/** Trains a model once more and says what its weights give then. */
async function trainOn(client: Client, model: string, seq: number): Promise<number[]> {
  const data = [datum({ weights: [1, 1, 1] }, [10, 11, 12])]
  await client.trained({ modelId: model, seqId: seq, data })
  await client.result(client.step(model, seq + 1, { learning_rate: 2e-2 }))
  return live(client, model, seq + 2)
}

/** Log-probabilities of the probe under the weights in training. */
async function live(client: Client, model: string, seq: number): Promise<number[]> {
  const one = datum({ weights: new Array(probe.length).fill(1) }, probe)
  const { outputs } = await client.trained({ modelId: model, seqId: seq, data: [one], forwardOnly: true })
  return Array.from(outputs[0]!.logprobs!.data).slice(0, -1)
}

const apart = (a: number[], b: number[]) => Math.max(...a.map((value, t) => Math.abs(value - b[t]!)))

describe('snapshots', () => {
  it.each(['hosted', 'tuft'] as const)('%s keeps them as they were', async (dialect) => {
    const { client } = await serveReal({ dialect })
    const model = await client.model(await client.session())
    const first = await live(client, model, 1)
    const [ephemeral, named] = [
      await client.snapshot(model, 2),
      (
        await client.result(
          client.post('save_weights_for_sampler', {
            model_id: model,
            seq_id: 3,
            path: 'a',
            type: 'save_weights_for_sampler',
          }),
        )
      ).path,
    ]
    const second = await trainOn(client, model, 4)
    expect(apart(first, second)).toBeGreaterThan(0.01)
    const session = await base(client, { base_model: undefined, model_path: named })
    expect(apart(await client.scores(ephemeral, probe), first)).toBeLessThan(1e-3)
    expect(apart(await client.scores(session, probe), first)).toBeLessThan(1e-3)
    expect(apart(await live(client, model, 7), second)).toBeLessThan(1e-3)
  })

  it('SkyRL writes them over the weights in training, and then samples what lies there', async () => {
    const { client } = await serveReal({ dialect: 'skyrl' })
    const model = await client.model(await client.session())
    const first = await live(client, model, 1)
    const old = await client.snapshot(model, 2)
    const second = await trainOn(client, model, 3)
    const recent = await client.snapshot(model, 6)
    expect(apart(await client.scores(recent, probe), second)).toBeLessThan(1e-3)
    // The newest snapshot is not loaded again: after another step its session samples the weights in training.
    const third = await trainOn(client, model, 7)
    expect(apart(await client.scores(recent, probe, 1), third)).toBeLessThan(1e-3)
    // An older one is, and takes the training back with it.
    expect(apart(await client.scores(old, probe), first)).toBeLessThan(1e-3)
    expect(apart(await live(client, model, 10), first)).toBeLessThan(1e-3)
  })

  it('SkyRL fails a batch with two snapshots of one model', async () => {
    const { client } = await serveReal({ dialect: 'skyrl', gatherMs: 100 })
    const model = await client.model(await client.session())
    const [old, recent] = [await client.snapshot(model, 1), await client.snapshot(model, 2)]
    const promises = await Promise.all([client.sample(old), client.sample(recent)])
    for (const { body } of promises)
      expect(await client.retrieve(body.request_id)).toMatchObject({
        status: 400,
        body: { detail: 'Cannot override already used adapter' },
      })
    expect(apart(await client.scores(old, probe), await live(client, model, 3))).toBeLessThan(1e-3)
  })

  it('SkyRL does not sample a snapshot that is still being written', async () => {
    const { client, server } = await serve({ dialect: 'skyrl' })
    const model = await client.model(await client.session())
    server.pause('active')
    const saving = await client.post('save_weights_for_sampler', { model_id: model, seq_id: 1, path: 'a' })
    const path = `tinker://${model}/a`
    const sample = () =>
      client.sample('', { sampling_session_id: undefined, model_path: path }).then(({ status }) => status)
    expect(await sample()).toBe(425)
    server.proceed()
    expect((await client.result(saving)).path).toBe(path)
    expect(await sample()).toBe(200)
  })

  it('Open-RL has none: sessions sample the weights in training', async () => {
    const { client } = await serveReal({ dialect: 'openrl' })
    const model = await client.model(await client.session())
    const session = await client.snapshot(model, 1)
    const first = await client.scores(session, probe)
    const second = await trainOn(client, model, 2)
    expect(apart(await client.scores(session, probe, 1), second)).toBeLessThan(1e-3)
    expect(apart(first, second)).toBeGreaterThan(0.01)
    expect(
      (
        await client.post('create_sampling_session', {
          session_id: 'x',
          sampling_session_seq_id: 0,
          base_model: 'tiny',
        })
      ).status,
    ).toBe(400)
  })
})
