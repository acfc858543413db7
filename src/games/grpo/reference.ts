/** Policies as they were at the start of the run: references of a KL term, and yardsticks of drift. */
import { z } from 'zod'
import type { FrozenPolicy } from '../../engine/engine.js'
import type { GameContext } from '../game.js'
import { oncePerRun } from '../once.js'

export const klSettings = {
  kl: z
    .number()
    .min(0)
    .default(0)
    .describe('Coefficient of the penalty for leaving the start weights; 0 keeps no copy of them'),
}

/**
 * A frozen copy of each role at its start weights. Call it in `setup` first, where the policies still have them: on
 * resume as well, since the checkpoint's weights are put in afterwards.
 */
export const startPolicies = oncePerRun(
  async ({ roles }: Omit<GameContext<unknown>, 'round'>): Promise<Record<string, FrozenPolicy>> => {
    const copies = new Map<object, FrozenPolicy>()
    const frozen: Record<string, FrozenPolicy> = {}
    for (const [name, { policy }] of Object.entries(roles)) {
      const copy = copies.get(policy) ?? (await policy.snapshot())
      copies.set(policy, copy)
      frozen[name] = copy
    }
    return frozen
  },
)

/** The KL term of a role's steps, or nothing where the coefficient is 0. */
export async function klTerm(
  ctx: GameContext<{ kl: number }>,
  role: string,
): Promise<{ kl?: { coefficient: number; reference: FrozenPolicy } }> {
  if (ctx.config.kl === 0) return {}
  const start = await startPolicies(ctx)
  return { kl: { coefficient: ctx.config.kl, reference: start[role]! } }
}
