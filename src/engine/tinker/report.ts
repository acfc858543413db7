/** What a training batch came to, from the log-probabilities that a server returned: servers' own metrics differ in meaning. */
import type { Datum } from '../../core/datum.js'
import { ConfigError, InvariantError, NotFiniteError } from '../../core/errors.js'
import type { Loss as WireLoss } from '../../tinker/client.js'
import type { Loss, LossReport } from '../engine.js'
import { emptySums, lossReport, positionLoss, trainedPositions } from '../losses.js'

/** Throws where the data do not fit the loss, or servers cannot form it. */
export function checkBatch(data: Datum[], loss: Loss, vocabSize: number): void {
  if ('temperature' in loss && loss.temperature !== 1)
    throw new ConfigError(
      `The Tinker engine forms losses at temperature 1, and ${loss.name} was asked for at ${loss.temperature}.`,
      { hint: 'Sample at temperature 1, or set settings.tempered_logprobs: false.' },
    )
  for (const datum of data) {
    trainedPositions(datum, loss)
    checkTokens(datum.tokens, vocabSize)
    checkTokens(datum.targets, vocabSize)
  }
}

export function checkTokens(tokens: Int32Array, vocabSize: number): void {
  const outside = tokens.find((token) => !(token >= 0 && token < vocabSize))
  if (outside !== undefined)
    throw new InvariantError(`The token ${outside} is outside the model's vocabulary of ${vocabSize}.`)
}

/** The loss without its KL term, which servers do not have: see `penaltyData`. */
export function wireLoss(loss: Loss): WireLoss {
  if (loss.name !== 'ppo') return { name: loss.name }
  return { name: loss.name, clipLow: loss.clipLow, clipHigh: loss.clipHigh }
}

/** Coefficient of the loss's KL term; 0 without one. */
export function klOf(loss: Loss): number {
  return ('klCoefficient' in loss && loss.klCoefficient) || 0
}

/** The batch's loss and ratios at the log-probabilities of its targets. Throws NotFiniteError. */
export function reportOf(data: Datum[], loss: Loss, logprobs: Float32Array[]): LossReport {
  const sums = emptySums()
  const kept = data.map((datum, i) => {
    const values = new Float32Array(datum.tokens.length).fill(Number.NaN)
    for (const t of trainedPositions(datum, loss)) {
      values[t] = logprobs[i]![t]!
      positionLoss(datum, t, values[t]!, loss, sums)
    }
    return values
  })
  if (!Number.isFinite(sums.loss))
    throw new NotFiniteError(`The loss ${loss.name} of ${data.length} sequences is ${sums.loss}.`, {
      hint: 'Training went too far: lower the learning rate, and go on from an earlier checkpoint.',
    })
  return lossReport(loss, sums, kept)
}

/**
 * Cross-entropy data whose gradient is that of the KL term c |w| (exp(ref - l) - (ref - l) - 1) at the log-probabilities
 * l: weights c |w| (exp(ref - l) - 1).
 */
export function penaltyData(data: Datum[], coefficient: number, logprobs: Float32Array[]): Datum[] {
  return data.map(({ tokens, targets, weights, referenceLogprobs }, i) => ({
    tokens,
    targets,
    weights: weights!.map((weight, t) =>
      weight === 0
        ? 0
        : coefficient * Math.abs(weight) * (Math.exp(referenceLogprobs![t]! - logprobs[i]![t]!) - 1),
    ),
  }))
}
