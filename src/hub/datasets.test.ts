import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { type HubRepo, hubServer } from '../../test/support/hub-server.js'
import { proxyServer } from '../../test/support/proxy-server.js'
import { ConfigError, DataError, ServiceError, type SparringError } from '../core/errors.js'
import type { HubOptions } from './client.js'
import { type HubSource, hubFiles } from './datasets.js'

const commit = '740312add88f781978c0658806c59bc2815b9866'
const numbers: HubSource = { repo: 'some/numbers', files: ['main/test.parquet', 'test.jsonl'] }
const parquet = Buffer.from(Array.from({ length: 3000 }, (_, i) => i % 251))

async function setUp(repo: Partial<HubRepo> = {}) {
  const files = { 'main/test.parquet': parquet, 'test.jsonl': '{"problem": "1+1"}\n' }
  const hub = await hubServer({ 'some/numbers': { commit, files, ...repo } })
  const cache = temporaryFolder()
  const env = { HF_ENDPOINT: hub.url, HF_HOME: cache }
  const read = (options: HubOptions = {}, source: Partial<HubSource> = {}) =>
    hubFiles({ ...numbers, ...source }, { env, ...options })
  return { hub, cache, env, read }
}

async function errorOf(work: Promise<unknown>): Promise<SparringError> {
  const error: unknown = await work.then(
    () => undefined,
    (cause) => cause,
  )
  expect(error).toBeInstanceOf(Error)
  return error as SparringError
}

describe('files of the Hub', () => {
  it('are fetched once, checked and kept, under the commit that the revision stands for', async () => {
    const { hub, cache, env, read } = await setUp()
    const notes: string[] = []
    const found = await read({ note: (text) => notes.push(text) })
    expect(found.commit).toBe(commit)
    expect(found.paths.map((path) => readFileSync(path))).toEqual([
      parquet,
      Buffer.from('{"problem": "1+1"}\n'),
    ])
    const folder = join(cache, 'hub/datasets--some--numbers')
    expect(found.paths[0]).toBe(join(folder, 'snapshots', commit, 'main/test.parquet'))
    expect(readFileSync(join(folder, 'refs/main'), 'utf8')).toBe(commit)
    expect(notes).toEqual([
      'fetching main/test.parquet of some/numbers',
      'fetching test.jsonl of some/numbers',
    ])

    hub.asked.length = 0
    expect(await read()).toEqual(found)
    expect(
      hub.asked.every((request) => request.startsWith('GET /api/datasets/some/numbers/revision/main?')),
    ).toBe(true)

    hub.asked.length = 0
    expect(await read({ offline: true })).toEqual(found)
    expect(await hubFiles(numbers, { env: { ...env, HF_HUB_OFFLINE: '1' } })).toEqual(found)
    expect(hub.asked).toEqual([])
  })

  it('of a branch with slashes, and of the cache folder that HF_HUB_CACHE names', async () => {
    const { env, read } = await setUp()
    const folder = temporaryFolder()
    const found = await read({ env: { ...env, HF_HUB_CACHE: folder } }, { revision: 'refs/convert/parquet' })
    expect(found.commit).toBe(commit)
    expect(readFileSync(join(folder, 'datasets--some--numbers/refs/refs/convert/parquet'), 'utf8')).toBe(
      commit,
    )
  })

  it('come from the cache where the Hub cannot be reached', async () => {
    const { hub, read } = await setUp()
    const found = await read()
    await hub.close()
    expect(await read()).toEqual(found)
    const error = await errorOf(read({}, { files: ['other.jsonl'] }))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toMatch(/^The Hub could not be asked for some\/numbers: .*ECONNREFUSED/)
    expect(error.hint).toContain('--data')
  })

  it('need a cache that holds them when offline', async () => {
    const { read } = await setUp()
    const error = await errorOf(read({ offline: true }))
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toMatch(/offline, and main\/test\.parquet of some\/numbers is not in the cache/)
  })

  it('need a token where the data set is gated', async () => {
    const { env, read } = await setUp({ token: 'hf_right' })
    const error = await errorOf(read())
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toContain('does not let some/numbers be read (HTTP 401)')
    expect(error.hint).toContain('HF_TOKEN')
    expect((await read({ env: { ...env, HF_TOKEN: 'hf_right' } })).commit).toBe(commit)
    const malformed = await errorOf(read({ env: { ...env, HF_TOKEN: 'wrong' } }))
    expect(malformed).toBeInstanceOf(ConfigError)
    expect(malformed.message).toContain('HF_TOKEN')
  })

  it('that are not there are named', async () => {
    const { read } = await setUp()
    const file = await errorOf(read({}, { files: ['gone.parquet'] }))
    expect(file.message).toBe('some/numbers has no file gone.parquet at commit 740312a.')
    const revision = await errorOf(read({}, { revision: 'v2' }))
    expect(revision.message).toBe('The Hub has no data set some/numbers with the revision v2.')
    expect((await errorOf(read({}, { repo: 'some/thing' }))).message).toContain(
      'it is gated, private or not there',
    )
  })

  it('are asked for again when the Hub is busy, and refused when it stays so', async () => {
    const { hub, read } = await setUp()
    hub.failures.push(503)
    expect((await read()).commit).toBe(commit)
    hub.failures.push(500, 500, 500)
    const error = await errorOf(read({}, { files: ['gone.jsonl'] }))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toBe('The Hub failed over some/numbers: HTTP 500.')
  })

  it('that arrive damaged do not count', async () => {
    const { hub, cache, read } = await setUp({ damaged: ['main/test.parquet'] })
    const error = await errorOf(read())
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message).toContain('test.parquet arrived damaged')
    expect(
      existsSync(join(cache, 'hub/datasets--some--numbers/snapshots', commit, 'main/test.parquet')),
    ).toBe(false)
    hub.repos['some/numbers']!.damaged = []
    expect(readFileSync((await read()).paths[0]!)).toEqual(parquet)
  })

  it('come through a proxy, where one is set', async () => {
    const { hub, env, read } = await setUp()
    const { url: http_proxy, tunnels } = await proxyServer(hub.url)
    const found = await read({ env: { ...env, HF_ENDPOINT: 'http://hub.invalid', http_proxy } })
    expect(readFileSync(found.paths[0]!)).toEqual(parquet)
    expect(new Set(tunnels)).toEqual(new Set(['hub.invalid:80']))
    const error = await errorOf(read({ env: { ...env, http_proxy: 'nonsense' } }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toMatch(/^The proxy that http_proxy or https_proxy names cannot be used/)
  })

  it('are given up when told to', async () => {
    const { read } = await setUp()
    const error = await errorOf(read({ signal: AbortSignal.abort() }))
    expect(error.name).toBe('AbortError')
  })
})
