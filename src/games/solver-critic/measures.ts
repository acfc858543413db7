/** How good a judge the critic is, on what it has judged. Every share is NaN where there is nothing to share. */
import { mean } from '../grpo/advantages.js'
import { fraction } from '../grpo/metrics.js'

/** A verdict beside what it should be; `said` is undefined where the critique cannot be read, which is never right. */
export interface Call {
  right: boolean
  said: boolean | undefined
}

/** Mean of the shares of right and of wrong solutions that were called so: 0.5 for one who says the same of all. */
export function balancedAccuracy(calls: readonly Call[]): number {
  const shareOf = (right: boolean) =>
    fraction(
      calls.filter((call) => call.right === right),
      (call) => call.said === right,
    )
  return mean([shareOf(true), shareOf(false)])
}

/**
 * Area under the receiver's curve of scores: the share of pairs of a right and a wrong solution in which the right one
 * has the higher score, equal ones counting half. 0.5 for scores that say nothing.
 */
export function areaUnderCurve(scored: readonly { right: boolean; score: number }[]): number {
  const of = (right: boolean) => scored.filter((each) => each.right === right).map(({ score }) => score)
  const wrong = of(false)
  return mean(of(true).flatMap((a) => wrong.map((b) => (a > b ? 1 : a === b ? 0.5 : 0))))
}

/** Where the first error was said to be, beside where it is; `said` is undefined where the critique cannot be read. */
export interface Location {
  truth: number | null
  said: number | null | undefined
}

/**
 * F1 of ProcessBench (arXiv 2412.06559): the harmonic mean of the share of erroneous solutions whose first error was
 * found and the share of sound ones in which none was.
 */
export function processF1(locations: readonly Location[]): number {
  const found = (erroneous: boolean) =>
    fraction(
      locations.filter(({ truth }) => (truth !== null) === erroneous),
      ({ truth, said }) => said === truth,
    )
  const [errors, sound] = [found(true), found(false)]
  return errors + sound === 0 ? 0 : (2 * errors * sound) / (errors + sound)
}
