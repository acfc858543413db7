import { describe, expect, it } from 'vitest'
import { turnOf } from './schedule.js'

describe('turnOf', () => {
  it('gives each phase its rounds in turn, and begins again', () => {
    const lengths = { challenger_rounds: 2, pool_rounds: 1, solver_rounds: 3 }
    const turns = Array.from({ length: 8 }, (_, round) => turnOf(round, lengths))
    expect(turns.map(({ iteration, phase, index }) => `${iteration} ${phase} ${index}`)).toEqual([
      '0 challenger 0',
      '0 challenger 1',
      '0 pool 0',
      '0 solver 0',
      '0 solver 1',
      '0 solver 2',
      '1 challenger 0',
      '1 challenger 1',
    ])
  })

  it('may leave the challenger as it is', () => {
    expect(turnOf(0, { challenger_rounds: 0, pool_rounds: 1, solver_rounds: 1 }).phase).toBe('pool')
  })
})
