import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { characterTokenizer, scriptedPolicy } from '../../../test/support/scripted.js'
import type { RawLogprobs, Rollout } from '../../core/rollout.js'
import type { Tokenizer } from '../../engine/engine.js'
import {
  otherEnding,
  readVerdict,
  sampledEnding,
  tokensForText,
  verdictText,
  verdictToken,
  yesProbabilities,
} from './verdict.js'

function rolloutOf(text: string, tokenizer: Tokenizer = characterTokenizer, logprob = -0.5): Rollout {
  const tokens = tokenizer.encode(text)
  const logprobs = new Float32Array(tokens.length).fill(logprob) as RawLogprobs
  return { request: 0, index: 0, tokens, logprobs, stop: 'eos', text, version: 0 }
}

describe('readVerdict', () => {
  it.each<[string, 0 | 1 | undefined]>([
    ['37+48=85\n**YES**\nAll holds.', 1],
    ['**NO**', 0],
    ['** NO **', 0],
    ['YES, but **NO**', 0],
    ['**YES** and **NO**', 1],
    ['It is fine: YES', 1],
    ['YESTERDAY', undefined],
    ['yes', undefined],
    ['**Yes**', undefined],
    ['NOT sure', undefined],
    ['', undefined],
    ['*YES*', 1],
  ])('%j: %s', (text, verdict) => {
    expect(readVerdict(text)?.verdict).toBe(verdict)
  })

  it('reads back what is taught, and tells where the word stands', () => {
    const part = fc.string().filter((text) => !/YES|NO/.test(text))
    fc.assert(
      fc.property(part, fc.constantFrom<0 | 1>(0, 1), part, (analysis, verdict, rationale) => {
        const text = verdictText(analysis, verdict, rationale)
        const read = readVerdict(text)!
        expect(read.verdict).toBe(verdict)
        expect(text.startsWith(verdict === 1 ? 'YES' : 'NO', read.at)).toBe(true)
      }),
    )
  })

  it('keeps the verdict wherever a rationale is cut off', () => {
    const text = verdictText('37+48=85', 1, 'Every step holds, and NO step is missing.')
    const end = text.indexOf('\n', 10)
    for (let cut = end; cut < text.length; cut++) expect(readVerdict(text.slice(0, cut))?.verdict).toBe(1)
  })
})

/** The pieces are tokens, the later before the earlier; every other character is one. */
function pieceTokenizer(...pieces: string[]): Tokenizer {
  const vocabulary = ['', ...pieces]
  return {
    ...characterTokenizer,
    encode(text) {
      const ids: number[] = []
      for (let at = 0; at < text.length; ) {
        const id = vocabulary.findLastIndex((piece) => piece !== '' && text.startsWith(piece, at))
        ids.push(id > 0 ? id : 1000 + text.charCodeAt(at))
        at += id > 0 ? vocabulary[id]!.length : 1
      }
      return Int32Array.from(ids)
    },
    decode: (tokens) =>
      Array.from(tokens, (id) => (id < 1000 ? vocabulary[id]! : String.fromCharCode(id - 1000))).join(''),
  }
}

describe('verdictToken', () => {
  const place = (text: string, tokenizer: Tokenizer) => {
    const rollout = rolloutOf(text, tokenizer)
    const found = verdictToken(tokenizer, { prompt: Int32Array.of(1), rollout, read: readVerdict(text)! })
    return found && [tokenizer.decode([rollout.tokens[found.at]!]), tokenizer.decode([found.other])]
  }

  it('is the letter of a character tokenizer', () => {
    expect(place('ok **YES** so', characterTokenizer)).toEqual(['Y', 'N'])
    expect(place('ok **NO**', characterTokenizer)).toEqual(['N', 'Y'])
  })

  it('is the word, with what is glued to it', () => {
    expect(place('ok **YES**', pieceTokenizer('YES', 'NO', '**'))).toEqual(['YES', 'NO'])
    expect(place('ok **NO**', pieceTokenizer('**', '**YES', '**NO'))).toEqual(['**NO', '**YES'])
    expect(place('ok YES', pieceTokenizer(' YES', ' NO'))).toEqual([' YES', ' NO'])
  })

  it('is not there where a token does not tell the words apart', () => {
    const blind: Tokenizer = { ...characterTokenizer, encode: (text) => new Int32Array(text.length).fill(7) }
    expect(place('**YES**', blind)).toBeUndefined()
  })
})

describe('yesProbabilities', () => {
  const prompt = characterTokenizer.encode('judge')
  const ask = (text: string, own: number, other: number, temperature: number) => {
    const policy = scriptedPolicy(() => '')
    policy.logprobs = async (sequences) =>
      sequences.map(({ targets }) => new Float32Array(targets.length).fill(other))
    const question = { prompt, rollout: rolloutOf(text, characterTokenizer, own), read: readVerdict(text)! }
    return yesProbabilities(policy, [question], temperature)
  }

  it('is the softmax over the two words, at the temperature they were sampled at', async () => {
    const p = [0.6, 0.2] as const
    const log = p.map(Math.log) as [number, number]
    expect((await ask('**YES**', ...log, 1))[0]).toBeCloseTo(0.75, 6)
    expect((await ask('**NO**', ...log, 1))[0]).toBeCloseTo(0.25, 6)
    expect((await ask('**YES**', ...log, 0.5))[0]).toBeCloseTo(0.9, 6)
    expect((await ask('**YES**', ...log, 0))[0]).toBeCloseTo(0.75, 6)
  })

  it('scores the sampled analysis with the other word behind it', () => {
    const rollout = rolloutOf('12 **YES** so')
    const question = { prompt, rollout, read: readVerdict(rollout.text)! }
    const token = verdictToken(characterTokenizer, question)!
    const text = (sequence: { tokens: Int32Array; targets: Int32Array }) =>
      characterTokenizer.decode(sequence.tokens) + characterTokenizer.decode(sequence.targets.slice(-1))
    expect(text(otherEnding(question, token))).toBe('judge12 **N')
    expect(text(sampledEnding(question, token))).toBe('judge12 **Y')
  })
})

it('tokensForText finds the least number of tokens that hold so many characters', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.nat(), (text, at) => {
      const length = at % (text.length + 1)
      expect(tokensForText(characterTokenizer, characterTokenizer.encode(text), length)).toBe(length)
    }),
  )
  const tokenizer = pieceTokenizer('abc')
  expect(tokensForText(tokenizer, tokenizer.encode('abcabc'), 4)).toBe(2)
})
