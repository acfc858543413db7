/** Whose turn it is: a pure function of the round, so that a resumed run needs no cursor. */
import type { Config } from './config.js'

export const phases = ['challenger', 'pool', 'solver'] as const
export type Phase = (typeof phases)[number]

export interface Turn {
  /** Iterations done before this one, from 0. */
  iteration: number
  phase: Phase
  /** Rounds of this phase done before this one, from 0. */
  index: number
}

type Lengths = Pick<Config, 'challenger_rounds' | 'pool_rounds' | 'solver_rounds'>

/** Challenger, pool, solver, each for its rounds, and again. */
export function turnOf(round: number, lengths: Lengths): Turn {
  const of = {
    challenger: lengths.challenger_rounds,
    pool: lengths.pool_rounds,
    solver: lengths.solver_rounds,
  }
  const whole = of.challenger + of.pool + of.solver
  let index = round % whole
  for (const phase of phases) {
    if (index < of[phase]) return { iteration: Math.floor(round / whole), phase, index }
    index -= of[phase]
  }
  throw new RangeError(`round ${round} belongs to no phase`)
}
