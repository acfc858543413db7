/** Worked solutions of problems, right in every step: what a reasoner's text can be held against. */
import { type Expression, evaluate, print } from './expression.js'
import { answerText, tags } from './format.js'
import { printSteps, steps } from './steps.js'

/** `12+34+56=46+56=102 \boxed{102}`: every link rewrites the whole, as the starter model writes. */
export function chainSolution(expression: Expression): string {
  const links = steps(expression, 'plain')!
  return answerText(printSteps(links), print(links.at(-1)!.expression))
}

/** Another style: the same steps, each by itself on a line (`12+34=46`, `46+56=102`), and the box on the last. */
export function lineSolution(expression: Expression): string {
  const lines = steps(expression, 'plain')!.flatMap(({ step }) =>
    step ? `${print(step)}=${evaluate(step)}` : [],
  )
  return [...lines, `${tags.boxOpen}${evaluate(expression)}${tags.boxClose}`].join('\n')
}
