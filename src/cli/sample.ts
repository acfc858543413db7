/** sparring sample: lets a model answer a prompt. */
import { text } from 'node:stream/consumers'
import { ConfigError } from '../core/errors.js'
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

export async function sample(given: SampleFlags, parts: Parts = realParts): Promise<void> {
  const flags = given.prompt === '-' ? { ...given, prompt: await text(process.stdin) } : given
  const model = await openModel(flags, parts)
  try {
    const request = { prompt: encode(model, flags), n: flags.n, seed: flags.seed }
    const { maxTokens, temperature } = flags
    const params = { maxTokens, temperature, topP: 1, topK: 0, stop: [] }
    for (const { index, text: answer, tokens, stop, logprobs } of await collect(
      model.policy.sample([request], params),
    )) {
      if (flags.json) {
        const logprob = logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length)
        const event = { event: 'sample', index, text: answer, tokens: tokens.length, stop, logprob }
        process.stdout.write(`${JSON.stringify(event)}\n`)
      } else {
        process.stdout.write(`${index > 0 ? '---\n' : ''}${answer}\n`)
      }
    }
  } finally {
    await model.close()
  }
}

function encode({ policy }: OpenModel, { raw, system, prompt }: SampleFlags): Int32Array {
  if (raw) {
    const tokens = policy.tokenizer.encode(prompt)
    if (tokens.length > 0) return tokens
    throw new ConfigError('There is no token in the prompt to go on from.', {
      hint: 'With --raw, --prompt must not be empty.',
    })
  }
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user' as const, content: prompt },
  ]
  return encodePrompt(policy.tokenizer, { messages })
}
