/**
 * Log-probabilities carry in their type what they are of: `raw` = log-softmax of the logits, `tempered` = log-softmax
 * of logits / temperature. A ratio of one kind to the other is meaningless, so the two never mix.
 */
declare const kind: unique symbol
export type RawLogprobs = Float32Array & { readonly [kind]: 'raw' }

/** Why sampling of a completion ended. `length` = the token limit was reached: the completion is truncated. */
export type StopReason = 'eos' | 'stop' | 'length'

/** One sampled completion. */
export interface Rollout {
  /** Index of the request in the `sample` call. */
  request: number
  /** Index among the completions of that request, 0 .. n-1. */
  index: number
  /** Sampled ids, the end-of-text id included when it was sampled; the prompt is not. */
  tokens: Int32Array
  /** Raw log-probability of each sampled token, nats, <= 0. */
  logprobs: RawLogprobs
  /** Exact entropy of the raw next-token distribution at each position, nats; absent where an engine cannot know it. */
  entropies?: Float32Array
  /**
   * Exact entropy of the distribution that each token was drawn from, after temperature, top-k and top-p, nats; exactly 0
   * where a single token was left. Only where it was asked for.
   */
  samplingEntropies?: Float32Array
  stop: StopReason
  /** Decoded text without special end-of-text tokens and without the stop string. */
  text: string
  /** Optimizer steps the sampling weights had taken. */
  version: number
}
