/** sparring sample: lets a model answer a prompt. */
import { collect } from '../engine/engine.js'
import { encodePrompt } from '../games/chat.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { type ModelFlags, type OpenModel, openModel } from './model.js'

export interface SampleFlags extends ModelFlags {
  prompt: string
  system?: string
  raw?: boolean
  n: number
  maxTokens: number
  temperature: number
  seed: number
  json?: boolean
}

export async function sample(flags: SampleFlags, parts: Parts = realParts): Promise<void> {
  const model = await openModel(flags, parts)
  try {
    const request = { prompt: encode(model, flags), n: flags.n, seed: flags.seed }
    const { maxTokens, temperature } = flags
    const params = { maxTokens, temperature, topP: 1, topK: 0, stop: [] }
    for (const { index, text, tokens, stop, logprobs } of await collect(
      model.policy.sample([request], params),
    )) {
      if (flags.json) {
        const logprob = logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length)
        const event = { event: 'sample', index, text, tokens: tokens.length, stop, logprob }
        process.stdout.write(`${JSON.stringify(event)}\n`)
      } else {
        process.stdout.write(`${index > 0 ? '---\n' : ''}${text}\n`)
      }
    }
  } finally {
    await model.close()
  }
}

function encode({ policy }: OpenModel, { raw, system, prompt }: SampleFlags): Int32Array {
  if (raw) return policy.tokenizer.encode(prompt)
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user' as const, content: prompt },
  ]
  return encodePrompt(policy.tokenizer, { messages })
}
