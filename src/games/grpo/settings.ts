/** Settings that every game with policy-gradient steps shares; a game spreads these shapes into its own. */
import { z } from 'zod'
import type { SampleParams } from '../../engine/engine.js'

export const samplingSettings = {
  max_tokens: z.int().min(1).default(6144).describe('Most tokens of a completion'),
  temperature: z.number().min(0).default(0.6).describe('Sampling temperature; 0 is greedy'),
  top_p: z.number().gt(0).max(1).default(1).describe('Nucleus of the sampling distribution; 1 is off'),
  top_k: z.int().min(0).default(0).describe('Most likely tokens to sample from; 0 is off'),
}

export const lossSettings = {
  scale_rewards: z
    .boolean()
    .default(true)
    .describe('Divide advantages by the standard deviation of their group (off: Dr. GRPO)'),
  clip_low: z.number().min(0).default(0.2).describe('The ratio is clipped below 1 - clip_low'),
  clip_high: z.number().min(0).default(0.2).describe('The ratio is clipped above 1 + clip_high'),
  normaliser: z
    .enum(['constant_length', 'token_mean', 'sequence_mean'])
    .default('constant_length')
    .describe(
      'What a step divides its sum over tokens by: sequences x normaliser_length (dr_grpo), tokens, or both in turn',
    ),
  normaliser_length: z
    .int()
    .min(0)
    .default(0)
    .describe("L_max of constant_length, tokens; 0 takes the role's max_tokens"),
  old_logprobs: z
    .enum(['sampler', 'current'])
    .default('current')
    .describe(
      'Denominator of the ratio: what the sampler recorded, or the weights at the step itself (ratio 1)',
    ),
  tempered_logprobs: z
    .boolean()
    .default(true)
    .describe('Take the log-probabilities of the loss at the sampling temperature, logits / temperature'),
}

const sampling = z.object(samplingSettings)
const loss = z.object(lossSettings)
export type SamplingSettings = z.output<typeof sampling>
export type LossSettings = z.output<typeof loss>

export function sampleParams(settings: SamplingSettings): SampleParams {
  return {
    maxTokens: settings.max_tokens,
    temperature: settings.temperature,
    topP: settings.top_p,
    topK: settings.top_k,
    stop: [],
  }
}

/** Temperature that the loss is taken at. Greedy sampling has no distribution of its own: raw. */
export function lossTemperature(loss: LossSettings, sampling: SamplingSettings): number {
  return loss.tempered_logprobs && sampling.temperature > 0 ? sampling.temperature : 1
}

/** Why these settings do not go together, or undefined: the sampler records raw log-probabilities only. */
export function lossConflict(loss: LossSettings, sampling: SamplingSettings): string | undefined {
  if (loss.old_logprobs === 'current' || lossTemperature(loss, sampling) === 1) return undefined
  return (
    `old_logprobs: sampler is raw, and cannot stand in a ratio at temperature ${sampling.temperature}: ` +
    'set old_logprobs: current or tempered_logprobs: false'
  )
}
