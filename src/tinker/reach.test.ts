/** The first contact with a server: what is wrong with the address, the key or what lies in between shows at once. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { pageServer } from '../../test/support/page-server.js'
import { proxyServer } from '../../test/support/proxy-server.js'
import { connected, serve } from '../../test/support/tinker-client.js'
import { Auth, ServerError, Transport } from './errors.js'
import { connect } from './service.js'

/** An address at which nothing listens. */
const nowhere = 'http://127.0.0.1:9'
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  )

describe('a server that is not there', () => {
  it.each([
    [nowhere, /connect ECONNREFUSED 127\.0\.0\.1:9\.$/],
    ['http://no-such-host.invalid', /(ENOTFOUND|EAI_AGAIN) no-such-host\.invalid\.$/],
  ])('is given up soon, in one sentence that names the setting: %s', async (baseUrl, why) => {
    const warnings: string[] = []
    const settings = { url: 'roles.solver.url' }
    const patience = { backoffMs: 5, reachMs: 300 }
    const onWarning = (sentence: string) => warnings.push(sentence)
    const error = await errorOf(connect({ baseUrl, settings, patience, onWarning, dialect: 'skyrl' }))
    expect(error).toBeInstanceOf(Transport)
    expect(error.message).toContain(`No server answers at ${baseUrl} (roles.solver.url): `)
    expect(error.message).toMatch(why)
    expect(error.hint).toContain('Start the server or correct its address')
    if (baseUrl === nowhere) expect(warnings).toEqual([expect.stringContaining('trying for 0 s')])
  })

  it('is waited for no longer than 15 s unless told otherwise, and for as long as any other once it answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const failed = errorOf(connect({ baseUrl: nowhere, dialect: 'skyrl' }))
    let over = false
    void failed.then(() => {
      over = true
    })
    const begun = performance.now()
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve))
      vi.advanceTimersByTime(50)
    }
    expect((await failed).message).toContain('(baseUrl)')
    expect(performance.now() - begun).toBeLessThan(20_000)
    vi.useRealTimers()

    const server = await serve({ dialect: 'skyrl' })
    const service = await connected(server, { patience: { reachMs: 50, giveUpMs: 5000 } })
    server.kill()
    setTimeout(() => void server.restart(), 500)
    await service.createSession()
  })

  it('is not waited for once the signal ends', async () => {
    const ending = new AbortController()
    const opening = connect({ baseUrl: nowhere, dialect: 'skyrl', signal: ending.signal })
    setTimeout(() => ending.abort(), 50)
    const begun = performance.now()
    await expect(opening).rejects.toMatchObject({ name: 'AbortError' })
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})

describe('a key that is missing', () => {
  it('is said before anything is asked, where the kind of server needs one', async () => {
    vi.stubEnv('TINKER_API_KEY', '')
    vi.stubEnv('TINKER_BASE_URL', '')
    const server = await serve({ dialect: 'hosted' })
    for (const options of [{}, { baseUrl: server.url, dialect: 'hosted' as const }]) {
      const error = await errorOf(connect(options))
      expect(error).toBeInstanceOf(Auth)
      expect(error).toMatchObject({ code: 'auth', exitStatus: 2 })
      expect(error.message).toMatch(/ wants a key, and TINKER_API_KEY is not set\.$/)
      expect(error.hint).toContain('TINKER_API_KEY')
    }
    expect(server.log.requests).toEqual([])
    vi.unstubAllEnvs()
  })
})

describe('what lies in between', () => {
  it('may be a proxy of the environment, which is asked for all but this machine', async () => {
    const server = await serve({ dialect: 'skyrl' })
    const proxy = await proxyServer(server.url)
    vi.stubEnv('http_proxy', proxy.url)
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const far = await connected({ url: 'http://server.invalid', profile: { dialect: 'skyrl' } })
    expect(far.models.map(({ model_name }) => model_name)).toEqual(['tiny'])
    expect(new Set(proxy.tunnels)).toEqual(new Set(['server.invalid:80']))
    vi.stubEnv('http_proxy', nowhere)
    expect((await connected(server)).models).toHaveLength(1)
    const lost = connect({
      baseUrl: 'http://server.invalid',
      dialect: 'skyrl',
      patience: { backoffMs: 5, reachMs: 100 },
    })
    await expect(lost).rejects.toThrow(/No server answers at .*: the proxy fails: connect ECONNREFUSED/)
  })

  it('may be a login, whose page is no answer', async () => {
    const { url: baseUrl } = await pageServer()
    const error = await errorOf(connect({ baseUrl, patience: { backoffMs: 5 } }))
    expect(error).toBeInstanceOf(ServerError)
    expect(error.message).toMatch(/ failed 4 times in a row: a web page in the place of an answer\.$/)
  })
})
