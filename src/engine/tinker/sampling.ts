/** Completions of a sampler on a server, as rollouts. */
import { InvariantError } from '../../core/errors.js'
import { randomStream } from '../../core/random.js'
import type { RawLogprobs, Rollout, StopReason } from '../../core/rollout.js'
import type { Sample, Sampler } from '../../tinker/client.js'
import type { Profile } from '../../tinker/profile.js'
import { cutAtString, planStop } from '../../tinker/stop.js'
import { completionText } from '../completion-text.js'
import type { SampleParams, SampleRequest, Tokenizer } from '../engine.js'
import { inParallel } from './pool.js'
import { checkTokens } from './report.js'

export interface Sampled {
  tokenizer: Tokenizer
  profile: Profile
}

/** A sampler and the version of its weights. */
export interface Weights {
  sampler: Sampler
  version: number
}

/** Rollouts of each request as soon as its answer is there; bounded in flight, so memory does not grow with the requests. */
export async function* sampleAll(
  weights: () => Promise<Weights>,
  requests: SampleRequest[],
  params: SampleParams,
  { tokenizer, profile }: Sampled,
  signal?: AbortSignal,
): AsyncGenerator<Rollout> {
  check(requests, params, tokenizer.vocabSize)
  const asked = requests.flatMap((request, index) => (request.n > 0 ? { ...request, index } : []))
  signal?.throwIfAborted()
  if (asked.length === 0) return
  const { sampler, version } = await weights()
  const { stop } = planStop(stopIds(params, tokenizer, profile), params.stop)
  const answers = inParallel(
    asked,
    profile.concurrentSamples,
    async ({ prompt, n, seed, index }, own) => {
      const { maxTokens, temperature, topP, topK } = params
      const options = {
        n,
        seed: seedOf(seed, n, profile),
        maxTokens,
        temperature,
        topP,
        topK,
        stop,
        signal: own,
      }
      return { request: index, sample: await sampler.sample(prompt, options) }
    },
    signal,
  )
  for await (const { request, sample } of answers)
    for (const [index, sequence] of sample.sequences.entries())
      yield { request, index, version, ...completion(sequence, params, tokenizer) }
}

/**
 * Raw log-probability of each target under a sampler, which scores texts only: targets are the tokens moved by one.
 * Throws InvariantError for others.
 */
export async function scoreAll(
  sampler: Sampler,
  sequences: { tokens: Int32Array; targets: Int32Array }[],
  { tokenizer, profile }: Sampled,
): Promise<Float32Array[]> {
  const texts = sequences.map(({ tokens, targets }, index) => {
    checkTokens(tokens, tokenizer.vocabSize)
    checkTokens(targets, tokenizer.vocabSize)
    if (tokens.some((token, t) => t > 0 && token !== targets[t - 1]))
      throw new InvariantError('A frozen policy on a server scores the tokens that follow, no other targets.')
    return { index, text: Int32Array.of(...tokens, ...targets.slice(-1)) }
  })
  const scores: Float32Array[] = []
  const answers = inParallel(texts, profile.concurrentSamples, async ({ index, text }, signal) => ({
    index,
    logprobs: await sampler.computeLogprobs(text, { signal }),
  }))
  for await (const { index, logprobs } of answers) scores[index] = logprobs.slice(1)
  return scores
}

function check(requests: SampleRequest[], { maxTokens }: SampleParams, vocabSize: number): void {
  if (!(maxTokens >= 1))
    throw new InvariantError('A completion needs room for a token: maxTokens is below 1.')
  for (const { prompt } of requests) {
    if (prompt.length === 0) throw new InvariantError('A prompt is empty.')
    checkTokens(prompt, vocabSize)
  }
}

/**
 * Where sample i is that of the seed `seed + i`, requests of neighbouring seeds would share samples: seeds are spread
 * over all that leave room for n.
 */
function seedOf(seed: number, n: number, { seedsInARow }: Profile): number {
  return seedsInARow ? randomStream(seed, 'sample').int(2 ** 31 - n + 1) : seed
}

/** Servers take ids or strings: strings alone go where the server ends at end-of-text ids without being told. */
function stopIds(
  { stop, stopIds = [] }: SampleParams,
  { eosIds }: Tokenizer,
  { stopsAtEos }: Profile,
): number[] {
  return stopsAtEos && stopIds.length === 0 && stop.length > 0 ? [] : [...eosIds, ...stopIds]
}

function completion(
  { tokens: all, logprobs, stopReason }: Sample['sequences'][number],
  params: SampleParams,
  tokenizer: Tokenizer,
) {
  const decode = (length: number) => tokenizer.decode(all.subarray(0, length), { special: true })
  const end = cutAtString(all.length, decode, params.stop)
  const tokens = end === undefined ? all : all.slice(0, end)
  const stop = end === undefined ? whyEnded(tokens, stopReason, params, tokenizer) : 'stop'
  return {
    tokens,
    // Rounding may leave a certain token a hair above 0.
    logprobs: logprobs.slice(0, tokens.length).map((value) => Math.min(0, value)) as RawLogprobs,
    stop,
    text: completionText(tokenizer, { tokens, stop }, params),
  }
}

/** Some servers call everything "stop", so what was sampled comes first. */
function whyEnded(
  tokens: Int32Array,
  stopReason: 'stop' | 'length',
  { stopIds, maxTokens }: SampleParams,
  { eosIds }: Tokenizer,
): StopReason {
  const last = tokens.at(-1)!
  if (eosIds.includes(last)) return 'eos'
  if (stopIds?.includes(last)) return 'stop'
  return tokens.length >= maxTokens || stopReason === 'length' ? 'length' : 'eos'
}
