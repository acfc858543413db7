import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Dialect } from './index.js'
import { type Client, serve, serveReal } from './support.js'

const save = (client: Client, model: string, seq_id: number, changes: object = {}) =>
  client.post('save_weights', { model_id: model, seq_id, path: 'a', type: 'save_weights', ...changes })
const saveSampler = (client: Client, model: string, seq_id: number, changes: object = {}) =>
  client.post('save_weights_for_sampler', {
    model_id: model,
    seq_id,
    path: 'a',
    type: 'save_weights_for_sampler',
    ...changes,
  })
const load = (client: Client, model: string, seq_id: number, path: string, changes: object = {}) =>
  client.post('load_weights', {
    model_id: model,
    seq_id,
    path,
    optimizer: true,
    type: 'load_weights',
    ...changes,
  })

async function open(dialect: Dialect, options = {}) {
  const { client, server } = await serve({ dialect, ...options })
  const session = await client.session()
  return { client, server, session, model: await client.model(session) }
}

describe('names and paths', () => {
  it.each([
    ['hosted', /^tinker:\/\/[0-9a-f-]{36}:train:0\/weights\/a$/, /\/sampler_weights\/a$/],
    ['skyrl', /^tinker:\/\/model_[0-9a-f]{8}\/weights\/a$/, /^tinker:\/\/model_[0-9a-f]{8}\/a$/],
    ['tuft', /^tinker:\/\/[0-9a-f-]{36}\/weights\/a$/, /\/sampler_weights\/a$/],
    ['openrl', /^tinker:\/\/[0-9a-f-]{36}\/weights\/a$/, /\/sampler_weights\/a$/],
  ] as const)('of %s', async (dialect, state, sampler) => {
    const { client, model } = await open(dialect)
    expect((await client.result(save(client, model, 1))).path).toMatch(state)
    expect((await client.result(saveSampler(client, model, 2))).path).toMatch(sampler)
  })

  it('a name that is taken', async () => {
    const hosted = await open('hosted')
    await hosted.client.result(save(hosted.client, hosted.model, 1))
    await expect(hosted.client.result(save(hosted.client, hosted.model, 2))).rejects.toThrow('exists already')
    await hosted.client.result(save(hosted.client, hosted.model, 3, { overwrite: true }))
    const skyrl = await open('skyrl')
    await skyrl.client.result(save(skyrl.client, skyrl.model, 1))
    expect((await save(skyrl.client, skyrl.model, 2, { overwrite: true })).status).toBe(409)
    expect((await save(skyrl.client, skyrl.model, 2, { path: 'a.b' })).status).toBe(422)
    const tuft = await open('tuft')
    await tuft.client.result(save(tuft.client, tuft.model, 1))
    await tuft.client.result(save(tuft.client, tuft.model, 2))
    const { path } = await tuft.client.result(save(tuft.client, tuft.model, 3, { path: undefined }))
    expect(path).toMatch(/\/weights\/checkpoint-0001$/)
  })

  it('an ephemeral snapshot of SkyRL is a checkpoint of a name made up', async () => {
    const { client, model } = await open('skyrl')
    await client.snapshot(model, 4, 2)
    const { body } = await client.get(`training_runs/${model}/checkpoints`)
    expect(body.checkpoints).toMatchObject([{ checkpoint_id: 'ss2_seq4', checkpoint_type: 'sampler' }])
    const hosted = await open('hosted')
    await hosted.client.snapshot(hosted.model, 1)
    expect((await hosted.client.get('checkpoints')).body.checkpoints).toEqual([])
  })
})

describe('load_weights', () => {
  it.each(['hosted', 'skyrl'] as const)(
    '%s allows it as the first request of a model only',
    async (dialect) => {
      const { client, session, model } = await open(dialect)
      const { path } = await client.result(save(client, model, 1))
      const fresh = await client.model(session, { model_seq_id: 1 })
      const late = await load(client, fresh, 2, path)
      expect([late.status, late.body.detail]).toEqual([400, 'LoadWeights is not permitted with seq_id 2'])
      await client.result(load(client, fresh, 1, path))
      await client.result(client.step(fresh, 2))
      expect((await load(client, model, 2, path)).status).toBe(400)
    },
  )

  it('TuFT allows it at any time, where rank and alpha are the same', async () => {
    const { client, session, model } = await open('tuft')
    const { path } = await client.result(save(client, model, 1))
    await client.result(client.step(model, 2))
    await client.result(load(client, model, 3, path))
    const other = await client.model(session, { lora_config: { rank: 8 } })
    await expect(client.result(load(client, other, 1, path))).rejects.toThrow('rank 4')
  })

  it('refuses what is not there and what is not to be trained', async () => {
    const { client, session, model } = await open('hosted')
    const fresh = await client.model(session, { model_seq_id: 1 })
    expect((await load(client, fresh, 1, `tinker://${model}/weights/none`)).status).toBe(404)
    const { path } = await client.result(saveSampler(client, model, 1))
    expect((await load(client, fresh, 1, path)).status).toBe(400)
  })

  it('hosted makes a model from what was saved where the request names none, and once', async () => {
    const { client, server, session, model } = await open('hosted')
    const { path } = await client.result(save(client, model, 1))
    const make = () =>
      client.post('load_weights', {
        session_id: session,
        model_seq_id: 1,
        path,
        optimizer: true,
        type: 'load_weights',
      })
    const { model_id: made } = await client.result(make())
    expect((await client.result(make())).model_id).toBe(made)
    expect(server.held.models).toBe(2)
    await client.result(client.step(made, 1))
    expect((await client.post('get_info', { model_id: made })).body).toMatchObject({ lora_rank: 4 })
  })

  it('weights_info says what to create before', async () => {
    const info = async (dialect: Dialect, kind: typeof save) => {
      const { client, model } = await open(dialect)
      const { path } = await client.result(kind(client, model, 1))
      return client.post('weights_info', { tinker_path: path })
    }
    expect((await info('hosted', save)).body).toEqual({
      base_model: 'tiny',
      is_lora: true,
      lora_rank: 4,
      train_unembed: true,
      train_mlp: true,
      train_attn: true,
    })
    expect((await info('skyrl', save)).body).toEqual({ base_model: 'tiny', is_lora: true, lora_rank: 4 })
    expect((await info('hosted', saveSampler)).status).toBe(200)
    expect((await info('skyrl', saveSampler)).status).toBe(400)
  })
})

