/** Cold-start conversations for both roles, never about a held-out problem. */
import type { RandomStream } from '../../core/random.js'
import type { ChatMessage } from '../../engine/engine.js'
import { type Expression, print } from './expression.js'
import { answerText, proposalText } from './format.js'
import { sampleTraining } from './heldout.js'
import { type Kind, kinds } from './kinds.js'
import { slippedSteps } from './slips.js'
import { type Detail, printSteps, steps } from './steps.js'

export interface ExampleOptions {
  detail: Detail
  /** Probability that an example has one wrong step and therefore a wrong boxed answer, [0, 1]. */
  wrongStepRate: number
  /** Kinds to draw from, uniformly; all where absent. */
  kinds?: readonly Kind[]
}

export interface Example {
  messages: ChatMessage[]
  problem: string
  /** What the example boxes. */
  answer: string
  /** False where a wrong step was planted. */
  correct: boolean
}

/** The user gives a knowledge text, the assistant a problem of that kind with its worked answer. */
export function proposerExample(stream: RandomStream, options: ExampleOptions): Example {
  const { kind, worked } = draw(stream, options)
  const proposal = proposalText(worked.problem, answerText(worked.chain, worked.answer))
  return example(kind.text, proposal, worked)
}

/** The user gives a problem, the assistant its worked answer. */
export function solverExample(stream: RandomStream, options: ExampleOptions): Example {
  const { worked } = draw(stream, options)
  return example(worked.problem, answerText(worked.chain, worked.answer), worked)
}

interface Worked {
  problem: string
  chain: string
  answer: string
  correct: boolean
}

function draw(stream: RandomStream, options: ExampleOptions): { kind: Kind; worked: Worked } {
  const kind = stream.pick(options.kinds ?? kinds)
  const expression = sampleTraining(kind, stream)
  return { kind, worked: work(expression, stream, options) }
}

function work(expression: Expression, stream: RandomStream, options: ExampleOptions): Worked {
  const wrong = stream.uniform() < options.wrongStepRate
  const slipped = wrong ? slippedSteps(expression, options.detail, stream) : undefined
  const links = slipped ?? steps(expression, options.detail)!
  return {
    problem: print(expression),
    chain: printSteps(links),
    answer: print(links.at(-1)!.expression),
    correct: slipped === undefined,
  }
}

function example(user: string, assistant: string, { problem, answer, correct }: Worked): Example {
  const messages: ChatMessage[] = [
    { role: 'user', content: user },
    { role: 'assistant', content: assistant },
  ]
  return { messages, problem, answer, correct }
}
