import { describe, expect, it } from 'vitest'
import { connected, dialects, serve } from '../../test/support/tinker-client.js'
import { ConfigError } from '../core/errors.js'
import { recogniseDialect } from './dialect.js'
import { connect } from './service.js'

const model = { model_name: 'Qwen/Qwen3-8B' }

describe('recogniseDialect', () => {
  it('goes by what servers say of themselves', () => {
    expect(recogniseDialect([model], undefined)).toBe('openrl')
    expect(recogniseDialect([model], { pjwt_auth_enabled: false })).toBe('skyrl')
    expect(recogniseDialect([{ ...model, capabilities: ['training'] }], {})).toBe('tuft')
    expect(recogniseDialect([model], { parallel_fwdbwd_chunks: false })).toBe('tuft')
    expect(recogniseDialect([{ ...model, max_context_length: 32768 }], {})).toBe('hosted')
    expect(recogniseDialect([model], { fwdbwd_max_chunk_len: 1024 })).toBe('hosted')
  })

  it('takes no server that lists no runs for SkyRL', async () => {
    const server = await serve({ dialect: 'skyrl' })
    server.fault({ on: 'training_runs', kind: 'status', status: 404 })
    expect((await connected(server)).profile.dialect).toBe('openrl')
  })
})

describe('connect', () => {
  it('takes the dialect that is named', async () => {
    const server = await serve({ dialect: 'skyrl' })
    for (const dialect of dialects)
      expect((await connected(server, { dialect })).profile.dialect).toBe(dialect)
  })

  it('takes an address with /api/v1 or a slash at its end, and none with keys in it', async () => {
    const server = await serve({ dialect: 'skyrl' })
    for (const end of ['/', '/api/v1', '/api/v1/'])
      expect((await connected({ url: `${server.url}${end}` })).url).toBe(server.url)
    for (const baseUrl of ['localhost:8000', 'nonsense', 'http://user:key@localhost'])
      await expect(connect({ baseUrl })).rejects.toThrow(ConfigError)
  })
})
