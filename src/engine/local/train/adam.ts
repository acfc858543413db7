import { NotFiniteError } from '../../../core/errors.js'
import type { AdamParams, OptimReport } from '../../engine.js'
import type { Parameters } from '../model/weights.js'

/**
 * One AdamW step (Loshchilov & Hutter, decoupled decay) on the accumulated gradients, which are zeroed.
 * `step` counts from 1. With clipNorm > 0 gradients are scaled by min(1, clipNorm / (norm + 1e-6)), norm over all of them.
 * A gradient that is not finite leaves the weights untouched and is an error: continuing would destroy the policy.
 */
export function adamStep(
  parameters: Parameters,
  adam: AdamParams,
  step: number,
): Omit<OptimReport, 'version'> {
  let squares = 0
  for (const { training } of parameters.values()) {
    const gradient = training!.gradient.data as Float32Array
    for (let i = 0; i < gradient.length; i++) squares += gradient[i]! * gradient[i]!
  }
  const gradNorm = Math.sqrt(squares)
  if (!Number.isFinite(gradNorm)) {
    for (const { training } of parameters.values()) (training!.gradient.data as Float32Array).fill(0)
    throw new NotFiniteError('The gradient is not finite, so the step was not taken.', {
      hint: 'Lower the learning rate or resume from an earlier checkpoint.',
    })
  }
  const clip = adam.clipNorm > 0 ? Math.min(1, adam.clipNorm / (gradNorm + 1e-6)) : 1
  const { beta1, beta2, epsilon, learningRate } = adam
  const meanScale = learningRate / (1 - beta1 ** step)
  const varianceScale = 1 / (1 - beta2 ** step)
  let moved = 0
  for (const { data, decay, training } of parameters.values()) {
    const { mean, variance } = training!
    const gradient = training!.gradient.data as Float32Array
    const keep = decay ? 1 - learningRate * adam.weightDecay : 1
    for (let i = 0; i < data.length; i++) {
      const g = gradient[i]! * clip
      const m = beta1 * mean[i]! + (1 - beta1) * g
      const v = beta2 * variance[i]! + (1 - beta2) * g * g
      mean[i] = m
      variance[i] = v
      const before = data[i]!
      const after = before * keep - (meanScale * m) / (Math.sqrt(v * varianceScale) + epsilon)
      data[i] = after
      moved += (after - before) * (after - before)
    }
    gradient.fill(0)
  }
  return { gradNorm, updateNorm: Math.sqrt(moved) }
}
