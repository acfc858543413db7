import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BigRun } from '../../../test/support/big-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { address } from '../api/address.js'
import type { LiveEvent } from '../api/live.js'
import { Library } from '../reader/library.js'
import { createApp } from './app.js'

/** Events of a stream, as a browser would read them. */
async function listen(folder: string, run?: string, since?: number) {
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const app = createApp({
    library: await Library.at(folder),
    page: new Map(),
    doors: { host: '127.0.0.1', names: [] },
    signal: ending.signal,
  })
  const response = await app.request(address.events(run, since), { headers: { host: 'localhost' } })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    /** The next event of a kind. */
    async next<Kind extends LiveEvent['kind']>(kind: Kind): Promise<Extract<LiveEvent, { kind: Kind }>> {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end < 0) {
          const { value, done } = await reader.read()
          if (done) throw new Error(`the stream ended before ${kind}`)
          text += value
          continue
        }
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        const event = data && JSON.parse(data)
        if (event?.kind === kind) return event
      }
    },
    end: () => ending.abort(),
    ended: async () => {
      while (!(await reader.read()).done);
      return true
    },
  }
}

describe('events', () => {
  it('tell of runs that come, play on and go, of rounds, of alarms and of going back', async () => {
    const folder = temporaryFolder()
    const run = new BigRun(join(folder, 'run'), { rounds: 20, alarm: 4, every: 2 })
    for (let round = 0; round <= 2; round++) run.play(round)
    const events = await listen(folder, 'run', 1)
    expect((await events.next('runs')).runs.map(({ id, round }) => [id, round])).toEqual([['run', 2]])
    const missed = await events.next('rounds')
    expect([missed.from, missed.to, missed.metrics.from]).toEqual([2, 2, [2]])

    run.play(3)
    run.play(4)
    const { from, to, metrics } = await events.next('rounds')
    expect([from, to, metrics.columns['solver/loss']!.mean.length]).toEqual([3, 4, 2])
    expect((await events.next('alarms')).alarms).toMatchObject([{ name: 'valid_questions_low', round: 4 }])
    expect((await events.next('runs')).runs).toMatchObject([{ id: 'run', round: 4, anchor: { before: 0.6 } }])

    const file = join(folder, 'run', 'metrics.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    truncateSync(file, lines.slice(0, 2).join('\n').length + 1)
    expect((await events.next('reset')).round).toBe(1)

    rmSync(join(folder, 'run'), { recursive: true })
    let gone: string[] = []
    while (gone.length === 0) gone = (await events.next('runs')).gone
    expect(gone).toEqual(['run'])
    events.end()
    expect(await events.ended()).toBe(true)
  })
})

describe('a stream', () => {
  it('ends its looking when the browser goes, and never begins it for a request of headers', async () => {
    const folder = temporaryFolder()
    BigRun.write(join(folder, 'run'), { rounds: 1 })
    const library = await Library.at(folder)
    let looks = 0
    const list = library.list.bind(library)
    library.list = () => {
      looks++
      return list()
    }
    const ending = new AbortController()
    onTestFinished(() => ending.abort())
    const app = createApp({
      library,
      page: new Map(),
      doors: { host: '127.0.0.1', names: [] },
      signal: ending.signal,
    })
    const ask = (method: string) => app.request(address.events(), { method, headers: { host: 'localhost' } })
    await ask('HEAD')
    expect(looks).toBe(0)
    const reader = (await ask('GET')).body!.getReader()
    await reader.read()
    await expect.poll(() => looks, { timeout: 10_000 }).toBeGreaterThan(1)
    await reader.cancel()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const then = looks
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(looks).toBe(then)
  })
})

describe('a run that another process writes', () => {
  it('never shows half a record', async () => {
    const folder = temporaryFolder()
    const rounds = 40
    BigRun.write(join(folder, 'made'), { rounds })
    const target = join(folder, 'live')
    mkdirSync(join(target, 'checkpoints'), { recursive: true })
    copyFileSync(join(folder, 'made', 'config.json'), join(target, 'config.json'))
    const script = fileURLToPath(new URL('../../../test/support/slow-writer.js', import.meta.url))
    const writer = spawn(process.execPath, [script, join(folder, 'made'), target])
    onTestFinished(() => void writer.kill())
    const isOver = once(writer, 'close').then(() => true)
    const library = await Library.at(folder)
    let seen = 0
    const looks = new Set<number>()
    for (let over = false; !over; ) {
      over = await Promise.race([
        isOver,
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 5)),
      ])
      const run = (await library.open('live'))!
      const { damaged, round, metrics } = await run.detail()
      expect(damaged).toEqual([])
      expect(round).toBeGreaterThanOrEqual(seen)
      seen = round
      looks.add(round)
      if (run.metrics.lastRound < 1) continue
      const { columns } = run.columns({ names: metrics.map(({ name }) => name), from: 1 })
      for (const { mean } of Object.values(columns)) expect(mean).toHaveLength(run.metrics.lastRound)
      const { rows, total } = await run.rollouts({
        from: run.metrics.lastRound,
        to: run.metrics.lastRound,
        limit: 200,
      })
      expect([total, rows.length]).toEqual([100, 100])
      for (const row of rows) expect(row.tokens).toBeGreaterThan(20)
    }
    expect(seen).toBe(rounds)
    expect(looks.size).toBeGreaterThan(3)
  })
})
