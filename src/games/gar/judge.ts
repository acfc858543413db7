/** Puts slices to a discriminator and reads its verdicts. */
import type { FrozenPolicy } from '../../engine/engine.js'
import type { GameContext } from '../game.js'
import { sampleGroups } from '../grpo/sampling.js'
import type { SamplingSettings } from '../grpo/settings.js'
import { evenlySpaced } from './cut.js'
import type { Exhibit, Judgment } from './play.js'
import { type DiscriminatorPrompts, discriminatorPrompt, encodeJudgePrompt } from './prompts.js'
import { readVerdict, yesProbabilities } from './verdict.js'

interface JudgeSettings {
  discriminator: SamplingSettings & DiscriminatorPrompts & { max_prompt_tokens: number }
}

export interface JudgeOptions {
  /** Verdicts on each slice. */
  n: number
  /** Verdicts whose p_YES is measured, evenly spaced; 0 measures none. */
  measured: number
  /** The role's own policy where absent. */
  policy?: FrozenPolicy
}

/** Judges every exhibit `n` times; those whose prompt is over `max_prompt_tokens` have no judgment. In order. */
export async function judgeSlices(
  ctx: GameContext<JudgeSettings>,
  exhibits: readonly Exhibit[],
  { n, measured, policy }: JudgeOptions,
): Promise<Judgment[]> {
  const settings = ctx.config.discriminator
  const judge = policy ?? ctx.roles.discriminator!.policy
  const prompts = exhibits.map((exhibit) => {
    const prompt = encodeJudgePrompt(judge.tokenizer, discriminatorPrompt(settings, exhibit))
    return prompt.length > settings.max_prompt_tokens ? null : prompt
  })
  const groups = await sampleGroups(ctx, 'discriminator', prompts, n, settings, judge)
  const read = groups.flatMap((rollouts, exhibit) =>
    rollouts.map((rollout) => ({
      ...exhibits[exhibit]!,
      exhibit,
      prompt: prompts[exhibit]!,
      rollout,
      read: readVerdict(rollout.text),
    })),
  )
  const legible = read.flatMap((judgment) => {
    const verdict = judgment.read
    return verdict ? { ...judgment, read: verdict } : []
  })
  const asked = measured === 0 ? [] : evenlySpaced(legible, measured)
  ctx.phase('verdicts are weighed')
  const known = await yesProbabilities(judge, asked, settings.temperature)
  const yes = new Map(asked.map(({ rollout }, i) => [rollout, known[i]]))
  return read.map(({ read: verdict, ...judgment }) => ({
    ...judgment,
    verdict: verdict?.verdict ?? null,
    yes: yes.get(judgment.rollout),
  }))
}
