/** Problems that no training example asks, told apart by the hash of their canonical text. */
import { createHash } from 'node:crypto'
import { DataError } from '../../core/errors.js'
import { type RandomStream, randomStream } from '../../core/random.js'
import { canonical, type Expression, evaluate, print } from './expression.js'
import { type Kind, kinds } from './kinds.js'

/** One expression in so many is held out. */
const SHARE = 16

/** Draws without a new problem after which a kind counts as exhausted. */
const PATIENCE = 4000

/** A problem takes about a millisecond to find; the 95 % interval of so many is within 0.7 points. */
const MOST = 20_000

export interface HeldoutProblem {
  problem: string
  answer: string
  /** Knowledge text of the kind it was drawn from. */
  kind: string
}

/**
 * Whether the text is a question that training leaves out. It is about whole questions: the chain of a longer training
 * problem may pass through a shorter held-out one.
 */
export function isHeldout(text: string): boolean {
  const problem = canonical(text)
  return problem !== undefined && createHash('sha256').update(problem).digest()[0]! % SHARE === 0
}

/** An expression of the kind that may be trained on. */
export function sampleTraining(kind: Kind, stream: RandomStream): Expression {
  for (;;) {
    const expression = kind.sample(stream)
    if (!isHeldout(print(expression))) return expression
  }
}

/** A problem that may be trained on, kinds alike, with its true answer. */
export function drawProblem(
  stream: RandomStream,
  from: readonly Kind[] = kinds,
): { problem: string; answer: string } {
  const expression = sampleTraining(stream.pick(from), stream)
  return { problem: print(expression), answer: `${evaluate(expression)}` }
}

/**
 * `n` different held-out problems, kinds in turn. A kind that has no more (single-digit kinds hold a few only) leaves
 * its turns to the others. Throws DataError where n is above 20 000, or
 * all kinds together have fewer.
 */
export function heldoutProblems(n: number, seed: number, from: readonly Kind[] = kinds): HeldoutProblem[] {
  if (n > MOST) {
    throw new DataError(
      `The arithmetic world gives ${MOST} held-out problems at most, ${n} were asked for.`,
      {
        hint: `Ask for at most ${MOST}.`,
      },
    )
  }
  const problems = new Map<string, HeldoutProblem>()
  let open = from.map((kind) => ({ kind, stream: randomStream(seed, 'heldout', kind.text) }))
  while (problems.size < n && open.length > 0) {
    open = open.filter(({ kind, stream }) => {
      if (problems.size >= n) return true
      const found = drawNew(kind, stream, problems)
      if (found) problems.set(found.problem, found)
      return found !== undefined
    })
  }
  if (problems.size < n) {
    throw new DataError(
      `The arithmetic world has only ${problems.size} held-out problems, ${n} were asked for.`,
      {
        hint: `Ask for at most ${problems.size}.`,
      },
    )
  }
  return [...problems.values()]
}

function drawNew(
  kind: Kind,
  stream: RandomStream,
  taken: ReadonlyMap<string, unknown>,
): HeldoutProblem | undefined {
  for (let draw = 0; draw < PATIENCE; draw++) {
    const expression = kind.sample(stream)
    const problem = print(expression)
    if (!taken.has(problem) && isHeldout(problem)) {
      return { problem, answer: `${evaluate(expression)}`, kind: kind.text }
    }
  }
  return undefined
}
