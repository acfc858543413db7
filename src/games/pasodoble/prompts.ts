/** The prompts of both roles. Their texts are settings; these are the defaults. */
import { type ChatPrompt, chat, fill } from '../chat.js'
import type { Config } from './config.js'

export const defaultPrompts = {
  proposer: {
    system: `You are the proposer in a game between a proposer and a solver: you set problems, the solver tries to answer them.
Write one mathematical problem of your own. It should be hard for the solver and yet solvable, clearly stated with a single meaning, unlike the problems set before, and it must have one answer that can be checked.
State the problem between <problem> and </problem>. Then, between <answer> and </answer>, solve it step by step, check the result briefly, and give the final answer in \\boxed{}.`,
    user: `External knowledge: {knowledge}

Write one hard, well-stated mathematical problem together with its answer. Draw on the external knowledge above and on what you know yourself.`,
    user_without_knowledge: 'Write one hard, well-stated mathematical problem together with its answer.',
  },
  solver: {
    system:
      'You are the solver. Solve the problem that you are given, and write your answer between <answer> and </answer>.',
    user: '{question}',
  },
}

const thinking = { suffix: '<think>\n' }

/** Asks for a problem; `knowledge` is null in a game without it. */
export function proposerPrompt(config: Config, knowledge: string | null): ChatPrompt {
  const { system, user, user_without_knowledge, think } = config.proposer
  const request = knowledge === null ? user_without_knowledge : fill(user, { knowledge })
  return { messages: chat(system, request), ...(think && thinking) }
}

/** Puts a question to the solver, who never sees the knowledge. */
export function solverPrompt(config: Config, question: string): ChatPrompt {
  const { system, user, think } = config.solver
  return { messages: chat(system, fill(user, { question })), ...(think && thinking) }
}
