import { EngineError } from '../../../core/errors.js'
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
    throw new EngineError('The probabilities of the next token are not finite.', {
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

/** Top-k first, then the smallest set of most probable tokens whose share reaches topP, then a draw from what is left. */
function chooseFiltered(
  p: Float32Array,
  { topK, topP }: Pick<SampleParams, 'topP' | 'topK'>,
  u: number,
): number {
  const kept = mostProbable(p, topK > 0 ? Math.min(topK, p.length) : p.length)
  const mass = kept.reduce((sum, i) => sum + p[i]!, 0)
  let count = 0
  let share = 0
  while (count < kept.length && share < topP * mass) share += p[kept[count++]!]!
  let rest = u * share
  for (let j = 0; j < count; j++) {
    rest -= p[kept[j]!]!
    if (rest < 0) return kept[j]!
  }
  return kept[0]!
}

/** Indices of the k largest, largest first, lower index first on a tie. */
function mostProbable(p: Float32Array, k: number): number[] {
  const indices: number[] = []
  // Tokens that round to nothing are never worth sorting, and in a large vocabulary they are most.
  for (let i = 0; i < p.length; i++) if (p[i]! > 1e-12) indices.push(i)
  return indices.sort((a, b) => p[b]! - p[a]! || a - b).slice(0, k)
}
