/** From scored rollouts to training sequences. Every normaliser lands in the per-token weights (see `Loss`). */
import { type Datum, joinSequence, placeOnCompletion } from '../../core/datum.js'
import type { Rollout } from '../../core/rollout.js'
import type { LossSettings } from './settings.js'

/** A rollout with what it is trained on. */
export interface Sample {
  prompt: Int32Array
  rollout: Rollout
  advantage: number
}

/**
 * Weight of each token of each of the B completions of one step, by completion:
 *
 *     constant_length   1 / (B * length)       dr_grpo; the length is the same for every step
 *     token_mean        1 / (sum of lengths)   every token counts the same
 *     sequence_mean     1 / (B * own length)   every completion counts the same
 */
export function tokenWeights(
  lengths: readonly number[],
  normaliser: LossSettings['normaliser'],
  length: number,
): number[] {
  const tokens = lengths.reduce((sum, n) => sum + n, 0)
  switch (normaliser) {
    case 'constant_length':
      return lengths.map(() => 1 / (lengths.length * length))
    case 'token_mean':
      return lengths.map(() => 1 / tokens)
    case 'sequence_mean':
      return lengths.map((own) => 1 / (lengths.length * own))
  }
}

export interface PolicyDataOptions {
  normaliser: LossSettings['normaliser']
  /** L_max of `constant_length`, tokens. */
  length: number
  oldLogprobs: LossSettings['old_logprobs']
  /** The loss has a KL term. */
  kl?: boolean
}

/** A sample as a training sequence. */
export interface PolicyDatum extends Sample {
  datum: Datum
}

/**
 * Training sequences of one step; the advantage of each completion token is A * its weight. Samples whose advantage is 0
 * give no gradient and are left out, but they count in B and in the token sum all the same. For a loss with a KL term
 * they stay, and the weights go along. Empty completions are left out.
 */
export function policyData(samples: readonly Sample[], options: PolicyDataOptions): PolicyDatum[] {
  const weights = tokenWeights(
    samples.map(({ rollout }) => rollout.tokens.length),
    options.normaliser,
    options.length,
  )
  return samples.flatMap((sample, i) => {
    const { prompt, rollout, advantage } = sample
    const length = rollout.tokens.length
    if (length === 0 || (advantage === 0 && !options.kl)) return []
    const sequence = joinSequence(prompt, rollout.tokens)
    const constant = (value: number) => placeOnCompletion(sequence, new Float32Array(length).fill(value))
    const datum: Datum = {
      tokens: sequence.tokens,
      targets: sequence.targets,
      advantages: constant(advantage * weights[i]!),
    }
    if (options.kl) datum.weights = constant(weights[i]!)
    if (options.oldLogprobs === 'sampler') datum.logprobs = placeOnCompletion(sequence, rollout.logprobs)
    return { ...sample, datum }
  })
}
