/**
 * Losses in the form each server needs for the same gradient: that of the sum over tokens and sequences.
 *
 * A server that takes for each sequence the mean over its weights, and then the mean over the sequences of the step, is
 * given advantages multiplied by both counts. Its cross entropy has no such factor; CISPO with both clip bounds at 1 is
 * the same loss, -Σ a_t log p_t, with one.
 */
import type { Datum } from '../core/datum.js'
import type { Loss } from './client.js'
import { UserError } from './errors.js'
import type { LossName, Profile } from './profile.js'
import type { Tensor, WireDatum } from './wire/messages.js'

export type LossProfile = Pick<Profile, 'dialect' | 'losses' | 'reduction' | 'weightsWithPolicyLoss' | 'clip'>

export interface PreparedLoss {
  lossFn: LossName
  config: Record<string, number>
  data: WireDatum[]
}

/**
 * `sequencesInStep`: sequences that will have been accumulated by the next optimizer step. Throws UserError where the
 * data do not fit the loss, or the server does not offer it.
 */
export function prepareLoss(
  data: Datum[],
  loss: Loss,
  profile: LossProfile,
  sequencesInStep = data.length,
): PreparedLoss {
  check(data, loss)
  const withLogprobs = data.every(({ logprobs }) => logprobs)
  if (loss.name !== 'cross_entropy' && withLogprobs) return policyLoss(data, loss, profile, sequencesInStep)
  const weights = data.map((datum) => (loss.name === 'cross_entropy' ? datum.weights! : datum.advantages!))
  return likelihoodLoss(data, weights, profile, sequencesInStep)
}

/** Whether the position's loss counts. */
export function counts(datum: Datum, loss: Loss, position: number): boolean {
  return (loss.name === 'cross_entropy' ? datum.weights : datum.advantages)![position] !== 0
}

function policyLoss(
  data: Datum[],
  loss: Exclude<Loss, { name: 'cross_entropy' }>,
  profile: LossProfile,
  sequencesInStep: number,
): PreparedLoss {
  offered(loss.name, profile)
  return {
    lossFn: loss.name,
    config: 'clipLow' in loss ? clipConfig(loss, profile) : {},
    data: data.map(({ tokens, targets, logprobs, advantages }) =>
      policyDatum(tokens, targets, logprobs!, advantages!, profile, sequencesInStep),
    ),
  }
}

/** -Σ w_t log p_t, weights of any sign. */
function likelihoodLoss(
  data: Datum[],
  weights: Float32Array[],
  profile: LossProfile,
  sequencesInStep: number,
): PreparedLoss {
  if (profile.reduction === 'sequence') {
    offered('cispo', profile)
    return {
      lossFn: 'cispo',
      config: clipConfig({ name: 'cispo', clipLow: 1, clipHigh: 1 }, profile),
      data: data.map(({ tokens, targets }, i) =>
        policyDatum(tokens, targets, new Float32Array(tokens.length), weights[i]!, profile, sequencesInStep),
      ),
    }
  }
  offered('cross_entropy', profile)
  return {
    lossFn: 'cross_entropy',
    config: {},
    data: data.map(({ tokens, targets }, i) => ({
      tokens,
      inputs: { target_tokens: integers(targets), weights: floats(weights[i]!) },
    })),
  }
}

/** Positions without an advantage count neither in sums nor in means; what stands there as log-probability is let go. */
function policyDatum(
  tokens: Int32Array,
  targets: Int32Array,
  logprobs: Float32Array,
  advantages: Float32Array,
  profile: LossProfile,
  sequencesInStep: number,
): WireDatum {
  const mask = advantages.map((advantage) => (advantage === 0 ? 0 : 1))
  const counted = mask.reduce((sum, value) => sum + value, 0)
  const factor = profile.reduction === 'sequence' ? counted * sequencesInStep : 1
  return {
    tokens,
    inputs: {
      target_tokens: integers(targets),
      logprobs: floats(logprobs.map((logprob, t) => (mask[t] === 0 ? 0 : logprob))),
      advantages: floats(advantages.map((advantage) => advantage * factor)),
      ...(profile.weightsWithPolicyLoss && { weights: floats(mask) }),
    },
  }
}

function clipConfig(
  { name, clipLow, clipHigh }: { name: string; clipLow: number; clipHigh: number },
  { clip, dialect }: LossProfile,
): Record<string, number> {
  if (clip === 'bounds') return { clip_low_threshold: clipLow, clip_high_threshold: clipHigh }
  if (Math.abs(clipHigh - 1 - (1 - clipLow)) > 1e-6)
    throw new UserError(
      `${name} with clip bounds ${clipLow} and ${clipHigh} is not offered by ${dialect} servers: bounds lie equally far from 1 there.`,
      { hint: `Take ${2 - clipHigh} and ${clipHigh}, or another server.` },
    )
  return { clip_range: clipHigh - 1 }
}

function offered(name: LossName, { losses, dialect }: LossProfile): void {
  if (losses.includes(name)) return
  throw new UserError(`The loss ${name} is not offered by ${dialect} servers.`, {
    hint: `They offer ${losses.join(', ')}.`,
  })
}

function check(data: Datum[], loss: Loss): void {
  const wrong = (message: string) => new UserError(message, { hint: 'See the description of Datum.' })
  if (data.length === 0) throw wrong(`${loss.name} was given no data.`)
  if ('clipLow' in loss && !(loss.clipLow >= 0 && loss.clipLow <= 1 && loss.clipHigh >= 1))
    throw wrong(`${loss.name}: clip bounds ${loss.clipLow} and ${loss.clipHigh} do not enclose 1.`)
  const withLogprobs = data.filter(({ logprobs }) => logprobs).length
  if (loss.name !== 'cross_entropy' && withLogprobs > 0 && withLogprobs < data.length)
    throw wrong(`${loss.name}: some sequences have sampling log-probabilities and others have none.`)
  const key = loss.name === 'cross_entropy' ? 'weights' : 'advantages'
  for (const [i, datum] of data.entries()) {
    const { tokens, targets, logprobs } = datum
    const values = datum[key]
    if (!values) throw wrong(`${loss.name}: sequence ${i} has no ${key}.`)
    if (tokens.length === 0) throw wrong(`${loss.name}: sequence ${i} is empty.`)
    for (const [name, array] of Object.entries({ targets, [key]: values, logprobs }))
      if (array && array.length !== tokens.length)
        throw wrong(`${loss.name}: sequence ${i} has ${tokens.length} tokens and ${array.length} ${name}.`)
    for (let t = 0; t < tokens.length; t++) {
      if (!Number.isFinite(values[t]!))
        throw wrong(`${loss.name}: sequence ${i} has ${values[t]} among its ${key}.`)
      if (loss.name !== 'cross_entropy' && values[t] !== 0 && logprobs && !Number.isFinite(logprobs[t]!))
        throw wrong(`${loss.name}: sequence ${i} has ${logprobs[t]} among its logprobs.`)
    }
  }
}

const floats = (data: Float32Array): Tensor => ({ dtype: 'float32', data, shape: [data.length] })
const integers = (data: Int32Array): Tensor => ({ dtype: 'int64', data, shape: [data.length] })