/** Files of a tar archive by name. */
function untar(bytes: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; bytes[at] !== 0; ) {
    const text = (from: number, length: number) =>
      bytes.toString('latin1', at + from, at + from + length).replace(/\0.*$/, '')
    const size = Number.parseInt(text(124, 12), 8)
    files.set(text(0, 100), bytes.subarray(at + 512, at + 512 + size))
    at += 512 + 512 * Math.ceil(size / 512)
  }
  return files
}

describe('archives', () => {
  const filesAt = async (client: Client, url: string) => {
    const bytes = url.startsWith('file:')
      ? await readFile(fileURLToPath(url))
      : Buffer.from(await (await fetch(url, { headers: client.headers })).arrayBuffer())
    return untar(gunzipSync(bytes))
  }

  it.each([
    ['hosted', 'sampler_weights/a'],
    ['skyrl', 'a'],
    ['tuft', 'sampler_weights/a'],
  ] as const)('%s redirects to a PEFT adapter', async (dialect, id) => {
    const { client } = await serveReal({ dialect })
    const model = await client.model(await client.session())
    await client.result(saveSampler(client, model, 1))
    const answer = await client.get(`training_runs/${encodeURIComponent(model)}/checkpoints/${id}/archive`)
    expect(answer.status).toBe(302)
    expect(answer.headers.get('expires')).toMatch(/GMT$/)
    const files = await filesAt(client, answer.headers.get('location')!)
    expect([...files.keys()]).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
    const config = JSON.parse(files.get('adapter_config.json')!.toString())
    expect(config).toMatchObject({ r: 4, base_model_name_or_path: 'tiny' })
    expect(files.get('adapter_model.safetensors')!.length).toBeGreaterThan(1000)
  })

  it('the newest form of hosted tells the address', async () => {
    const { client, model } = await open('hosted', { archive: 'json' })
    await client.result(saveSampler(client, model, 1))
    const { status, body } = await client.get(`training_runs/${model}/checkpoints/sampler_weights/a/archive`)
    expect(status).toBe(200)
    expect((await filesAt(client, body.url)).has('adapter_config.json')).toBe(true)
  })

  it('SkyRL has archives of samplers only, by their bare names', async () => {
    const { client, model } = await open('skyrl')
    await client.result(save(client, model, 1))
    const status = async (id: string) =>
      (await client.get(`training_runs/${model}/checkpoints/${id}/archive`)).status
    expect(await status('a')).toBe(404)
    await client.result(saveSampler(client, model, 2))
    expect(await status('a')).toBe(302)
    expect(await status('sampler_weights/a')).toBe(400)
  })
})

describe('lists', () => {
  it.each([
    ['hosted', 'weights/a'],
    ['skyrl', 'a'],
    ['tuft', 'weights/a'],
  ] as const)('of %s name checkpoints as %s, and forget those deleted', async (dialect, id) => {
    const { client, model } = await open(dialect)
    const { path } = await client.result(save(client, model, 1))
    const list = async () => (await client.get(`training_runs/${model}/checkpoints`)).body.checkpoints
    expect(await list()).toMatchObject([
      { checkpoint_id: id, checkpoint_type: 'training', tinker_path: path },
    ])
    const { body } = await client.get(`training_runs/${model}`)
    expect(body).toMatchObject({ training_run_id: model, base_model: 'tiny', lora_rank: 4 })
    expect((await client.get('training_runs?limit=1')).body.training_runs).toHaveLength(1)
    const remove = (name: string) => client.ask('DELETE', `training_runs/${model}/checkpoints/${name}`)
    expect((await remove('a')).status).toBe(400)
    expect((await remove('weights/a')).status).toBe(204)
    expect(await list()).toEqual([])
    expect((await remove('weights/a')).status).toBe(404)
  })

  it('checkpoints of hosted can be published and given an end', async () => {
    const { client, model } = await open('hosted')
    await client.result(save(client, model, 1, { ttl_seconds: 60 }))
    const at = `training_runs/${model}/checkpoints/weights/a`
    const shown = async () => (await client.get('checkpoints')).body.checkpoints[0]
    expect((await shown()).expires_at).toBeDefined()
    expect((await client.ask('POST', `${at}/publish`)).status).toBe(204)
    expect((await client.ask('PUT', `${at}/ttl`, { body: '{"ttl_seconds":null}' })).status).toBe(204)
    expect(await shown()).toMatchObject({ public: true })
    expect((await shown()).expires_at).toBeUndefined()
  })
})
