/** The prompts of solver and critic. Their texts are settings; these are the defaults. */
import { type ChatPrompt, chat, fill } from '../chat.js'
import { solverPrompt } from '../solver.js'
import type { Config } from './config.js'
import { numbered } from './steps.js'

export const criticTexts = {
  system: `You check the solution of a problem. You are not told the answer. Redo every step, and write one line for each:
Step k: what you found -> SOUND
or, where the step does not hold,
Step k: what you found -> FLAWED
Then write these lines, and nothing after them:
LOGIC: a number from 0 to 10, how well each step follows from those before it
STEPS: a number from 0 to 10, how many of the steps hold
ANSWER: a number from 0 to 10, how sure you are that the final answer is right
VERDICT: CORRECT or WRONG; a solution is correct if no step is flawed
FIRST_ERROR: the number of the first flawed step, or none
FEEDBACK: one or two sentences that tell the solver what to mend`,
  user: `Problem: {question}

Solution:
{steps}`,
}

export const reviseText = `{feedback}

Go through your solution once more and give the whole solution again, with the final answer in \\boxed{}.`

/** Shows a solution to the critic, by its steps. Neither the answer nor whether the solution is right is in it. */
export function criticPrompt({ critic }: Config, question: string, steps: readonly string[]): ChatPrompt {
  const { system, user, think } = critic
  const request = fill(user, { question, steps: numbered(steps) })
  return { messages: chat(system, request), ...(think && { suffix: '<think>\n' }) }
}

/** Hands a solution back to the solver with what the critic said of it. */
export function revisePrompt(
  { solver }: Config,
  question: string,
  solution: string,
  feedback: string,
): ChatPrompt {
  const { messages, ...rest } = solverPrompt(solver, question)
  const request = fill(solver.revise_user, { feedback })
  return {
    messages: [...messages, { role: 'assistant', content: solution }, { role: 'user', content: request }],
    ...rest,
  }
}
