/** What tests of sampling share: asking a policy for log-probabilities of what it sampled, and for whole distributions. */
import { joinSequence } from '../../src/core/datum.js'
import type { Rollout } from '../../src/core/rollout.js'
import type { FrozenPolicy, SampleParams } from '../../src/engine/engine.js'

/** Plain sampling with the named changes. */
export function sampling(changes: Partial<SampleParams> = {}): SampleParams {
  return { maxTokens: 12, temperature: 1, topP: 1, topK: 0, stop: [], ...changes }
}

/** Raw log-probabilities of each rollout's tokens as `policy.logprobs` sees them. */
export async function rescored(
  policy: FrozenPolicy,
  prompts: Int32Array[],
  rollouts: Rollout[],
): Promise<Float32Array[]> {
  const sequences = rollouts.map((r) => joinSequence(prompts[r.request]!, r.tokens))
  const logprobs = await policy.logprobs(sequences)
  return logprobs.map((values, i) => values.slice(sequences[i]!.start))
}

/** Log-probability of every token of the vocabulary after the prompt. */
export async function nextTokenLogprobs(policy: FrozenPolicy, prompt: Int32Array): Promise<Float32Array> {
  const sequences = Array.from({ length: policy.tokenizer.vocabSize }, (_, token) =>
    joinSequence(prompt, [token]),
  )
  return Float32Array.from(await policy.logprobs(sequences), (values) => values.at(-1)!)
}

/** softmax(logprobs / temperature), restricted to the k likeliest (0 = all) or to the nucleus of mass p (1 = all). */
export function samplingDistribution(
  logprobs: ArrayLike<number>,
  { temperature = 1, topK = 0, topP = 1 }: { temperature?: number; topK?: number; topP?: number } = {},
): number[] {
  const powers = Array.from(logprobs, (value) => Math.exp(value / temperature))
  const total = powers.reduce((a, b) => a + b, 0)
  const order = powers.map((power, token) => ({ p: power / total, token })).sort((a, b) => b.p - a.p)
  let mass = 0
  const kept = order.filter(({ p }, rank) => {
    const keep = (topK === 0 || rank < topK) && mass < topP
    mass += p
    return keep
  })
  const keptMass = kept.reduce((sum, { p }) => sum + p, 0)
  const out = powers.map(() => 0)
  for (const { p, token } of kept) out[token] = p / keptMass
  return out
}

/** A nucleus near the wanted mass whose edge falls in the middle of a token's share, where rounding cannot move it. */
export function steadyNucleus(logprobs: ArrayLike<number>, wanted: number, temperature = 1): number {
  const shares = samplingDistribution(logprobs, { temperature }).sort((a, b) => b - a)
  let mass = 0
  for (const share of shares) {
    if (mass + share > wanted) return mass + share / 2
    mass += share
  }
  return 1
}

export function histogram(tokens: number[], size: number): number[] {
  const counts = new Array<number>(size).fill(0)
  for (const token of tokens) counts[token]!++
  return counts
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY
  let largest = 0
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!)
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference
  }
  return largest
}
