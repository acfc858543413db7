/** Plausible wrong results, for a cold start that is noisy in the way that people and small models are. */
import type { RandomStream } from '../../core/random.js'
import { apply, type Expression, LIMIT } from './expression.js'
import { type Detail, type Link, type Step, steps } from './steps.js'

/**
 * A worked chain with one wrong result that is carried through to a wrong final value; undefined where the expression
 * has no step. Which step goes wrong is uniform over those from which the error survives to the end.
 */
export function slippedSteps(
  expression: Expression,
  detail: Detail,
  stream: RandomStream,
): Link[] | undefined {
  const links = steps(expression, detail)
  const truth = links?.at(-1)?.expression
  const computing = links?.flatMap((link) => link.step ?? []) ?? []
  const order = stream.shuffle([...computing.keys()])
  for (const index of order) {
    const slipped = steps(expression, detail, { index, value: wrongResult(computing[index]!, stream) })
    if (slipped && slipped.at(-1)!.expression !== truth) return slipped
  }
  return undefined
}

/** A wrong result of one step: a lost carry or borrow, a digit off by one, a neighbour in the times table or a wrong sign. */
export function wrongResult(step: Step, stream: RandomStream): number {
  const { op, left, right } = step
  const truth = apply(op, left, right)
  const offByOne = stream.pick([-1, 1]) * 10 ** stream.int(Math.abs(truth).toString().length)
  const candidates = [truth + offByOne]
  if (op === '*') candidates.push(truth + stream.pick([left, -left, right, -right]))
  else candidates.push(truth + stream.pick([-10, 10]))
  if (op === '-' || left < 0 || right < 0) candidates.push(-truth)
  return stream.pick(candidates.filter((value) => value !== truth && Math.abs(value) <= LIMIT))
}
