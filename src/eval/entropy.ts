/**
 * Entropy of the tokens of answers (GAR, methods 7): one value of each measure an answer, split by whether the answer is
 * right. All entropies are in nats.
 */
import { mean } from '../games/grpo/advantages.js'
import { quantile } from '../games/grpo/metrics.js'

/** Entropy up to which a token of the raw distribution counts as decided. That of the sampling distribution is exactly 0. */
export const RAW_ZERO = 1e-3

/** Over the T tokens of one answer, with the entropies H_t. */
export interface AnswerEntropy {
  /** (1/T) sum_t H_t */
  mean: number
  /** Mean of H_t over the tokens that were open, H_t > zero; null where none was. */
  nonzero: number | null
  /** Share of tokens that were decided, H_t <= zero. */
  zeroShare: number
}

/** @param zero entropy up to which a token counts as decided, nats */
export function answerEntropy(entropies: ArrayLike<number>, zero = 0): AnswerEntropy {
  const all = Array.from(entropies)
  const open = all.filter((entropy) => entropy > zero)
  return {
    mean: mean(all),
    nonzero: open.length > 0 ? mean(open) : null,
    zeroShare: (all.length - open.length) / all.length,
  }
}

/** Of one answer, of the distribution that was sampled from and of the raw one. */
export interface EntropyRecord {
  /** Id of the problem. */
  problem: string
  sample: number
  right: boolean
  tokens: number
  truncated: boolean
  /** After temperature and top-p, renormalised: exactly 0 where one token was left. */
  sampling: AnswerEntropy
  /** At temperature 1 over the whole vocabulary; zero up to 0.001 nats. */
  raw: AnswerEntropy
}

/** Where the middle of some values lies, and how far they spread; quantiles are linear between neighbours. */
export interface Spread {
  n: number
  mean: number
  median: number
  q1: number
  q3: number
  p5: number
  p95: number
}

/** Null of nothing. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  return {
    n: values.length,
    mean: mean(values),
    median: quantile(values, 0.5),
    q1: quantile(values, 0.25),
    q3: quantile(values, 0.75),
    p5: quantile(values, 0.05),
    p95: quantile(values, 0.95),
  }
}

export const splits = ['all', 'right', 'wrong'] as const
export type Split = (typeof splits)[number]
export const measures = ['mean', 'nonzero', 'zeroShare'] as const
export type Measure = (typeof measures)[number]
export const distributions = ['sampling', 'raw'] as const
export type Distribution = (typeof distributions)[number]

/** How a measure is spread over the answers of a split; answers without an open token have no `nonzero`. */
export function entropySpread(
  records: readonly EntropyRecord[],
  distribution: Distribution,
  split: Split,
  measure: Measure,
): Spread | null {
  const of = records.filter(({ right }) => split === 'all' || right === (split === 'right'))
  return spreadOf(of.flatMap((record) => record[distribution][measure] ?? []))
}

/** Every spread there is; n is 0, and the rest is left out, where nothing was to be measured. */
export function entropySpreads(records: readonly EntropyRecord[]) {
  return distributions.flatMap((distribution) =>
    splits.flatMap((split) =>
      measures.map((measure) => ({
        distribution,
        split,
        measure,
        ...(entropySpread(records, distribution, split, measure) ?? { n: 0 }),
      })),
    ),
  )
}
