import { NotFiniteError } from '../../../core/errors.js'
import type { SampleParams } from '../../engine.js'

/**
 * Index of the token drawn from row `row` of [rows, V] by the uniform number u in [0, 1): the first whose cumulative
 * probability exceeds u. Temperature 0 takes the most probable, the lowest index on a tie.
 * Throws where the probabilities are not numbers: no token would be a draw from them.
 */
export function chooseToken(
  probabilities: Float32Array,
  row: number,
  vocabSize: number,
  params: Pick<SampleParams, 'temperature' | 'topP' | 'topK'>,
  u: number,
): number {
  const start = row * vocabSize
  const end = start + vocabSize
  // One logit of NaN or +Infinity makes the whole row of the softmax NaN.
  if (Number.isNaN(probabilities[start]))
    throw new NotFiniteError('The probabilities of the next token are not finite.', {
      hint: 'Lower the learning rate or resume from an earlier checkpoint.',
    })
  if (params.temperature === 0) return argmax(probabilities, start, end) - start
  if (params.topK > 0 || params.topP < 1) return chooseFiltered(probabilities.subarray(start, end), params, u)
  let rest = u
  for (let i = start; i < end; i++) {
    rest -= probabilities[i]!
    if (rest < 0) return i - start
  }
  // The float sum fell short of u: the largest is as good a choice as any that remains.
  return argmax(probabilities, start, end) - start
}

function argmax(values: Float32Array, start: number, end: number): number {
  let best = start
  for (let i = start + 1; i < end; i++) if (values[i]! > values[best]!) best = i
  return best
}

/**
 * Entropy of the distribution that `chooseToken` draws from, nats: that of what the filters leave, renormalised. Exactly 0
 * where they leave one token, and at temperature 0.
 */
export function samplingEntropy(
  probabilities: Float32Array,
  row: number,
  vocabSize: number,
  params: Pick<SampleParams, 'temperature' | 'topP' | 'topK'>,
): number {
  if (params.temperature === 0) return 0
  const p = probabilities.subarray(row * vocabSize, (row + 1) * vocabSize)
  const filtered = params.topK > 0 || params.topP < 1
  const shares = filtered ? Float32Array.from(survivors(p, params), (i) => p[i]!) : p
  const mass = shares.reduce((sum, share) => sum + share, 0)
  return shares.reduce((sum, share) => (share > 0 ? sum - (share / mass) * Math.log(share / mass) : sum), 0)
}

/** A draw from what the filters leave. */
function chooseFiltered(p: Float32Array, params: Pick<SampleParams, 'topP' | 'topK'>, u: number): number {
  const kept = survivors(p, params)
  let rest = u * kept.reduce((sum, i) => sum + p[i]!, 0)
  for (const i of kept) {
    rest -= p[i]!
    if (rest < 0) return i
  }
  return kept[0]!
}

/** Top-k first, then the smallest set of most probable tokens whose share reaches topP; most probable first. */
function survivors(p: Float32Array, { topK, topP }: Pick<SampleParams, 'topP' | 'topK'>): number[] {
  const kept = mostProbable(p, topK > 0 ? Math.min(topK, p.length) : p.length)
  const mass = kept.reduce((sum, i) => sum + p[i]!, 0)
  let count = 0
  let share = 0
  while (count < kept.length && share < topP * mass) share += p[kept[count++]!]!
  return kept.slice(0, count)
}

/** Indices of the k largest, largest first, lower index first on a tie. */
function mostProbable(p: Float32Array, k: number): number[] {
  const indices: number[] = []
  // Tokens that round to nothing are never worth sorting, and in a large vocabulary they are most.
  for (let i = 0; i < p.length; i++) if (p[i]! > 1e-12) indices.push(i)
  return indices.sort((a, b) => p[b]! - p[a]! || a - b).slice(0, k)
}
