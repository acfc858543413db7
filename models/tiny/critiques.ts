/** Cold-start conversations of the critic: worked arithmetic, right or with one error, and its critique by rule. */
import type { RandomStream } from '../../src/core/random.js'
import type { ChatMessage } from '../../src/engine/engine.js'
import { type Critique, printCritique } from '../../src/games/solver-critic/critique.js'
import { numbered, splitSteps } from '../../src/games/solver-critic/steps.js'
import {
  answerText,
  type Expression,
  kinds,
  parseExpression,
  print,
  printSteps,
  sampleTraining,
  slippedSteps,
  steps,
} from '../../src/worlds/arithmetic/index.js'

/** Steps of the longest critique; no chain of this world has more. */
const MOST_STEPS = 16

/** The user gives a problem and numbered steps, the assistant judges them. Half of the solutions hold an error. */
export function criticExample(stream: RandomStream): ChatMessage[] {
  for (;;) {
    const expression = sampleTraining(stream.pick(kinds), stream)
    const solution = stream.int(2) === 0 ? rightSolution(expression) : wrongSolution(expression, stream)
    const critique = solution === undefined ? undefined : critiqueByRule(solution)
    if (critique === undefined) continue
    const shown = numbered(splitSteps(solution!, 'links', MOST_STEPS))
    return [
      { role: 'user', content: `${print(expression)}\n${shown}` },
      { role: 'assistant', content: critique },
    ]
  }
}

function rightSolution(expression: Expression): string {
  const chain = steps(expression, 'plain')!
  return answerText(printSteps(chain), print(chain.at(-1)!.expression))
}

/** A slip that is carried through to the answer, or one figure of the text that is not as it was. */
function wrongSolution(expression: Expression, stream: RandomStream): string | undefined {
  if (stream.int(2) === 0) {
    const slipped = slippedSteps(expression, 'plain', stream)
    return slipped && answerText(printSteps(slipped), print(slipped.at(-1)!.expression))
  }
  const right = rightSolution(expression)
  const figures = [...right.matchAll(/\d/g)].map(({ index }) => index)
  const at = stream.pick(figures)
  const figure = (Number(right[at]) + 1 + stream.int(9)) % 10
  return `${right.slice(0, at)}${figure}${right.slice(at + 1)}`
}

/**
 * Redoes every step, and says of each how far it goes along with it: up to the first sign that should be another. A small
 * model that redoes the whole and then compares takes several times as long to learn it. Undefined where a step cannot be
 * read, or nothing is left to do in it.
 */
export function critiqueByRule(solution: string): string | undefined {
  const checks: string[] = []
  const sound: boolean[] = []
  for (const step of splitSteps(solution, 'links', MOST_STEPS)) {
    const [, left = '', box] = /^([^=]+)=[^=\\ ]+( \\boxed\{[^}]*\})?$/.exec(step) ?? []
    const expression = parseExpression(left)
    const next = expression === undefined ? undefined : steps(expression, 'plain')?.[1]?.expression
    if (next === undefined) return undefined
    const redone =
      box === undefined ? `${left}=${print(next)}` : answerText(`${left}=${print(next)}`, print(next))
    checks.push(redone.slice(0, agreement(redone, step) + 1))
    sound.push(redone === step)
  }
  return printCritique(judgement(sound, checks), checks)
}

/** Length of the beginning that two texts share. */
function agreement(a: string, b: string): number {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return n
}

function judgement(sound: boolean[], checks: string[]): Critique {
  const first = sound.indexOf(false)
  const correct = first < 0
  return {
    sound,
    logic: correct ? 10 : 5,
    steps: Math.round((10 * sound.filter(Boolean).length) / sound.length),
    answer: correct ? 10 : 0,
    correct,
    firstError: correct ? null : first + 1,
    feedback: correct ? 'none' : `step ${first + 1} is ${checks[first]}`,
  }
}
