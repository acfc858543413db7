import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { mapUnordered } from './unordered.js'

async function* numbers(n: number, ended: string[] = [], signal?: AbortSignal): AsyncGenerator<number> {
  try {
    for (let i = 0; i < n; i++) {
      signal?.throwIfAborted()
      yield i
    }
  } finally {
    ended.push('source')
  }
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of stream) all.push(each)
  return all
}

describe('work on a stream', () => {
  it('gives every result, the quick ones first', async () => {
    const work = async (i: number) => {
      await sleep(i === 0 ? 50 : 1)
      return i
    }
    const results = await collect(mapUnordered(() => numbers(20), 4, work))
    expect([...results].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(results.indexOf(0)).toBeGreaterThan(3)
  })

  it('has no more under way than it may, and takes no more from the stream', async () => {
    let [running, most, taken] = [0, 0, 0]
    async function* source() {
      for (let i = 0; i < 30; i++) {
        taken++
        yield i
      }
    }
    const work = async () => {
      most = Math.max(most, ++running)
      expect(taken).toBeLessThanOrEqual(30)
      await sleep(1)
      running--
    }
    const stream = mapUnordered(source, 3, work)
    await stream.next()
    expect(taken).toBeLessThanOrEqual(5)
    await collect(stream)
    expect(most).toBe(3)
  })

  it('yields what is ready while the stream is silent', async () => {
    let go = () => {}
    async function* source() {
      yield 1
      await new Promise<void>((resolve) => {
        go = resolve
      })
      yield 2
    }
    const stream = mapUnordered(source, 8, async (i) => i)
    expect((await stream.next()).value).toBe(1)
    go()
    expect((await stream.next()).value).toBe(2)
    expect((await stream.next()).done).toBe(true)
  })

  it('ends with the first error of the work, having told the stream', async () => {
    const ended: string[] = []
    let told: AbortSignal | undefined
    const open = (signal: AbortSignal) => {
      told = signal
      return numbers(1000, ended)
    }
    const work = async (i: number) => {
      if (i === 5) throw new Error('five')
      return i
    }
    await expect(collect(mapUnordered(open, 2, work))).rejects.toThrow('five')
    expect(told!.aborted).toBe(true)
    expect(ended).toEqual(['source'])
  })

  it('ends with an error of the stream', async () => {
    async function* source() {
      yield 1
      throw new Error('no more')
    }
    await expect(collect(mapUnordered(source, 2, async (i) => i))).rejects.toThrow('no more')
  })

  it('ends when the caller says so, or stops reading', async () => {
    const abort = new AbortController()
    const ended: string[] = []
    const stream = mapUnordered(
      (signal) => numbers(1e9, ended, signal),
      4,
      async (i) => i,
      abort.signal,
    )
    await stream.next()
    abort.abort()
    await expect(collect(stream)).rejects.toMatchObject({ name: 'AbortError' })
    for await (const _ of mapUnordered(
      () => numbers(1e9, ended),
      4,
      async (i) => i,
    ))
      break
    expect(ended).toEqual(['source', 'source'])
  })
})
