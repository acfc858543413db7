import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { joinSequence, placeOnCompletion } from '../../src/core/datum.js'
import type { Engine, FrozenPolicy } from '../../src/engine/engine.js'
import { collect } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import {
  histogram,
  largestDifference,
  rescored,
  sampling,
  samplingDistribution,
  steadyNucleus,
} from '../support/sampling.js'
import { chiSquareP } from '../support/statistics.js'
import { checkpoints, openReference, reference } from './reference.js'

let engine: Engine
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
})
afterAll(() => engine.close())

describe.each(checkpoints)('%s against transformers', (name) => {
  const stored = reference(name)
  let policy: FrozenPolicy
  beforeAll(async () => {
    policy = await openReference(engine, stored, 'full')
  })
  afterAll(() => policy.close())

  it('scores every token of the vocabulary at every position', async () => {
    const size = policy.tokenizer.vocabSize
    for (const [i, { tokens }] of stored.sequences.entries()) {
      const queries = Array.from({ length: size }, (_, token) => ({
        tokens,
        targets: new Int32Array(tokens.length).fill(token),
      }))
      const columns = await policy.logprobs(queries)
      const actual = Float32Array.from(
        stored.logprobs[i]!,
        (_, at) => columns[at % size]![Math.floor(at / size)]!,
      )
      expect(largestDifference(actual, stored.logprobs[i]!)).toBeLessThan(1e-4)
    }
  })

  it('scores sequences of different lengths in one call as it scores them alone', async () => {
    const together = await policy.logprobs(stored.sequences)
    for (const [i, { tokens, targets }] of stored.sequences.entries()) {
      const size = stored.logprobs[i]!.length / tokens.length
      const expected = Array.from(targets, (target, t) => stored.logprobs[i]![t * size + target]!)
      expect(largestDifference(together[i]!, expected)).toBeLessThan(1e-4)
    }
  })

  it('scores a sequence of hundreds of tokens, also as sampling reads it', async () => {
    const { tokens, targets, logprobs } = stored.long
    const [scores] = await policy.logprobs([{ tokens, targets }])
    expect(largestDifference(scores!, logprobs)).toBeLessThan(1e-4)
    const params = sampling({ topK: 1, maxTokens: 8 })
    const requests = [250, 380].map((length) => ({ prompt: tokens.slice(0, length), n: 1, seed: 0 }))
    const rollouts = await collect(policy.sample(requests, params))
    const prompts = requests.map(({ prompt }) => prompt)
    for (const [i, expected] of (await rescored(policy, prompts, rollouts)).entries()) {
      expect(rollouts[i]!.tokens.length).toBeGreaterThan(6)
      expect(largestDifference(rollouts[i]!.logprobs, expected)).toBeLessThan(1e-4)
    }
  })

  it('continues a prompt greedily with the same tokens, log-probabilities and entropies', async () => {
    const { prompt, tokens, logprobs, entropies } = stored.greedy
    const params = sampling({ temperature: 0, maxTokens: tokens.length })
    const [rollout] = await collect(policy.sample([{ prompt, n: 1, seed: 0 }], params))
    expect(Array.from(rollout!.tokens)).toEqual(tokens)
    expect(largestDifference(rollout!.logprobs, logprobs)).toBeLessThan(1e-4)
    expect(largestDifference(rollout!.entropies!, entropies)).toBeLessThan(1e-4)
    const sequence = joinSequence(prompt, tokens)
    const [scores] = await policy.logprobs([sequence])
    const expected = placeOnCompletion(sequence, logprobs)
    expect(largestDifference(scores!.slice(sequence.start), expected.slice(sequence.start))).toBeLessThan(
      1e-4,
    )
  })

  it('applies the adapter', async () => {
    const adapted = await openReference(engine, stored, 'lora')
    const logprobs = await adapted.logprobs(stored.sequences)
    for (const [i, expected] of stored.adapterLogprobs.entries()) {
      expect(largestDifference(logprobs[i]!, expected)).toBeLessThan(1e-4)
    }
    await adapted.close()
  })

  describe.each([
    { temperature: 1 },
    { temperature: 0.7 },
    { temperature: 0.7, topK: 5 },
    { temperature: 1.3, nucleus: 0.6 },
  ])('sampling with %o', ({ nucleus, ...shape }) => {
    it('draws tokens as often as transformers would', async () => {
      const [{ tokens }, logits] = [stored.sequences[1]!, stored.logprobs[1]!]
      const size = logits.length / tokens.length
      const last = logits.subarray((tokens.length - 1) * size)
      const topP = nucleus === undefined ? 1 : steadyNucleus(last, nucleus, shape.temperature)
      const params = sampling({ ...shape, topP, maxTokens: 1 })
      const draws = await collect(policy.sample([{ prompt: tokens, n: 3000, seed: 11 }], params))
      const counts = histogram(
        draws.map((draw) => draw.tokens[0]!),
        size,
      )
      expect(chiSquareP(counts, samplingDistribution(last, { ...shape, topP }))).toBeGreaterThan(1e-4)
    })
  })
})
