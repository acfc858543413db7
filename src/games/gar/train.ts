/** The gradient steps of a round: both roles on the samples of the round, one step each. */
import { type Datum, placeOnCompletion } from '../../core/datum.js'
import type { FrozenPolicy } from '../../engine/engine.js'
import type { GameContext } from '../game.js'
import type { Sample } from '../grpo/data.js'
import { startPolicies } from '../grpo/reference.js'
import { policySteps, type StepReport } from '../grpo/step.js'
import type { Config } from './config.js'
import type { ScoredGroup, ScoredJudgment } from './play.js'
import { verdictLossWeight } from './rewards.js'
import { otherEnding, readVerdict, sampledEnding, verdictToken } from './verdict.js'

type Context = GameContext<Config>

/** theta_r: GRPO on all completions, every token of a trajectory with the trajectory's advantage. */
export async function trainReasoner(ctx: Context, groups: readonly ScoredGroup[]): Promise<StepReport[]> {
  const samples = groups.flatMap(({ posed, trajectories }) =>
    trajectories.map(({ rollout, advantage }) => ({ prompt: posed.prompt, rollout, advantage })),
  )
  ctx.phase('reasoner trains')
  return policySteps(ctx.roles.reasoner!, [samples], {
    loss: ctx.config,
    sampling: ctx.config.reasoner,
    ...(await penalty(ctx, 'reasoner')),
  })
}

/** theta_d: GRPO on all judgments; with `bce`, the verdict loss beside it. */
export async function trainDiscriminator(
  ctx: Context,
  groups: readonly ScoredGroup[],
  lambda3: number,
): Promise<StepReport[]> {
  const { config } = ctx
  if (!config.train_discriminator) return []
  const judgments = groups.flatMap((group) => group.judgments)
  const samples: Sample[] = judgments.map(({ prompt, rollout, advantage }) => ({
    prompt,
    rollout,
    advantage,
  }))
  ctx.phase('discriminator trains')
  return policySteps(ctx.roles.discriminator!, [samples], {
    loss: config,
    sampling: config.discriminator,
    ...(config.rd_form === 'bce' && { auxiliary: verdictData(ctx, judgments, lambda3) }),
    ...(await penalty(ctx, 'discriminator')),
  })
}

async function penalty(
  ctx: Context,
  role: 'reasoner' | 'discriminator',
): Promise<{ kl?: { coefficient: number; reference: FrozenPolicy } }> {
  const coefficient = ctx.config[role].kl
  if (coefficient === 0) return {}
  const start = await startPolicies(ctx)
  return { kl: { coefficient, reference: start[role]! } }
}

/**
 * lambda3 x the mean of L = -[s log p_YES + (1 - s) log(1 - p_YES)] over judgments, as two weighted targets each (see
 * `verdictLossWeight`).
 */
function verdictData(ctx: Context, judgments: readonly ScoredJudgment[], lambda3: number): Datum[] {
  const { tokenizer } = ctx.roles.discriminator!.policy
  const known = judgments.filter(({ yes }) => yes !== undefined)
  return known.flatMap((judgment) => {
    const question = { ...judgment, read: readVerdict(judgment.rollout.text)! }
    const place = verdictToken(tokenizer, question)!
    const scale = lambda3 / known.length / (ctx.config.discriminator.temperature || 1)
    const toYes = scale * verdictLossWeight(judgment.source, judgment.yes!)
    const ending = (sequence: ReturnType<typeof sampledEnding>, weight: number): Datum => {
      const onLast = new Float32Array(place.at + 1)
      onLast[place.at] = weight
      return {
        tokens: sequence.tokens,
        targets: sequence.targets,
        weights: placeOnCompletion(sequence, onLast),
      }
    }
    const sampled = judgment.verdict === 1 ? toYes : -toYes
    return [ending(sampledEnding(question, place), sampled), ending(otherEnding(question, place), -sampled)]
  })
}
