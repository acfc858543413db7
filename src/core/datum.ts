/**
 * One training sequence of T positions. Position t reads `tokens[t]` and is scored on predicting `targets[t]`
 * (usually tokens[t+1]). Positions whose weight / advantage is 0 are context only.
 */
export interface Datum {
  tokens: Int32Array
  targets: Int32Array
  /** cross_entropy: weight of each target. Shape [T]. */
  weights?: Float32Array
  /** importance_sampling, ppo: advantage of each target, normalisation included. Shape [T]. */
  advantages?: Float32Array
  /**
   * importance_sampling, ppo: log-probability of each target under the sampling policy, of the kind the loss names.
   * Absent: the policy's own at the time of the step, held constant: every ratio is 1, its gradient is not. Shape [T].
   */
  logprobs?: Float32Array
  /** Log-probability of each target under the reference policy, where the loss has a KL term. Shape [T]. */
  referenceLogprobs?: Float32Array
}

/** A completion placed behind its prompt: tokens, targets and where the completion's targets start. */
export interface Sequence {
  tokens: Int32Array
  targets: Int32Array
  /** Position of the first completion target. The completion's j-th token is `targets[start + j]`. */
  start: number
}

/** Joins prompt and completion for training; T = prompt + completion - 1. The prompt must not be empty. */
export function joinSequence(prompt: ArrayLike<number>, completion: ArrayLike<number>): Sequence {
  const all = new Int32Array(prompt.length + completion.length)
  all.set(prompt)
  all.set(completion, prompt.length)
  return { tokens: all.slice(0, -1), targets: all.slice(1), start: prompt.length - 1 }
}

/** Spreads per-completion-token values over a sequence of `length` positions, 0 elsewhere. */
export function placeOnCompletion(sequence: Sequence, values: ArrayLike<number>): Float32Array {
  const out = new Float32Array(sequence.tokens.length)
  out.set(values, sequence.start)
  return out
}
