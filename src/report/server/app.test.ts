import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { BigRun } from '../../../test/support/big-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { address } from '../api/address.js'
import { Library } from '../reader/library.js'
import { createApp } from './app.js'

const page = new Map([
  ['index.html', { bytes: new TextEncoder().encode('<!doctype html>'), type: 'text/html; charset=utf-8' }],
  ['page.js', { bytes: new TextEncoder().encode('1;'.repeat(5000)), type: 'text/javascript; charset=utf-8' }],
])

async function server({ host = '127.0.0.1', names = [] as string[], runs = ['run'] } = {}) {
  const folder = temporaryFolder()
  for (const [i, name] of runs.entries()) BigRun.write(join(folder, name), { rounds: 3, seed: i })
  const app = createApp({
    library: await Library.at(folder),
    page,
    doors: { host, names },
    signal: new AbortController().signal,
  })
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    app.request(path, { method, headers: { host: 'localhost:7700', ...headers } })
  const json = async (path: string) => {
    const response = await get(path)
    // biome-ignore lint/suspicious/noExplicitAny: any of the answers
    return { status: response.status, body: (await response.json()) as any }
  }
  return { folder, get, json }
}

describe('who may ask', () => {
  it('is a browser that was sent to this machine by its own name', async () => {
    const { get } = await server()
    const status = async (host: string) => (await get('/api/runs', { host })).status
    for (const host of ['localhost', 'localhost:1', '127.0.0.1:7700', '127.8.9.1', '[::1]:7700', 'LOCALHOST'])
      expect([host, await status(host)]).toEqual([host, 200])
    const others = [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '192.168.1.5',
      '',
      'a:b:c',
      '[::1',
    ]
    for (const host of others) expect([host, await status(host)]).toEqual([host, 403])
  })

  it('is, of a server that others may reach, whoever names it by figures or its own name', async () => {
    const { get } = await server({ host: 'box.local' })
    const status = async (host: string) => (await get('/', { host })).status
    expect([await status('192.168.1.5:7700'), await status('box.local'), await status('localhost')]).toEqual([
      200, 200, 200,
    ])
    expect(await status('evil.example')).toBe(403)
  })

  it('is whoever uses a name that was let in, and no name below or above it', async () => {
    const { get } = await server({ names: ['node17.cluster.example'] })
    const status = async (host: string, headers = {}) => (await get('/api/runs', { host, ...headers })).status
    expect(await status('Node17.cluster.example:7700')).toBe(200)
    const origin = (name: string) => ({ origin: `https://${name}` })
    expect(await status('node17.cluster.example', origin('node17.cluster.example'))).toBe(200)
    expect(await status('node17.cluster.example', origin('evil.example'))).toBe(403)
    for (const host of ['cluster.example', 'x.node17.cluster.example', 'node17', '192.168.1.5'])
      expect([host, await status(host)]).toEqual([host, 403])
  })

  it('is no page of another origin, be it on this machine', async () => {
    const { get } = await server()
    const origin = async (value: string) => (await get('/api/runs', { origin: value })).status
    expect(await origin('http://localhost:7700')).toBe(200)
    for (const other of [
      'http://localhost:3000',
      'http://evil.example',
      'null',
      'file://',
      'http://localhost:7700.evil.example',
    ])
      expect([other, await origin(other)]).toEqual([other, 403])
    const site = async (value: string, more = {}) =>
      (await get('/', { 'sec-fetch-site': value, 'sec-fetch-mode': 'no-cors', ...more })).status
    expect([await site('same-origin'), await site('none')]).toEqual([200, 200])
    expect([await site('same-site'), await site('cross-site')]).toEqual([403, 403])
    const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect(await site('cross-site', link)).toBe(200)
    expect(await site('cross-site', { ...link, 'sec-fetch-dest': 'iframe' })).toBe(403)
  })

  it('reads and does nothing else', async () => {
    const { get } = await server()
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect([method, (await get('/api/runs', {}, method)).status]).toEqual([method, 405])
    expect((await get('/api/runs', {}, 'HEAD')).status).toBe(200)
  })
})

