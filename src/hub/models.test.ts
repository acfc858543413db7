import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { type HubRepo, hubServer } from '../../test/support/hub-server.js'
import { pageServer } from '../../test/support/page-server.js'
import { CheckpointError, ConfigError, DataError, ServiceError, type SparringError } from '../core/errors.js'
import {
  hubName,
  modelOrigin,
  type PullOptions,
  type PullProgress,
  pulledModel,
  pullModel,
} from './models.js'

const commit = '740312add88f781978c0658806c59bc2815b9866'
const weights = (length: number) => Buffer.from(Array.from({ length }, (_, i) => (i * 7) % 251))
const files = {
  'README.md': 'Words.',
  LICENSE: 'Terms.',
  'config.json': '{"model_type": "qwen3"}',
  'generation_config.json': '{}',
  'tokenizer.json': '{"model": {}}',
  'tokenizer_config.json': '{}',
  'vocab.json': '{}',
  'chat_template.jinja': 'x',
  'model-00001-of-00002.safetensors': weights(300_000),
  'model-00002-of-00002.safetensors': weights(1000),
  'model.safetensors.index.json': JSON.stringify({
    weight_map: { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' },
  }),
  'pytorch_model.bin': 'pickled',
  'original/consolidated.safetensors': 'other',
}
const needed = Object.keys(files)
  .filter((name) => !/README|vocab|pytorch|original/.test(name))
  .sort()

async function setUp(changes: Partial<HubRepo> = {}) {
  const hub = await hubServer({ 'some/model': { kind: 'model', commit, files, ...changes } })
  const env: NodeJS.ProcessEnv = { HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder() }
  const cache = join(env.HF_HOME!, 'hub/models--some--model')
  const pull = (options: PullOptions = {}, model = 'some/model', revision?: string) =>
    pullModel({ model, revision }, { env, ...options })
  return { hub, env, cache, pull, repo: hub.repos['some/model']! }
}

async function errorOf(work: Promise<unknown>): Promise<SparringError> {
  const error: unknown = await work.then(
    () => undefined,
    (cause) => cause,
  )
  expect(error).toBeInstanceOf(Error)
  return error as SparringError
}

describe('something else in the place of the Hub', () => {
  it.each([
    ['a login', '<div>Log in</div>', 'text/html', 200, / answers with a web page \(HTTP 200\)/, 'http_proxy'],
    [
      'a refusing proxy',
      '<html>No</html>',
      'text/html',
      403,
      / answers with a web page \(HTTP 403\)/,
      'login',
    ],
    [
      'half an answer',
      '{"sha": "7403',
      'application/json',
      200,
      /is no JSON, or was cut off\.$/,
      '--offline',
    ],
    ['another service', '{"id": "x"}', 'application/json', 200, /does not say which commit/, 'HF_ENDPOINT'],
  ])('is told as such, at once: %s', async (_, body, type, status, said, hint) => {
    const pages = await pageServer(body, type, status)
    const env = { HF_ENDPOINT: pages.url, HF_HOME: temporaryFolder() }
    const error = await errorOf(pullModel({ model: 'some/model' }, { env }))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toMatch(said)
    expect(error.message).not.toContain('Unexpected token')
    expect(error.hint).toContain(hint)
    expect(pages.asked).toHaveLength(1)
  })
})

describe('pullModel', () => {
  it('fetches what is needed and no more, once, under the commit that the revision stands for', async () => {
    const { hub, env, cache, pull } = await setUp()
    const pulled = await pull()
    const bytes = needed.reduce((sum, name) => sum + Buffer.from(files[name as keyof typeof files]).length, 0)
    expect(pulled).toMatchObject({ model: 'some/model', revision: 'main', commit, bytes, fetched: bytes })
    expect(pulled.folder).toBe(join(cache, 'snapshots', commit))
    expect(readdirSync(pulled.folder).sort()).toEqual(needed)
    for (const name of needed) {
      expect(readFileSync(join(pulled.folder, name))).toEqual(Buffer.from(files[name as keyof typeof files]))
    }
    expect(readFileSync(join(cache, 'refs/main'), 'utf8')).toBe(commit)

    hub.asked.length = 0
    expect(await pull()).toEqual({ ...pulled, fetched: 0 })
    expect(hub.asked.filter((request) => request.includes('/resolve/'))).toEqual([])

    hub.asked.length = 0
    expect(await pull({ offline: true })).toMatchObject({ folder: pulled.folder, bytes, fetched: 0 })
    expect(hub.asked).toEqual([])
    expect(pulledModel('some/model', { env })).toEqual({ folder: pulled.folder, commit })
    expect(pulledModel(`some/model@${commit}`, { env })).toEqual({ folder: pulled.folder, commit })
    expect(await modelOrigin(pulled.folder)).toEqual({ model: 'some/model', commit })
  })

  it('fetches nothing again that another commit had', async () => {
    const { repo, pull } = await setUp()
    await pull()
    repo.commit = 'b'.repeat(40)
    repo.files = { ...files, 'config.json': '{"model_type": "qwen2"}' }
    const { commit: now, fetched, folder } = await pull()
    expect({ now, fetched }).toEqual({ now: repo.commit, fetched: '{"model_type": "qwen2"}'.length })
    expect(statSync(join(folder, 'model-00001-of-00002.safetensors')).size).toBe(300_000)
  })

  it('goes on where a connection broke, within one call and in the next', async () => {
    const { hub, pull, repo } = await setUp({ breaks: [100_000, 120_000] })
    const notes: string[] = []
    const heard: PullProgress[] = []
    const pulled = await pull({ note: (text) => notes.push(text), progress: (now) => heard.push(now) })
    expect(readFileSync(join(pulled.folder, 'model-00001-of-00002.safetensors'))).toEqual(weights(300_000))
    expect(notes).toEqual(Array(2).fill(expect.stringContaining('asking for the rest')))
    expect(pulled.fetched).toBe(pulled.bytes)
    expect(heard.at(-1)).toMatchObject({ bytes: pulled.bytes, total: pulled.bytes, arrived: pulled.bytes })

    const other = temporaryFolder()
    const env = { HF_ENDPOINT: hub.url, HF_HOME: other }
    repo.breaks = [100_000]
    const abort = new AbortController()
    const stopped = await errorOf(pull({ env, signal: abort.signal, note: () => abort.abort() }))
    expect(stopped.name).toBe('AbortError')
    expect(pulledModel('some/model', { env })).toBeUndefined()
    expect((await pull({ env })).fetched).toBeLessThan(210_000)
  })

  it('begins a file anew where the server sends only whole ones', async () => {
    const { pull } = await setUp({ breaks: [100_000], wholeOnly: true })
    const { folder } = await pull()
    expect(readFileSync(join(folder, 'model-00001-of-00002.safetensors'))).toEqual(weights(300_000))
  })

  it('says where a connection that breaks again and again was lost', async () => {
    const { pull } = await setUp({ breaks: [50_000, 0, 0, 0, 0] })
    const error = await errorOf(pull())
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toMatch(
      /The connection to the Hub broke within model-00001-of-00002.safetensors, at 50000 of 300000 bytes/,
    )
    expect(error.hint).toContain('goes on from there')
  })

  it.each(['model-00002-of-00002.safetensors', 'tokenizer.json'])('refuses a damaged %s', async (name) => {
    const { pull, repo, env } = await setUp({ damaged: [name] })
    const error = await errorOf(pull())
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toBe(`${name} arrived damaged from the Hub.`)
    expect(pulledModel('some/model', { env })).toBeUndefined()
    repo.damaged = []
    expect((await pull()).fetched).toBeGreaterThan(0)
  })

  it('looks at the settings before it fetches weights', async () => {
    const { hub, pull } = await setUp()
    const check = async (folder: string) => {
      expect(existsSync(join(folder, 'config.json'))).toBe(true)
      throw new DataError('No such architecture.')
    }
    expect((await errorOf(pull({ check }))).message).toBe('No such architecture.')
    expect(hub.asked.filter((request) => request.includes('.safetensors') && !/index/.test(request))).toEqual(
      [],
    )
  })

  it('leaves the weights where they are not asked for', async () => {
    const { env, pull } = await setUp()
    const { files: got } = await pull({ weights: false })
    expect(got.filter((name) => name.includes('safetensors'))).toEqual([])
    expect(pulledModel('some/model', { env })).toBeUndefined()
    expect(pulledModel('some/model', { env, weights: false })).toMatchObject({ commit })
    expect((await errorOf(pull({ offline: true }))).message).toContain(
      'model.safetensors of some/model is not in the cache',
    )
  })

  it('fills a folder, from the cache where it can, and says there where it is from', async () => {
    const { hub, pull } = await setUp()
    const folder = join(temporaryFolder(), 'deep/model')
    const pulled = await pull({ to: folder })
    expect(readdirSync(folder).sort()).toEqual([...needed, 'pulled.json'].sort())
    expect(await modelOrigin(folder)).toEqual({ model: 'some/model', revision: 'main', commit })
    expect((await pull({ to: folder })).fetched).toBe(0)
    await pull()
    hub.asked.length = 0
    expect(await pull({ to: join(temporaryFolder(), 'copy') })).toMatchObject({
      bytes: pulled.bytes,
      fetched: 0,
    })
    expect(hub.asked.filter((request) => request.includes('/resolve/'))).toEqual([])

    writeFileSync(join(folder, 'config.json'), '{}')
    const error = await errorOf(pull({ to: folder }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toContain('config.json is another file than the one on the Hub')
  })

  it('needs a cache that holds the model when offline', async () => {
    const { pull } = await setUp()
    const error = await errorOf(pull({ offline: true }))
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toMatch(/stay offline, and some\/model \(main\) is not in the cache/)
    expect(error.hint).toContain('sparring pull some/model')
  })

  it('says what to do of a model that is gated, private, missing or in another form', async () => {
    const { env, pull, repo } = await setUp({ gated: true, token: 'hf_right' })
    const gated = await errorOf(pull())
    expect(gated).toBeInstanceOf(DataError)
    expect(gated.message).toBe('some/model is gated: the Hub gives it only to those who accepted its terms.')
    expect(gated.hint).toMatch(/Accept them on the page of some\/model.*HF_TOKEN/)
    expect((await pull({ env: { ...env, HF_TOKEN: 'hf_right' } })).fetched).toBeGreaterThan(0)

    const missing = await errorOf(pull({}, 'some/other'))
    expect(missing.message).toContain('it is gated, private or not there')
    expect(missing.hint).toContain('Check the name')
    repo.gated = false
    expect((await errorOf(pull())).message).toContain('(HTTP 401)')

    const revision = await errorOf(pull({ env: { ...env, HF_TOKEN: 'hf_right' } }, 'some/model', 'v9'))
    expect(revision.message).toBe('The Hub has no model some/model with the revision v9.')
    delete repo.token
    repo.files = { 'config.json': '{}', 'tokenizer.json': '{}', 'pytorch_model.bin': '' }
    expect((await errorOf(pull())).message).toBe('some/model has no weights in safetensors form.')
    repo.files = { 'model.gguf': '' }
    expect((await errorOf(pull())).message).toBe('some/model has no config.json.')
  })

  it('shows the token to the Hub, and to no other host that files lie with', async () => {
    const { hub, env, pull, repo } = await setUp({ token: 'hf_right' })
    const other = await hubServer({ 'some/model': repo })
    repo.store = other.url
    const { fetched, bytes } = await pull({ env: { ...env, HF_TOKEN: 'hf_right' } })
    expect(fetched).toBe(bytes)
    expect(other.asked.length).toBeGreaterThan(0)
    expect(other.tokens).toEqual([])
    expect(hub.tokens).toEqual(hub.asked.map(() => 'Bearer hf_right'))
  })

  it.each(['model', '../x', 'a/b/c', 'a b/c', 'some/model@main'])('refuses the name %s', async (name) => {
    const { pull } = await setUp()
    expect(await errorOf(pull({}, name))).toBeInstanceOf(ConfigError)
  })

  it('says that the Hub cannot be reached', async () => {
    const { hub, pull } = await setUp()
    await hub.close()
    const error = await errorOf(pull())
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toMatch(/^The Hub could not be asked for some\/model: .*ECONNREFUSED/)
    expect(error.hint).toContain('--offline')
  })

  it('counts the room on the disk before it fetches', async () => {
    const { hub, pull } = await setUp({ claims: { 'model-00002-of-00002.safetensors': 1e18 } })
    const error = await errorOf(pull())
    expect(error).toBeInstanceOf(CheckpointError)
    expect(error.message).toMatch(/^1000000000\.0 GB are left to be fetched, and the disk of .* GB free\.$/)
    expect(hub.asked.filter((request) => request.includes('/resolve/'))).toEqual([])
  })

  it('says that the disk refuses', async () => {
    const { env, pull } = await setUp()
    writeFileSync(join(env.HF_HOME!, 'hub'), 'a file in the way')
    const error = await errorOf(pull())
    expect(error).toBeInstanceOf(CheckpointError)
    expect(error.message).toMatch(/of the Hub cannot be kept: EEXIST|ENOTDIR/)
  })
})

describe('hubName', () => {
  it.each([
    ['Qwen/Qwen3-0.6B', { model: 'Qwen/Qwen3-0.6B' }],
    ['a/b@refs/pr/3', { model: 'a/b', revision: 'refs/pr/3' }],
    ['./a/b', undefined],
    ['../b', undefined],
    ['/a/b', undefined],
    ['a', undefined],
  ])('%s', (text, expected) => {
    expect(hubName(text)).toEqual(expected)
  })
})

describe('pulledModel', () => {
  it('knows no model by half its weights, or by a broken reference', async () => {
    const { env, cache, pull } = await setUp()
    const { folder } = await pull()
    writeFileSync(
      join(folder, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { a: 'model-00003-of-00003.safetensors' } }),
    )
    expect(pulledModel('some/model', { env })).toBeUndefined()
    mkdirSync(join(cache, 'refs/branch'))
    expect(pulledModel('some/model@branch', { env })).toBeUndefined()
  })
})
