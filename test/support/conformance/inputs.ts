/** Prompts and training data that any tokenizer can express. */
import { type Datum, joinSequence, placeOnCompletion } from '../../../src/core/datum.js'
import { randomStream } from '../../../src/core/random.js'
import type { Rollout } from '../../../src/core/rollout.js'
import type { AdamParams, FrozenPolicy, Tokenizer } from '../../../src/engine/engine.js'

const texts = ['a', 'seven and four', 'the rain in spain stays mainly in the plain', 'one more line', 'to be']

/** Prompts of different lengths. */
export function prompts(tokenizer: Tokenizer): Int32Array[] {
  return texts.map((text) => tokenizer.encode(text))
}

/** Sequences of different lengths whose first half is context and whose weights differ. */
export function examples(tokenizer: Tokenizer): Datum[] {
  return prompts(tokenizer).map((ids, i) => {
    const half = Math.ceil(ids.length / 2)
    const sequence = joinSequence(ids.slice(0, half), ids.length > half ? ids.slice(half) : ids)
    const completion = sequence.tokens.length - sequence.start
    const weights = Array.from({ length: completion }, (_, t) => 0.25 + ((t + i) % 4) / 4)
    return {
      tokens: sequence.tokens,
      targets: sequence.targets,
      weights: placeOnCompletion(sequence, weights),
    }
  })
}

/** Policy-loss data: the examples with advantages of both signs, and old log-probabilities off by up to `spread`. */
export async function policyData(policy: FrozenPolicy, spread: number): Promise<Datum[]> {
  const data = examples(policy.tokenizer)
  const current = await policy.logprobs(data)
  const random = randomStream(5, 'conformance')
  return data.map(({ tokens, targets, weights }, i) => ({
    tokens,
    targets,
    weights: weights!,
    advantages: weights!.map((w) => (w === 0 ? 0 : random.normal())),
    logprobs: current[i]!.map((value) => value + spread * (2 * random.uniform() - 1)),
    referenceLogprobs: current[i]!.map((value) => value + 0.3 * random.normal()),
  }))
}

/** Trained positions of a datum. */
export function trained(datum: Datum): boolean[] {
  return Array.from(datum.targets, (_, t) => (datum.weights?.[t] || datum.advantages?.[t] || 0) !== 0)
}

/** Adam with the named changes. */
export function adam(changes: Partial<AdamParams> = {}): AdamParams {
  return {
    learningRate: 1e-3,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0,
    clipNorm: 0,
    ...changes,
  }
}

/** A step in proportion to the gradient, whose size Adam would otherwise hide. */
export const proportional = adam({ learningRate: 10, epsilon: 1e3, beta1: 0, beta2: 0 })

/** What two runs of the same sampling must share. */
export function drawn(rollouts: Rollout[]): number[][] {
  return rollouts.map((rollout) => Array.from(rollout.tokens))
}
