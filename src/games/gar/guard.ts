/**
 * A guard against a discriminator that tells the sources apart too well: once it says NO (or YES) to nearly every
 * generated slice, R^s is constant and GAR is plain GRPO on answers. lambda3 is then halved.
 */
import type { Config } from './config.js'

/** Survives JSON: it is the state of the game. */
export interface Guard {
  /** Weight of R^d in force. */
  lambda3: number
  /** Rounds in a row with nearly constant verdicts. */
  constant: number
}

export function freshGuard({ lambda3 }: Pick<Config, 'lambda3'>): Guard {
  return { lambda3, constant: 0 }
}

/**
 * The guard after a round.
 *
 * @param yes share of YES among the verdicts on generated slices; NaN where there are none, which counts as no round.
 */
export function watch(
  guard: Guard,
  yes: number,
  { guard_rounds, guard_margin }: Pick<Config, 'guard_rounds' | 'guard_margin'>,
): Guard {
  if (Number.isNaN(yes) || guard_rounds === 0) return guard
  if (yes >= guard_margin && yes <= 1 - guard_margin) return { ...guard, constant: 0 }
  const constant = guard.constant + 1
  return constant < guard_rounds ? { ...guard, constant } : { lambda3: guard.lambda3 / 2, constant: 0 }
}
