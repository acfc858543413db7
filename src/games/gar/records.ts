/** One record for every completion and every judgment of a round. */
import type { GameContext, RolloutRecord } from '../game.js'
import { meanLogprob } from '../grpo/metrics.js'
import type { Config } from './config.js'
import type { ScoredGroup } from './play.js'

/**
 * The reasoner's groups are the problems of the round; so are the discriminator's, whose index counts the problem's
 * judgments. `parts.trajectory` of a judgment is the index of the reasoner's record that the slice comes from.
 */
export function records(
  ctx: GameContext<Config>,
  groups: readonly ScoredGroup[],
  trained: { reasoner: boolean; discriminator: boolean },
): RolloutRecord[] {
  const decode = (role: string, prompt: Int32Array) =>
    ctx.roles[role]!.policy.tokenizer.decode(prompt, { special: true })
  return groups.flatMap(({ posed, trajectories, judgments }, group) => [
    ...trajectories.map(
      ({ rollout, pieces, outcome, scores, slices, reward, advantage }, index): RolloutRecord => {
        return {
          role: 'reasoner',
          group,
          index,
          prompt: decode('reasoner', posed.prompt),
          ...completion(rollout),
          reward,
          parts: {
            problem: posed.problem,
            gold: posed.answer || null,
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
        prompt: decode('discriminator', judgment.prompt),
        ...completion(judgment.rollout),
        reward: judgment.reward,
        parts: {
          source: judgment.source === 1 ? 'reference' : 'generated',
          trajectory: judgment.trajectory ?? null,
          piece: judgment.piece ?? null,
          slice: judgment.shown,
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

function completion(rollout: ScoredGroup['trajectories'][number]['rollout']) {
  return {
    text: rollout.text,
    tokens: rollout.tokens.length,
    stop: rollout.stop,
    logprob: meanLogprob(rollout),
  }
}
