/** The challenger's prompt. Its texts are settings; these are the defaults. */
import { type ChatPrompt, chat, fill } from '../chat.js'
import type { Config } from './config.js'

export const challengerTexts = {
  system: `You set problems that test how far another model can reason. Think of one mathematical problem of your own. It must be original, need several steps, have a single answer that can be checked, and be hard: the other model should solve it about half of the time.
State the problem between <problem> and </problem>, then solve it yourself and put the final answer in \\boxed{}.`,
  user: 'Write one new and challenging mathematical problem now.',
}

/** Asks for a question; `knowledge` is null in a game without any, as the paper's. */
export function challengerPrompt({ challenger }: Config, knowledge: string | null): ChatPrompt {
  const { system, user, think } = challenger
  return {
    messages: chat(system, knowledge === null ? user : fill(user, { knowledge })),
    ...(think && { suffix: '<think>\n' }),
  }
}
