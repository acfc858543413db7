/** One record for every completion and every judgment of a round. */
import type { Rollout } from '../../core/rollout.js'
import type { GameContext, RolloutRecord } from '../game.js'
import { completionFields } from '../grpo/completion.js'
import type { Config } from './config.js'
import type { ScoredGroup, ScoredJudgment, ScoredTrajectory } from './play.js'

/**
 * The reasoner's groups are the problems of the round; so are the discriminator's, whose index counts the problem's
 * judgments. `parts.trajectory` of a judgment is the index of the reasoner's record that the slice comes from.
 */
export function records(
  ctx: GameContext<Config>,
  groups: readonly ScoredGroup[],
  trained: { reasoner: boolean; discriminator: boolean },
): RolloutRecord[] {
  const asked = (role: string, prompt: Int32Array, rollout: Rollout) => {
    const { tokenizer } = ctx.roles[role]!.policy
    return { prompt: tokenizer.decode(prompt, { special: true }), ...completionFields(rollout, tokenizer) }
  }
  return groups.flatMap(({ posed, trajectories, judgments }, group) => [
    ...trajectories.map(
      ({ rollout, pieces, outcome, scores, slices, reward, advantage }, index): RolloutRecord => {
        return {
          role: 'reasoner',
          group,
          index,
          ...asked('reasoner', posed.prompt, rollout),
          reward,
          parts: {
            problem: posed.problem,
            gold: posed.answer || null,
            reference: posed.traces[0] ?? null,
            extracted: outcome?.extracted ?? null,
            verdict: outcome?.reason ?? null,
            answer_reward: outcome?.reward ?? null,
            slice_reward: slices,
            slices: pieces.length,
            slices_read: scores.filter((score) => score !== null).length,
          },
          advantage,
          trained: trained.reasoner,
        }
      },
    ),
    ...judgments.map((judgment, index): RolloutRecord => {
      return {
        role: 'discriminator',
        group,
        index,
        ...asked('discriminator', judgment.prompt, judgment.rollout),
        reward: judgment.reward,
        parts: {
          source: judgment.source === 1 ? 'reference' : 'generated',
          trajectory: judgment.trajectory ?? null,
          piece: judgment.piece ?? null,
          slice: judgment.shown,
          ...placeOf(judgment, trajectories),
          verdict: judgment.verdict === null ? null : judgment.verdict === 1 ? 'YES' : 'NO',
          p_yes: judgment.yes ?? null,
          answer_right: judgment.right ?? null,
          discrimination: judgment.discrimination,
          alignment: judgment.alignment,
        },
        advantage: judgment.advantage,
        trained: trained.discriminator,
      }
    }),
  ])
}

/** Where a generated slice lies in the reasoner's text. */
function placeOf({ trajectory, piece }: ScoredJudgment, trajectories: readonly ScoredTrajectory[]) {
  const found = trajectory === undefined ? undefined : trajectories[trajectory]!.pieces[piece!]
  return { start: found?.start ?? null, end: found?.end ?? null }
}
