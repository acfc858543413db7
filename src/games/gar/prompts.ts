/** The prompts of both roles. Their texts are settings; these are the defaults. */
import type { Tokenizer } from '../../engine/engine.js'
import { type ChatPrompt, chat, encodePrompt, fill } from '../chat.js'

export const defaultPrompts = {
  reasoner: {
    system: `You answer questions. First think the problem through, step by step, then give the answer.
Write your thoughts between <think> and </think> and your answer between <answer> and </answer>, like this:
<think>
...
</think>
<answer>
...
</answer>
Put the final result into \\boxed{}.`,
    user: '{question}',
  },
  discriminator: {
    system: `You examine pieces of a reasoning process: is what they say reasonable, rigorous and accurate?
Begin with an analysis in very few words. Then write your verdict on a line of its own: **YES** where the piece is of high quality, **NO** where it is not. Then say why, briefly and about this very piece.
It helps to sum up the main line of the argument first, and to check it sentence by sentence after that.`,
    user: `Question:
{question}

Reasoning slice:
{slice}

Judge the quality of this slice.`,
    user_without_question: `Reasoning slice:
{slice}

Judge the quality of this slice.`,
  },
}

export interface ReasonerPrompts {
  think: boolean
  system: string
  user: string
}

/** Puts a problem to the reasoner. */
export function reasonerPrompt({ system, user, think }: ReasonerPrompts, question: string): ChatPrompt {
  return { messages: chat(system, fill(user, { question })), ...(think && { suffix: '<think>\n' }) }
}

export interface DiscriminatorPrompts {
  sees_question: boolean
  system: string
  user: string
  user_without_question: string
}

/** What is judged: a slice, as it is shown, and the question it is about. */
export interface Exhibit {
  question: string
  /** The slice, behind as much of the text before it as is shown. */
  shown: string
}

/** Asks for a verdict. */
export function discriminatorPrompt(prompts: DiscriminatorPrompts, { question, shown }: Exhibit): ChatPrompt {
  const user = prompts.sees_question ? prompts.user : prompts.user_without_question
  return { messages: chat(prompts.system, fill(user, { question, slice: shown.trim() })) }
}

/**
 * Encodes a prompt of the discriminator, whose analysis takes the place of thinking: where the model's template opens a
 * thinking tag for the answer, as that of DeepSeek-R1's children does, the tag is taken away again.
 */
export function encodeJudgePrompt(tokenizer: Tokenizer, prompt: ChatPrompt): Int32Array {
  let tokens = encodePrompt(tokenizer, prompt)
  const text = tokenizer.decode(tokens, { special: true })
  const bare = text.replace(/<think>\s*$/, '')
  while (tokens.length > 0 && tokenizer.decode(tokens, { special: true }).length > bare.length) {
    tokens = tokens.subarray(0, -1)
  }
  return tokens
}
