import { describe, expect, it } from 'vitest'
import { WaitPace } from './lines.js'

describe('WaitPace', () => {
  it('tells of a wait at once, then less and less often, and of the next one at once again', () => {
    const pace = new WaitPace()
    const told: number[] = []
    const hear = (at: number) => {
      const said = pace.lines({ event: 'phase', name: 'waiting', waiting: true }, at * 1000)
      if (said.length > 0) told.push(at)
    }
    for (let at = 10; at <= 300; at += 10) hear(at)
    expect(told).toEqual([10, 30, 60, 120, 180, 240, 300])
    hear(400)
    expect(told.at(-1)).toBe(400)
    expect(pace.lines({ event: 'phase', name: 'solver samples' })).toEqual([])
  })
})
