import { describe, expect, it } from 'vitest'
import type { RolloutRecord } from '../../src/games/game.js'
import { type RoleCost, workOf } from './work.js'

const cost = (kl: boolean): RoleCost => ({ tokensOf: (prompt) => prompt.length, kl })

const rollout = (given: Partial<RolloutRecord>): RolloutRecord => ({
  role: 'solver',
  group: 0,
  index: 0,
  prompt: '12345',
  text: '',
  tokens: 10,
  stop: 'eos',
  logprob: 0,
  token_lengths: [],
  token_logprobs: [],
  reward: 0,
  parts: {},
  advantage: 0,
  trained: false,
  ...given,
})

describe('workOf', () => {
  it('reads a prompt once for all its completions', () => {
    const work = workOf([rollout({}), rollout({ index: 1 }), rollout({ group: 1 })], cost(false))
    expect(work).toEqual({ passes: 2 * 5 + 3 * 10, sampled: 30, trained: 0, seconds: 0 })
  })

  it('reads each of the prompts of a group', () => {
    const work = workOf([rollout({}), rollout({ prompt: '1' })], cost(false))
    expect(work.passes).toBe(5 + 1 + 20)
  })

  it('passes three times over what is trained on, prompt included', () => {
    const { passes, trained } = workOf([rollout({ trained: true, advantage: -1 })], cost(false))
    expect(trained).toBe(10)
    expect(passes).toBe(15 + 3 * 15)
  })

  it('leaves out of the training what has no advantage, unless there is a KL term', () => {
    const idle = [rollout({ trained: true }), rollout({ advantage: 1 })]
    expect(workOf(idle, cost(false)).trained).toBe(0)
    expect(workOf(idle, cost(true))).toMatchObject({ trained: 10, passes: 25 + 4 * 15 })
  })
})
