/** Sampling in groups: the completions whose rewards are compared. */
import type { Rollout } from '../../core/rollout.js'
import type { FrozenPolicy } from '../../engine/engine.js'
import type { GameContext } from '../game.js'
import { type SamplingSettings, sampleParams } from './settings.js'

/**
 * Samples n completions of every prompt; item g holds those of prompts[g] in order of index, and is empty where the
 * prompt is null. Seeds are those of the round, the role and g.
 *
 * @param policy who samples; the role's own policy unless another is given.
 */
export async function sampleGroups(
  ctx: GameContext<unknown>,
  role: string,
  prompts: readonly (Int32Array | null)[],
  n: number,
  settings: SamplingSettings,
  policy: FrozenPolicy = ctx.roles[role]!.policy,
): Promise<Rollout[][]> {
  const groups: Rollout[][] = prompts.map(() => [])
  const asked = prompts.flatMap((prompt, group) => (prompt ? { prompt, group } : []))
  if (asked.length === 0) return groups
  const requests = asked.map(({ prompt, group }) => ({ prompt, n, seed: ctx.seed(role, group) }))
  const total = requests.length * n
  let done = 0
  let tokens = 0
  ctx.phase(`${role} samples`, done, total, tokens)
  for await (const rollout of policy.sample(requests, sampleParams(settings), ctx.signal)) {
    groups[asked[rollout.request]!.group]!.push(rollout)
    tokens += rollout.tokens.length
    ctx.phase(`${role} samples`, ++done, total, tokens)
  }
  for (const group of groups) group.sort((a, b) => a.index - b.index)
  return groups
}
