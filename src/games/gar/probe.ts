/**
 * Yardsticks of the discriminator outside its rewards: does it find errors that were planted, and what does the
 * discriminator of the start, which no longer learns, make of this round's slices?
 */
import type { RandomStream } from '../../core/random.js'
import type { GameContext } from '../game.js'
import { fraction, type Metrics } from '../grpo/metrics.js'
import { startPolicies } from '../grpo/reference.js'
import type { Config } from './config.js'
import { evenlySpaced } from './cut.js'
import { judgeSlices } from './judge.js'
import { plantError } from './plant.js'
import type { Exhibit, Judgment, ScoredGroup } from './play.js'
import type { Reference } from './references.js'
import type { Verdict } from './verdict.js'

type Context = GameContext<Config>

/** A slice whose quality is known. */
export interface Known extends Reference {
  sound: boolean
}

/** Sound references, and as many with an error planted into each; those that offer no place for one are left out. */
export function plantedSet(references: readonly Reference[], stream: RandomStream): Known[] {
  return references.flatMap((reference) => {
    const planted = plantError(reference.shown, stream, reference.from)
    if (!planted) return []
    return [
      { ...reference, sound: true },
      { ...reference, shown: planted.text, sound: false },
    ]
  })
}

/** Judges slices of known quality and says how well. */
export async function probePlanted(ctx: Context, known: readonly Known[]): Promise<Metrics> {
  const exhibits = known.map(({ question, shown, sound }, group): Exhibit => {
    return { group, source: sound ? 1 : 0, question, shown }
  })
  const judgments = await judgeSlices(ctx, exhibits, { n: 1, measured: 0 })
  return qualityMetrics(judgments.map(({ exhibit, verdict }) => ({ verdict, sound: known[exhibit]!.sound })))
}

/**
 * `judging/...`: shares of YES among sound and among flawed slices, the mean of the two rates of being right, and the share
 * of verdicts that could be read. An unreadable verdict is no YES and not right.
 */
export function qualityMetrics(judged: readonly { verdict: Verdict | null; sound: boolean }[]): Metrics {
  const sound = judged.filter((each) => each.sound)
  const flawed = judged.filter((each) => !each.sound)
  if (sound.length === 0 || flawed.length === 0) return {}
  const saysYes = ({ verdict }: { verdict: Verdict | null }) => verdict === 1
  const found = fraction(flawed, ({ verdict }) => verdict === 0)
  return {
    'judging/balanced_accuracy': (fraction(sound, saysYes) + found) / 2,
    'judging/yes_sound_frac': fraction(sound, saysYes),
    'judging/yes_flawed_frac': fraction(flawed, saysYes),
    'judging/parsed_frac': fraction(judged, ({ verdict }) => verdict !== null),
  }
}

/** `frozen/...`: verdicts of the start discriminator on slices of this round. */
export async function probeFrozen(ctx: Context, groups: readonly ScoredGroup[]): Promise<Metrics> {
  const { discriminator } = await startPolicies(ctx)
  const all = groups.flatMap(({ judgments }) => judgments)
  const half = Math.ceil(ctx.config.probe_slices / 2)
  const chosen = [1, 0].flatMap((source) =>
    evenlySpaced(
      all.filter((judgment) => judgment.source === source),
      half,
    ),
  )
  const judgments = await judgeSlices(ctx, chosen, { n: 1, measured: 0, policy: discriminator! })
  return sourceMetrics('frozen', judgments)
}

/** Shares of YES by source, and the mean of the two rates of naming the source; of readable verdicts. */
export function sourceMetrics(prefix: string, judgments: readonly Judgment[]): Metrics {
  const legible = judgments.filter(({ verdict }) => verdict !== null)
  const yes = (source: 0 | 1) =>
    fraction(
      legible.filter((judgment) => judgment.source === source),
      ({ verdict }) => verdict === 1,
    )
  const metrics = {
    [`${prefix}/yes_reference_frac`]: yes(1),
    [`${prefix}/yes_generated_frac`]: yes(0),
    [`${prefix}/balanced_accuracy`]: (yes(1) + 1 - yes(0)) / 2,
  }
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => !Number.isNaN(value)))
}
