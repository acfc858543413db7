import { describe, expect, it } from 'vitest'
import { adam, connected, datum, dialects, serve, spec } from '../../test/support/tinker-client.js'
import { ConfigError } from '../core/errors.js'
import { recogniseDialect, statedDialect } from './dialect.js'
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
    server.fault({ on: 'openapi', kind: 'status', status: 404 })
    expect((await connected({ url: server.url })).profile.dialect).toBe('openrl')
  })
})

describe('a server that does not say what it is', () => {
  it.each(['hosted', 'skyrl', 'tuft'] as const)(
    'like %s is told of, and given no step twice',
    async (dialect) => {
      const server = await serve({ dialect })
      server.fault({ on: 'openapi', kind: 'status', status: 404 })
      const warnings: string[] = []
      const service = await connected({ url: server.url }, { onWarning: (warning) => warnings.push(warning) })
      expect(service.profile.dialect).toBe(dialect)
      expect(warnings).toEqual([
        expect.stringContaining(`is taken for ${dialect}: a step whose answer is lost`),
      ])
      const model = await (await service.createSession()).createModel(spec)
      server.fault({ on: 'optim_step', kind: 'status', status: 502, processed: true })
      await expect(model.optimStep(adam)).rejects.toMatchObject({ blame: 'lost', applied: 'unknown' })
      expect(server.log.count('optim_step')).toBe(1)
      server.fault({ on: 'forward_backward', kind: 'lose', applied: true })
      await expect(model.forwardBackward([datum()], { name: 'cross_entropy' })).rejects.toMatchObject({
        blame: 'lost',
      })
      expect(server.log.count('forward_backward')).toBe(1)
    },
  )

  it('is told by its own description alone', () => {
    const described = (title: string, ...paths: string[]) => ({
      info: { title },
      paths: Object.fromEntries(paths.map((path) => [`/api/v1/${path}`, {}])),
    })
    expect(statedDialect(described('TuFT', 'forward_backward'))).toBe('tuft')
    expect(statedDialect(described('Tinker API Mock', 'forward_backward'))).toBe('skyrl')
    expect(statedDialect(described('Tinker API Mock', 'forward_backward', 'forward'))).toBeUndefined()
    expect(statedDialect(described('Open-RL'))).toBeUndefined()
    expect(statedDialect('<html>')).toBeUndefined()
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
