import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../core/paths.js'
import type { RawLogprobs, Rollout } from '../../core/rollout.js'
import type { Tokenizer } from '../../engine/engine.js'
import { readModelConfig } from '../../engine/hf/config.js'
import { loadTokenizer } from '../../engine/hf/tokenizer.js'
import { completionFields, tokenLengths } from './completion.js'

const folder = `${projectRoot()}/models/tiny`
const tiny = await loadTokenizer(folder, await readModelConfig(folder))

function rollout(tokens: ArrayLike<number>, text: string): Rollout {
  const logprobs = Float32Array.from(tokens, (_, i) => -i / 3) as RawLogprobs
  return { request: 0, index: 0, tokens: Int32Array.from(tokens), logprobs, stop: 'eos', text, version: 0 }
}

/** Of bytes: a character may take several tokens, and what is not whole reads as U+FFFD. */
const bytes: Tokenizer = {
  vocabSize: 256,
  eosIds: [0],
  encode: (text) => Int32Array.from(new TextEncoder().encode(text)),
  decode: (tokens) => new TextDecoder().decode(Uint8Array.from(tokens).filter((byte) => byte !== 0)),
  encodeChat: () => new Int32Array(),
}

/** Of words: a space in front is left out at the beginning of what is decoded. */
const words = ['a', ' bee', ' sea']
const spaced: Tokenizer = {
  ...bytes,
  decode: (tokens) =>
    Array.from(tokens, (token) => words[token])
      .join('')
      .trimStart(),
}

describe('tokenLengths', () => {
  it('shares a text among its tokens, the end-of-text token having none of it', () => {
    const text = '12+7=19 \\boxed{19}'
    const tokens = [...tiny.encode(text), tiny.eosIds[0]!]
    const lengths = tokenLengths(rollout(tokens, text), tiny)
    expect(lengths).toEqual([...'12+7=19 '].map(() => 1).concat(7, 1, 1, 1, 0))
  })

  it('gives a character of several tokens to the one that completes it', () => {
    const text = 'né 😀!'
    const lengths = tokenLengths(rollout(bytes.encode(text), text), bytes)
    expect(lengths).toEqual([1, 0, 1, 1, 0, 0, 0, 2, 1])
  })

  it('reads a token behind the one before it', () => {
    expect(tokenLengths(rollout([0, 1, 2], 'a bee sea'), spaced)).toEqual([1, 4, 4])
    expect(tokenLengths(rollout([1, 2, 0], 'bee seaa'), spaced)).toEqual([3, 4, 1])
  })

  it('ends where a stop string was cut off', () => {
    expect(tokenLengths(rollout(bytes.encode('7</s>'), '7'), bytes)).toEqual([1, 0, 0, 0, 0])
  })
})

it('writes log-probabilities to three decimals', () => {
  expect(completionFields(rollout(bytes.encode('abc'), 'abc'), bytes)).toEqual({
    text: 'abc',
    tokens: 3,
    stop: 'eos',
    logprob: expect.closeTo(-1 / 3, 6),
    token_lengths: [1, 1, 1],
    token_logprobs: [-0, -0.333, -0.667],
  })
})
