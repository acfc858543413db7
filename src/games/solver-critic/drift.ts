/** The critic beside its copy from the start, on the same exhibits: has it moved towards the truth or only moved? */
import type { GameContext } from '../game.js'
import type { Metrics } from '../grpo/metrics.js'
import { fraction } from '../grpo/metrics.js'
import { startPolicies } from '../grpo/reference.js'
import { sampleGroups } from '../grpo/sampling.js'
import type { Config } from './config.js'
import { parseCritique } from './critique.js'
import { balancedAccuracy } from './measures.js'
import type { Judged } from './solution.js'

/** The copy's own balanced accuracy, and how often its verdict is that of the critic's first critique. */
export async function drift(ctx: GameContext<Config>, judged: readonly Judged[]): Promise<Metrics> {
  const start = (await startPolicies(ctx)).critic!
  const prompts = judged.map(({ prompt }) => prompt)
  const groups = await sampleGroups(ctx, 'critic from the start', prompts, 1, ctx.config.critic, start)
  const calls = judged.flatMap(({ right, steps, judgements }, i) => {
    const [first] = groups[i]!
    const now = judgements[0]?.critique?.correct
    return first ? [{ right, said: parseCritique(first.text, steps.length)?.correct, now }] : []
  })
  if (calls.length === 0) return {}
  return {
    start_balanced_accuracy: balancedAccuracy(calls),
    start_agreement: fraction(calls, ({ said, now }) => said !== undefined && said === now),
  }
}
