/** Conversations as training sequences whose assistant turns are trained. */
import type { Datum } from '../../core/datum.js'
import { DataError } from '../../core/errors.js'
import type { ChatMessage, Tokenizer } from '../../engine/engine.js'

export interface Example {
  tokens: Int32Array
  /** Spans [from, to) of the tokens that the assistant writes, its end-of-turn token included. */
  trained: [number, number][]
}

/**
 * Renders a conversation up to each assistant turn, as it is prompted, and with it: the difference is trained, up to the
 * token that ends the turn. Turns share one example as long as the template renders what went before them alike; where
 * it does not (thinking that is left out of earlier turns), a turn starts an example of its own, so that every trained
 * token stands behind what the model will be prompted with.
 *
 * Throws DataError where the conversation starts with the assistant.
 */
export function encodeConversation(tokenizer: Tokenizer, messages: readonly ChatMessage[]): Example[] {
  const examples: Example[] = []
  messages.forEach(({ role }, i) => {
    if (role !== 'assistant') return
    if (i === 0) {
      throw new DataError('A conversation starts with the assistant, so there is nothing it answers.', {
        hint: 'Put a user message before it.',
      })
    }
    const prompt = tokenizer.encodeChat(messages.slice(0, i), { generationPrompt: true })
    const whole = tokenizer.encodeChat(messages.slice(0, i + 1), { generationPrompt: false })
    const from = Math.max(1, commonPrefix(prompt, whole))
    const end = whole.findLastIndex((token) => tokenizer.eosIds.includes(token))
    const to = end < from ? whole.length : end + 1
    const tokens = whole.slice(0, to)
    const last = examples.at(-1)
    if (last && commonPrefix(last.tokens, tokens) === last.tokens.length) {
      last.tokens = tokens
      last.trained.push([from, to])
    } else examples.push({ tokens, trained: [[from, to]] })
  })
  return examples.filter((example) => trainedTokens(example) > 0)
}

export function trainedTokens({ trained }: Example): number {
  return trained.reduce((sum, [from, to]) => sum + to - from, 0)
}

/** The example with this weight on every trained target. */
export function exampleDatum({ tokens, trained }: Example, weight: number): Datum {
  const weights = new Float32Array(tokens.length - 1)
  for (const [from, to] of trained) weights.fill(weight, from - 1, to - 1)
  return { tokens: tokens.slice(0, -1), targets: tokens.slice(1), weights }
}

function commonPrefix(a: Int32Array, b: Int32Array): number {
  let n = 0
  while (n < a.length && n < b.length && a[n] === b[n]) n++
  return n
}
