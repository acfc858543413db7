import { describe, expect, it } from 'vitest'
import { config as schema } from './config.js'
import { comparesWithStart, learnerOf } from './schedule.js'

const turns = (settings: object, rounds: number) => {
  const config = schema.parse(settings)
  return Array.from({ length: rounds }, (_, round) => learnerOf(round, config)[0]).join('')
}

describe('learnerOf', () => {
  it('warms the critic up and then gives the solver three rounds to one', () => {
    expect(turns({ warmup: 4 }, 13)).toBe('ccccssscsssc' + 's')
    expect(turns({}, 41)).toBe(`${'c'.repeat(40)}s`)
    expect(turns({ warmup: 0, solver_turns: 1, critic_turns: 2 }, 6)).toBe('sccscc')
  })

  it('leaves all rounds to the solver where the critic is frozen', () => {
    expect(turns({ warmup: 4, frozen: 'critic' }, 6)).toBe('ssssss')
  })
})

describe('comparesWithStart', () => {
  it('counts rounds of the critic only', () => {
    const config = schema.parse({ warmup: 3, drift_every: 2 })
    const rounds = Array.from({ length: 16 }, (_, round) => round).filter((round) =>
      comparesWithStart(round, config),
    )
    expect(rounds).toEqual([0, 2, 10])
    const critic = Array.from({ length: 16 }, (_, round) => round).filter(
      (round) => learnerOf(round, config) === 'critic',
    )
    expect(critic.filter((_, i) => i % 2 === 0)).toEqual(rounds)
    expect(comparesWithStart(0, schema.parse({ drift_every: 0 }))).toBe(false)
  })
})
