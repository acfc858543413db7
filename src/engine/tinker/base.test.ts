import { describe, expect, it } from 'vitest'
import { chooseBaseModel } from './base.js'

const url = 'http://gpu:8000'
const choose = (
  remote: { name?: string; baseModel?: string },
  served: string[],
  model = '/models/Qwen3-0.6B',
) => chooseBaseModel({ model, remote }, served, url)

describe('the name of the base model', () => {
  it.each<[string, { name?: string; baseModel?: string }, string[], string]>([
    ['as it was set', { baseModel: 'b', name: 'a' }, ['a', 'b'], 'b'],
    ['as it was set, where the server lists nothing', { baseModel: 'b' }, [], 'b'],
    ['as the user names it', { name: 'Qwen/Qwen3-0.6B' }, ['Qwen/Qwen3-0.6B', 'other'], 'Qwen/Qwen3-0.6B'],
    [
      'without the revision',
      { name: 'Qwen/Qwen3-0.6B@c1899de' },
      ['x', 'Qwen/Qwen3-0.6B'],
      'Qwen/Qwen3-0.6B',
    ],
    ['its folder', { name: '../models/Qwen3-0.6B' }, ['x', '/models/Qwen3-0.6B'], '/models/Qwen3-0.6B'],
    ["its folder's name", { name: '../models/Qwen3-0.6B' }, ['x', 'Qwen3-0.6B'], 'Qwen3-0.6B'],
    ["the server's only model", { name: 'models/tiny' }, ['/srv/weights'], '/srv/weights'],
  ])('is %s', (_, remote, served, expected) => {
    expect(choose(remote, served)).toBe(expected)
  })

  it('must be told where it is not clear', () => {
    expect(() => choose({ name: 'models/tiny' }, ['a', 'b'])).toThrow(/does not serve models\/tiny/)
    expect(() => choose({ baseModel: 'Qwen3-0.6b' }, ['Qwen3-0.6B', 'x'])).toThrow(
      /does not serve the model Qwen3-0.6b/,
    )
  })
})
