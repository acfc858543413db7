import type { FrozenPolicy } from '../engine/engine.js'
import { encodePrompt } from '../games/chat.js'
import type { Answerer, AnswerPrompt } from './answerer.js'

/** A policy as something that an evaluation asks. The policy stays its owner's: `close` leaves it open. */
export function policyAnswerer(policy: FrozenPolicy, name = 'policy'): Answerer {
  return {
    name,
    async *answer(requests, params, signal) {
      const encoded = new Map<AnswerPrompt, Int32Array>()
      const asked = requests.map(({ prompt, n, seed }) => {
        const tokens = encoded.get(prompt) ?? encode(policy, prompt)
        encoded.set(prompt, tokens)
        return { prompt: tokens, n, seed }
      })
      for await (const rollout of policy.sample(asked, { ...params, topK: 0 }, signal)) {
        const { request, index, text, tokens, stop } = rollout
        yield { request, index, text, tokens: tokens.length, stop }
      }
    },
    close: async () => {},
  }
}

function encode({ tokenizer }: FrozenPolicy, prompt: AnswerPrompt): Int32Array {
  return 'text' in prompt ? tokenizer.encode(prompt.text) : encodePrompt(tokenizer, prompt)
}
