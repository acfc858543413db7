/** What a record says of a sampled completion itself. */
import type { Rollout } from '../../core/rollout.js'
import type { Tokenizer } from '../../engine/engine.js'
import type { RolloutRecord } from '../game.js'
import { meanLogprob } from './metrics.js'

type Completion = Pick<
  RolloutRecord,
  'text' | 'tokens' | 'stop' | 'logprob' | 'token_lengths' | 'token_logprobs'
>

export function completionFields(rollout: Rollout, tokenizer: Tokenizer): Completion {
  return {
    text: rollout.text,
    tokens: rollout.tokens.length,
    stop: rollout.stop,
    logprob: meanLogprob(rollout),
    token_lengths: tokenLengths(rollout, tokenizer),
    token_logprobs: Array.from(rollout.logprobs, (logprob) => Math.round(logprob * 1000) / 1000),
  }
}

const decodedAlone = new WeakMap<Tokenizer, Map<number, string>>()

/**
 * Characters of the completion's text that each of its tokens stands for, in UTF-16 code units. A token that holds a part
 * of a character counts 0 and the one that completes it the whole; so does what ends the text and is not in it.
 */
export function tokenLengths({ tokens, text }: Rollout, tokenizer: Tokenizer): number[] {
  const alone = decodedAlone.get(tokenizer) ?? new Map<number, string>()
  decodedAlone.set(tokenizer, alone)
  const pieces = Array.from(tokens, (token) => {
    const piece = alone.get(token) ?? tokenizer.decode([token])
    alone.set(token, piece)
    return piece
  })
  const lengths = pieces.join('').startsWith(text)
    ? pieces.map((piece) => piece.length)
    : lengthsInContext(tokens, tokenizer)
  let left = text.length
  return lengths.map((length) => {
    const within = Math.min(length, left)
    left -= within
    return within
  })
}

/** Where a token reads otherwise alone than behind the one before it: spaces that are left out, characters of many tokens. */
function lengthsInContext(tokens: Int32Array, tokenizer: Tokenizer): number[] {
  let from = 0
  let read = 0
  return Array.from(tokens, (_, k) => {
    const before = tokenizer.decode(tokens.subarray(from, read))
    const now = tokenizer.decode(tokens.subarray(from, k + 1))
    if (now.endsWith('\uFFFD')) return 0
    from = read
    read = k + 1
    return now.length - before.length
  })
}
