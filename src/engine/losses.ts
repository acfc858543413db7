/** Losses as functions of the target's log-probability ℓ; formulas and names after Tinker. */
import type { Datum } from '../core/datum.js'
import { InvariantError } from '../core/errors.js'
import type { Loss, LossReport } from './engine.js'

export interface LossSums {
  loss: number
  tokens: number
  ratioSum: number
  ratioMax: number
  clippedLow: number
  clippedHigh: number
  /** Σ (old - ℓ): the plain estimate of KL(sampler || policy). */
  klSampler: number
}

export const emptySums = (): LossSums => ({
  loss: 0,
  tokens: 0,
  ratioSum: 0,
  ratioMax: 0,
  clippedLow: 0,
  clippedHigh: 0,
  klSampler: 0,
})

/** Positions that need a log-probability: those with a non-zero weight or advantage. */
export function trainedPositions(datum: Datum, loss: Loss): number[] {
  const { length } = datum.tokens
  const need = (values: Float32Array | undefined, name: string): Float32Array => {
    if (values?.length !== length)
      throw new InvariantError(
        `A datum of ${length} positions for ${loss.name} has ${values?.length ?? 'no'} ${name}.`,
      )
    return values
  }
  if (datum.targets.length !== length)
    throw new InvariantError(`A datum of ${length} positions has ${datum.targets.length} targets.`)
  const positions: number[] = []
  if (loss.name === 'cross_entropy') {
    const weights = need(datum.weights, 'weights')
    for (let t = 0; t < length; t++) if (weights[t] !== 0) positions.push(t)
    return positions
  }
  const advantages = need(datum.advantages, 'advantages')
  if (datum.logprobs) need(datum.logprobs, 'logprobs')
  const penalised = loss.klCoefficient ? need(datum.weights, 'weights') : undefined
  if (penalised) need(datum.referenceLogprobs, 'referenceLogprobs')
  for (let t = 0; t < length; t++)
    if (advantages[t] !== 0 || (penalised !== undefined && penalised[t] !== 0)) positions.push(t)
  return positions
}

/**
 * Adds position t's loss to the sums and returns dLoss/dℓ.
 * - cross_entropy: -w ℓ.
 * - importance_sampling: -r A, r = exp(ℓ - old).
 * - ppo: -min(r A, clip(r, low, high) A); where the clipped branch is the smaller, the derivative is 0.
 * - KL term of the policy losses: c |w| (exp(ref - ℓ) - (ref - ℓ) - 1).
 */
export function positionLoss(datum: Datum, t: number, logprob: number, loss: Loss, sums: LossSums): number {
  sums.tokens++
  if (loss.name === 'cross_entropy') {
    const weight = datum.weights![t]!
    sums.loss -= weight * logprob
    return -weight
  }
  const advantage = datum.advantages![t]!
  const old = datum.logprobs?.[t] ?? logprob
  const ratio = Math.exp(logprob - old)
  sums.ratioSum += ratio
  sums.ratioMax = Math.max(sums.ratioMax, ratio)
  sums.klSampler += old - logprob
  let objective = ratio * advantage
  let slope = objective
  if (loss.name === 'ppo') {
    const clipped = Math.min(Math.max(ratio, loss.clipLow), loss.clipHigh) * advantage
    if (clipped < objective) {
      objective = clipped
      slope = 0
      if (ratio < loss.clipLow) sums.clippedLow++
      else sums.clippedHigh++
    }
  }
  sums.loss -= objective
  let derivative = -slope
  if (loss.klCoefficient) {
    const strength = loss.klCoefficient * Math.abs(datum.weights![t]!)
    const gap = datum.referenceLogprobs![t]! - logprob
    sums.loss += strength * (Math.exp(gap) - gap - 1)
    derivative += strength * (1 - Math.exp(gap))
  }
  return derivative
}

/** Sums as the contract reports them: a loss's sum, and the means of policy losses. */
export function lossReport(loss: Loss, sums: LossSums, logprobs: Float32Array[]): LossReport {
  const report = { loss: sums.loss, tokens: sums.tokens, logprobs }
  if (loss.name === 'cross_entropy') return report
  const mean = (sum: number) => (sums.tokens > 0 ? sum / sums.tokens : 0)
  return {
    ...report,
    ratio: {
      mean: mean(sums.ratioSum),
      max: sums.ratioMax,
      clippedLow: mean(sums.clippedLow),
      clippedHigh: mean(sums.clippedHigh),
      klSampler: mean(sums.klSampler),
    },
  }
}
