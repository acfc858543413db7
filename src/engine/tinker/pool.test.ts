import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { inParallel } from './pool.js'

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of stream) found.push(item)
  return found
}

describe('work in parallel', () => {
  it('is bounded, and gives every result once, when it is there', async () => {
    const ends = new Map<number, (value: number) => void>()
    const work = (item: number) => new Promise<number>((resolve) => ends.set(item, resolve))
    const end = (item: number) => ends.get(item)!(item)
    const stream = inParallel([0, 1, 2, 3], 2, work)
    const first = stream.next()
    expect([...ends.keys()]).toEqual([0, 1])
    end(1)
    expect((await first).value).toBe(1)
    expect([...ends.keys()]).toEqual([0, 1, 2])
    end(2)
    expect((await stream.next()).value).toBe(2)
    end(3)
    end(0)
    expect((await all(stream)).sort()).toEqual([0, 3])
  })

  it('ends at the first failure, and begins nothing more', async () => {
    const begun: number[] = []
    const work = async (item: number) => {
      begun.push(item)
      await sleep(1)
      if (item === 1) throw new Error('no')
      return item
    }
    await expect(all(inParallel([0, 1, 2, 3, 4, 5], 2, work))).rejects.toThrow('no')
    await sleep(10)
    expect(begun.length).toBeLessThan(6)
  })

  it.each(['the signal', 'leaving the loop'])('is ended by %s', async (how) => {
    const signals: AbortSignal[] = []
    const stopper = new AbortController()
    const work = async (item: number, signal: AbortSignal) => {
      signals.push(signal)
      await sleep(item)
      return item
    }
    const stream = inParallel([1, 500, 500], 3, work, stopper.signal)
    const reading = async () => {
      for await (const _ of stream) {
        if (how === 'leaving the loop') break
        stopper.abort()
      }
    }
    if (how === 'leaving the loop') await reading()
    else await expect(reading()).rejects.toThrow(/abort/i)
    expect(signals.every(({ aborted }) => aborted)).toBe(true)
  })
})
