/** The role that answers problems, where a game asks nothing special of it: sampling, prompt, and who is asked. */
import { z } from 'zod'
import type { Rollout } from '../core/rollout.js'
import type { Tokenizer } from '../engine/engine.js'
import { lastBoxed } from '../grader/extract/boxed.js'
import { type ChatPrompt, chat, encodePrompt, fill } from './chat.js'
import { samplingSettings } from './grpo/settings.js'

export const solverSettings = z.strictObject({
  ...samplingSettings,
  max_tokens: samplingSettings.max_tokens.default(1024),
  temperature: samplingSettings.temperature.default(1),
  max_prompt_tokens: z.int().min(1).default(1024).describe('Problems with a longer prompt are left out'),
  think: z
    .boolean()
    .default(false)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z
    .string()
    .default('Solve the problem step by step and put the final answer in \\boxed{}.')
    .describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{question}')
    .default('{question}')
    .describe('User message; {question} is the question'),
})

export type SolverSettings = z.output<typeof solverSettings>

export function solverPrompt({ system, user, think }: SolverSettings, question: string): ChatPrompt {
  return { messages: chat(system, fill(user, { question })), ...(think && { suffix: '<think>\n' }) }
}

/** The encoded prompt, or null where it is over `max_prompt_tokens`. */
export function encodeQuestion(
  tokenizer: Tokenizer,
  settings: SolverSettings,
  question: string,
): Int32Array | null {
  return withinLimit(encodePrompt(tokenizer, solverPrompt(settings, question)), settings.max_prompt_tokens)
}

/** The prompt, or null where it has more tokens than that. */
export function withinLimit(prompt: Int32Array, most: number): Int32Array | null {
  return prompt.length > most ? null : prompt
}

/** An answer that ends by itself and boxes something. */
export function isFormatted({ text, stop }: Rollout): boolean {
  return stop !== 'length' && (lastBoxed(text)?.trim() ?? '') !== ''
}