describe('answers', () => {
  it('let a page run only what came with it, and keep no data', async () => {
    const { get } = await server()
    for (const path of ['/', '/page.js', '/api/runs', '/nothing', '/api/runs/nothing']) {
      const { headers } = await get(path)
      const policy = headers.get('content-security-policy')
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('access-control-allow-origin')).toBeNull()
      if (path.startsWith('/api')) expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(
      (await get('/api/runs', { host: 'evil.example' })).headers.get('content-security-policy'),
    ).toContain("'none'")
  })

  it('are packed for browsers that can unpack them', async () => {
    const { get } = await server()
    const response = await get('/page.js', { 'accept-encoding': 'gzip' })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes.length).toBeLessThan(200)
    expect(gunzipSync(bytes).toString()).toBe('1;'.repeat(5000))
    expect(await (await get('/')).text()).toBe('<!doctype html>')
  })

  it('are found at the addresses that the page makes, whatever a run is called', async () => {
    const names = ['a run, 100 % odd+?&=#', 'sweep/b', 'c']
    const { json } = await server({ runs: names })
    const { body } = await json(address.runs())
    expect(body.runs.map(({ id }: { id: string }) => id).sort()).toEqual([...names].sort())
    for (const name of names) {
      expect((await json(address.run(name))).body.id).toBe(name)
      const asked = { names: ['solver/loss', 'a,b'], from: 1, points: 10 }
      const { columns, from } = (await json(address.metrics(name, asked))).body
      expect([Object.keys(columns), from]).toEqual([['solver/loss'], [1, 2, 3]])
      const list = await json(
        address.rollouts(name, { role: 'solver', reward: [-0.5, 0.5], trained: false, limit: 3 }),
      )
      for (const { reward, trained } of list.body.rows) expect([reward, trained]).toEqual([0, false])
      const ref = { round: 2, role: 'proposer', line: 3 }
      expect((await json(address.match(name, ref))).body).toMatchObject({ run: name, at: ref })
      expect((await json(address.rollout(name, ref))).body).toMatchObject(ref)
      expect(
        (await json(address.histogram(name, { of: 'reward', role: 'solver' }))).body.counts,
      ).toHaveLength(3)
      expect((await json(address.anchors(name))).body.anchors[0].name).toBe('heldout/accuracy')
      expect((await json(address.judging(name))).status).toBe(404)
    }
    const { body: comparison } = await json(address.compare(names))
    expect(comparison.differences).toEqual([{ key: 'seed', values: [0, 1, 2] }])
  })

  it('say in a sentence what was wrong, and lead to no file outside', async () => {
    const { json } = await server()
    const run = '/api/runs/run'
    const wrong: [string, number, string][] = [
      ['/api/runs/other', 404, 'no such run'],
      ['/api/runs/..%2F..%2Fetc', 404, 'no such run'],
      ['/api/runs/%E0%A4%A/metrics', 404, ''],
      ['/api/runs?folder=x', 400, 'folder is no parameter here; allowed: none.'],
      [`${run}?round=3`, 400, 'round is no parameter here; allowed: none.'],
      [`${run}/rollouts?round=abc`, 400, 'round is no parameter here; allowed: from, to, role, '],
      [`${run}/rollouts?from=abc`, 400, 'from must be a whole number >= 0.'],
      [`${run}/rollouts?from=`, 400, 'from must be a whole number >= 0.'],
      [`${run}/rollouts?from`, 400, 'from must be a whole number >= 0.'],
      [`${run}/rollouts?from=1&from=2`, 400, 'from is given twice'],
      [`${run}/rollouts?=1`, 400, 'A parameter without a name is no parameter here'],
      [`${run}/rollouts?role=`, 400, 'role is empty'],
      [`${run}/rollouts?trained=yes`, 400, 'trained must be one of true, false.'],
      [`${run}/rollouts?order=newest`, 400, 'order must be one of new, old, best, worst, random.'],
      [`${run}/rollouts?limit=0`, 400, 'limit must be a whole number from 1 to 200.'],
      [`${run}/rollouts?limit=201`, 400, 'limit must be a whole number from 1 to 200.'],
      [`${run}/rollouts?cursor=x`, 400, 'cursor must be that of the answer before.'],
      [`${run}/rollouts?reward=,1`, 400, 'reward must be two numbers'],
      [`${run}/metrics`, 400, 'names is missing'],
      [`${run}/metrics?names=`, 400, 'names is empty'],
      [`${run}/metrics?names=a&points=0`, 400, 'points must be a whole number from 1 to 20000.'],
      [
        `${run}/metrics?names=a&smooth=0.5`,
        400,
        'smooth is no parameter here; allowed: names, from, to, points.',
      ],
      [`${run}/judging?from=1.5`, 400, 'from must be a whole number >= 0.'],
      [`${run}/match?round=x&role=solver&line=0`, 400, 'round must be a whole number >= 0.'],
      [
        `${run}/match?round=1&role=solver&line=0&row=1`,
        400,
        'row is no parameter here; allowed: round, role, line.',
      ],
      ['/api/compare?runs=run,run&points=3', 400, 'points is no parameter here; allowed: runs.'],
      ['/api/events?run=run&since=x', 400, 'since must be a whole number >= 0.'],
      ['/api/events?runs=run', 400, 'runs is no parameter here; allowed: run, since.'],
      [`${run}/histogram`, 400, 'of is missing'],
      [`${run}/histogram?of=everything`, 400, 'of must be one of pass_rate, '],
      [`${run}/histogram?of=reward`, 400, 'role is missing'],
      [`${run}/rollouts?from=-1`, 400, 'from must be a whole number'],
      [`${run}/rollouts?reward=1`, 400, 'reward must be two numbers'],
      [`${run}/rollouts?reward=0,x`, 400, 'reward must be two numbers'],
      [`${run}/rollouts?text=%E0%A4%A`, 400, 'not encoded'],
      [`${run}/match?round=1`, 400, 'named by round, role and line'],
      [`${run}/match?round=99&role=solver&line=0`, 404, 'no such thing'],
      [`${run}/match?round=1&role=solver&line=9999`, 404, 'no such thing'],
      [`${run}/rollout?round=1&role=..%2F..%2F..%2Fconfig&line=0`, 404, 'no such thing'],
      [`${run}/rollout?round=1&role=..%5C..%5Cmetrics&line=0`, 404, 'no such thing'],
      ['/api/compare?runs=run', 400, 'two to 4'],
      ['/api/compare?runs=run,other', 404, 'not in the folder'],
      ['/api/nothing', 404, 'nothing at this address'],
      ['/..%2f..%2fpackage.json', 404, 'nothing at this address'],
    ]
    for (const [path, status, words] of wrong) {
      const { body, ...answer } = await json(path)
      expect({ path, ...answer }).toEqual({ path, status })
      expect(body.error).toContain(words)
      expect(Object.keys(body)).toEqual(['error', 'hint'])
    }
  })
})
