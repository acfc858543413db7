/** Results in words. A difference counts where the 95 % interval over seeds leaves out 0; anything else is none. */
import { difference, plusMinus, points, type Spread } from '../lib/spread.js'
import type { Claim } from './plan.js'
import { accuracies, type Change, type Result } from './summary.js'

/** What became of one kind of answers. */
export function changeInWords({ gain }: Change): string {
  const { mean, half, values } = gain
  const amount = points(Math.abs(mean))
  if (values.length < 2) {
    return mean === 0
      ? 'is the same with its one seed'
      : `${rises(mean)} by ${amount} points with its one seed`
  }
  if (Math.abs(mean) > half) return `${mean > 0 ? 'gains' : 'loses'} ${amount} points (± ${points(gain.sd)})`
  if (agree(gain)) {
    const sizes = values.map(Math.abs)
    const range = `${points(Math.min(...sizes))} to ${points(Math.max(...sizes))}`
    return `${rises(mean)} with every seed, by ${range} points, which is too uneven for an interval that leaves out 0`
  }
  return `shows no change beyond the spread of its seeds (${plusMinus(gain)} points)`
}

const rises = (change: number) => (change > 0 ? 'rises' : 'falls')

const agree = ({ values }: Spread) => values.every((value) => value > 0) || values.every((value) => value < 0)

/** Where a row ends beside another, in sampled answers. */
export function besideInWords(result: Result, reference: Result): string {
  const gap = difference(accuracies(result, 'sampled'), accuracies(reference, 'sampled'))
  const name = reference.row.label
  const amount = points(Math.abs(gap.mean))
  if (!Number.isFinite(gap.half))
    return `ends ${amount} points ${gap.mean < 0 ? 'below' : 'above'} ${name} with one seed`
  if (Math.abs(gap.mean) > gap.half)
    return `ends ${amount} points ${gap.mean < 0 ? 'below' : 'above'} ${name}`
  return `shows no difference from ${name} beyond the spread (${signed(gap.mean)} points, 95 % interval ± ${points(gap.half)})`
}

const signed = (share: number) => `${share < 0 ? '-' : '+'}${points(Math.abs(share))}`

export const verdicts = [
  'appears',
  'does not appear',
  'the opposite appears',
  'cannot be told from one seed',
] as const
export type Verdict = (typeof verdicts)[number]

export interface Judgement {
  claim: Claim
  /** What was measured. */
  here: string
  verdict: Verdict
}

/** Undefined where a row of the claim was not played. */
export function judgeClaim(claim: Claim, results: readonly Result[]): Judgement | undefined {
  const find = (name: string) => results.find(({ row }) => row.name === name)
  const result = find(claim.row)
  const other = claim.than === 'start' ? result : find(claim.than)
  if (result === undefined || other === undefined) return undefined
  const own = claim.than === 'start'
  const gap = own
    ? result.sampled.gain
    : difference(accuracies(result, 'sampled'), accuracies(other, 'sampled'))
  const told = Number.isFinite(gap.half)
  const spread = told ? `95 % interval ± ${points(gap.half)}` : 'one seed'
  const here = `${signed(gap.mean)} points against ${own ? 'the start' : other.row.label}, ${spread}`
  const verdict = told ? verdictOf(claim, gap) : 'cannot be told from one seed'
  if (claim.faster === undefined) return { claim, here, verdict }
  const [mine, its] = [result, other].map(({ seconds }) => seconds.median) as [number, number]
  return {
    claim,
    here: `${here}; ${mine.toFixed(0)} s against ${its.toFixed(0)} s`,
    verdict: verdict === 'appears' && mine >= its ? 'does not appear' : verdict,
  }
}

function verdictOf({ expect }: Claim, { mean, half }: { mean: number; half: number }): Verdict {
  const seen = Math.abs(mean) <= half ? 'alike' : mean > 0 ? 'above' : 'below'
  if (seen === expect) return 'appears'
  return seen === 'alike' || expect === 'alike' ? 'does not appear' : 'the opposite appears'
}
