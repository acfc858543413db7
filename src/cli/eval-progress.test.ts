import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WaitingProgress } from './eval-progress.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('progress of an evaluation', () => {
  it('says at least every ten seconds what it waits for, and no more once it is closed', () => {
    const said: [number, string][] = []
    const stream = { isTTY: false, write: (text: string) => said.push([Date.now(), text]) > 0 }
    const began = Date.now()
    const progress = new WaitingProgress(stream, 'sums greedy', 'm at http://x/v1', () => Date.now())
    progress.update(0, 3)
    vi.advanceTimersByTime(25_000)
    progress.update(1, 3)
    vi.advanceTimersByTime(35_000)
    expect(said.map(([, text]) => text)).toContain('waiting for m at http://x/v1: 0/3\n')
    expect(said.at(-1)![1]).toBe('waiting for m at http://x/v1: 1/3\n')
    const times = [began, ...said.map(([at]) => at), Date.now()]
    for (const [i, at] of times.slice(1).entries()) expect(at - times[i]!).toBeLessThanOrEqual(10_100)
    progress.close()
    const lines = said.length
    vi.advanceTimersByTime(60_000)
    expect(said).toHaveLength(lines)
  })

  it('adds no line on a terminal, where one stands', () => {
    const said: string[] = []
    const stream = { isTTY: true, columns: 80, write: (text: string) => said.push(text) > 0 }
    const progress = new WaitingProgress(stream, 'sums', 'm', () => Date.now())
    progress.update(0, 3)
    vi.advanceTimersByTime(60_000)
    progress.close()
    expect(said.join('')).not.toContain('waiting')
  })
})
