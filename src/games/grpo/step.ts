/** One policy-gradient step of a role: data, loss, Adam, and what they report. */
import type { Datum } from '../../core/datum.js'
import type { FrozenPolicy, Loss, LossReport, OptimReport } from '../../engine/engine.js'
import type { Role } from '../game.js'
import { mean } from './advantages.js'
import { type PolicyDatum, policyData, type Sample } from './data.js'
import { type LossSettings, lossTemperature, type SamplingSettings } from './settings.js'

export interface StepSettings {
  loss: LossSettings
  /** What the samples were drawn with. */
  sampling: SamplingSettings
  /** Penalty for leaving a reference policy; none where absent. */
  kl?: { coefficient: number; reference: FrozenPolicy }
  /** Cross-entropy data whose gradient joins that of the samples; it makes a step by itself as well. */
  auxiliary?: readonly Datum[]
}

export interface StepReport {
  loss: LossReport
  optim: OptimReport
  learningRate: number
  /** Sampler against trainer on the same weights' log-probabilities: [mean difference, half the mean square], nats; absent for tempered losses. */
  samplerKl?: [number, number]
  /** k3 estimate of KL(policy || reference) over trained tokens, nats; absent without a KL term. */
  referenceKl?: number
}

/**
 * Minimises the sum over tokens of -min(ratio * A, clip(ratio) * A) * weight (PPO's clipped form, arXiv 1707.06347)
 * in one Adam step. Undefined, and no step, where no sample has an advantage to learn from.
 */
export async function policyStep(
  role: Role,
  samples: readonly Sample[],
  settings: StepSettings,
): Promise<StepReport | undefined> {
  const step = await prepare(samples, settings)
  return step && take(role, step)
}

/** A step for each group of samples that has something to teach, in order; none waits for the one before to be answered. */
export async function policySteps(
  role: Role,
  groups: readonly (readonly Sample[])[],
  settings: StepSettings,
): Promise<StepReport[]> {
  const steps = await Promise.all(groups.map((samples) => prepare(samples, settings)))
  return Promise.all(steps.flatMap((step) => (step ? take(role, step) : [])))
}

/** A step that is ready to be taken. */
interface Step {
  rows: PolicyDatum[]
  auxiliary: readonly Datum[]
  form: Loss
}

async function prepare(
  samples: readonly Sample[],
  { loss, sampling, kl, auxiliary = [] }: StepSettings,
): Promise<Step | undefined> {
  const rows = policyData(samples, {
    normaliser: loss.normaliser,
    length: loss.normaliser_length || sampling.max_tokens,
    oldLogprobs: loss.old_logprobs,
    kl: kl !== undefined,
  })
  if (rows.length === 0 && auxiliary.length === 0) return undefined
  if (kl) {
    const logprobs = await kl.reference.logprobs(rows.map((row) => row.datum))
    rows.forEach(({ datum }, i) => {
      datum.referenceLogprobs = logprobs[i]!
    })
  }
  const form: Loss = {
    name: 'ppo',
    clipLow: 1 - loss.clip_low,
    clipHigh: 1 + loss.clip_high,
    temperature: lossTemperature(loss, sampling),
    ...(kl && { klCoefficient: kl.coefficient }),
  }
  return { rows, auxiliary, form }
}

/** Gradients and step are asked for at once: they travel together to a policy that is far away. */
async function take({ policy, adam }: Role, { rows, auxiliary, form }: Step): Promise<StepReport> {
  const data = rows.map((row) => row.datum)
  const [report, beside, optim] = await Promise.all([
    rows.length > 0 ? policy.forwardBackward(data, form) : nothing,
    auxiliary.length > 0 ? policy.forwardBackward([...auxiliary], crossEntropy) : undefined,
    policy.optimStep(adam),
  ])
  const raw = 'temperature' in form && form.temperature === 1
  const penalised = 'klCoefficient' in form
  return {
    loss: beside ? { ...report, loss: report.loss + beside.loss } : report,
    optim,
    learningRate: adam.learningRate,
    ...(raw && rows.length > 0 && { samplerKl: samplerKl(rows, report.logprobs) }),
    ...(penalised && rows.length > 0 && { referenceKl: referenceKl(data, report.logprobs) }),
  }
}

const crossEntropy: Loss = { name: 'cross_entropy' }
const nothing: LossReport = { loss: 0, tokens: 0, logprobs: [] }

/** The groups of a round, in order, shared out among so many steps or fewer, where there are not groups enough for all. */
export function shareOut(groups: readonly (readonly Sample[])[], steps: number): Sample[][] {
  const size = Math.ceil(groups.length / steps)
  return Array.from({ length: Math.ceil(groups.length / Math.max(1, size)) }, (_, i) =>
    groups.slice(i * size, (i + 1) * size).flat(),
  )
}

/** How far the trainer's log-probabilities are from the sampler's, over completion tokens. */
function samplerKl(rows: readonly PolicyDatum[], logprobs: readonly Float32Array[]): [number, number] {
  const differences = rows.flatMap(({ rollout, datum }, i) => {
    const start = datum.tokens.length - rollout.tokens.length
    return Array.from(rollout.logprobs, (old, j) => old - logprobs[i]![start + j]!)
  })
  return [mean(differences), mean(differences.map((d) => d * d)) / 2]
}

/** Mean of exp(ref - l) - (ref - l) - 1 over positions with a weight. */
function referenceKl(data: readonly Datum[], logprobs: readonly Float32Array[]): number {
  const terms = data.flatMap(({ weights, referenceLogprobs }, i) =>
    Array.from(weights!).flatMap((weight, t) => {
      const gap = referenceLogprobs![t]! - logprobs[i]![t]!
      return weight === 0 ? [] : [Math.exp(gap) - gap - 1]
    }),
  )
  return mean(terms)
}
