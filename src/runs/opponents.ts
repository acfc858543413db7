/**
 * Frozen opponents: each role plays against the other one as it was at the start, and as it was in snapshots. In-game rewards
 * compare two players that both move; an opponent that stands still shows which of them did.
 */
import type { FrozenPolicy } from '../engine/engine.js'
import { duelContext, duelOf, type Score, type Side, scoreOf } from './duel.js'
import type { Emit } from './events.js'
import { type Match, openSnapshot } from './match.js'

/**
 * Metrics of the frozen opponents, where the recipe has any: `versus/ROLE_start` with its interval, the points of the role as it
 * is now against the other's start; `versus/ROLE_snapshots`, the mean over the newest snapshots. A score without tasks is left
 * out.
 *
 * @param snapshots checkpoint folders, oldest first.
 */
export async function readOpponents(
  match: Match,
  snapshots: readonly string[],
  signal: AbortSignal,
  emit: Emit,
): Promise<Record<string, number>> {
  const settings = match.recipe.anchors.opponents
  const duel = settings && duelOf(match)
  if (!duel) return {}
  const context = (policies: Partial<Record<Side, FrozenPolicy>>) =>
    duelContext(match, policies, { signal, emit })
  const set = (setter?: FrozenPolicy) => duel.set(context(setter ? { setter } : {}), settings.questions)
  const take = async (tasks: readonly unknown[], taker?: FrozenPolicy) =>
    scoreOf(await duel.take(context(taker ? { taker } : {}), tasks))
  const own = await set()

  /** The two roles of now against the two of a checkpoint, or of the start. */
  const against = async (checkpoint?: string): Promise<Record<Side, Score>> => {
    const theirs = await using(match, duel.taker, checkpoint, (policy) => take(own, policy))
    const tasks = await using(match, duel.setter, checkpoint, set)
    return { setter: reversed(theirs), taker: await take(tasks) }
  }

  const start = await against()
  const later: Record<Side, Score>[] = []
  for (const folder of settings.snapshots > 0 ? snapshots.slice(-settings.snapshots) : [])
    later.push(await against(folder))

  const metrics: Record<string, number> = {}
  for (const side of ['setter', 'taker'] as const) {
    const name = `versus/${duel[side]}`
    const { score, low, high, n } = start[side]
    if (n > 0)
      Object.assign(metrics, {
        [`${name}_start`]: score,
        [`${name}_start_low`]: low,
        [`${name}_start_high`]: high,
      })
    const scores = later.flatMap((each) => (each[side].n > 0 ? each[side].score : []))
    if (scores.length > 0) {
      metrics[`${name}_snapshots`] = scores.reduce((sum, each) => sum + each, 0) / scores.length
    }
  }
  return metrics
}

/** Points of the setter. */
function reversed({ score, low, high, n }: Score): Score {
  return { score: 1 - score, low: 1 - high, high: 1 - low, n }
}

/** Opens a role as a checkpoint holds it, or as it was at the start, for as long as the work takes. */
async function using<T>(
  match: Match,
  role: string,
  checkpoint: string | undefined,
  work: (policy: FrozenPolicy) => Promise<T>,
): Promise<T> {
  const policy = await openSnapshot(match, role, checkpoint)
  try {
    return await work(policy)
  } finally {
    await policy.close()
  }
}
