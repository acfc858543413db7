/**
 * Two-sided sign-flip test of paired differences: the chance that the sum of the differences, each given a sign by the
 * toss of a coin, is at least as far from 0 as theirs. Exact: the distribution of the sum is built up difference by
 * difference, which whole numbers allow; scale fractions to their common denominator. Where all differences are 0, 1 or
 * -1 it is McNemar's exact test (the binomial test of the discordant pairs). 1 where nothing differs.
 */
export function signFlipTest(differences: readonly number[]): number {
  const scale = differences.reduce((divisor, value) => gcd(divisor, Math.abs(value)), 0) || 1
  const steps = differences.map((value) => Math.abs(value) / scale).filter((value) => value > 0)
  const reach = steps.reduce((sum, step) => sum + step, 0)
  const observed = Math.abs(differences.reduce((sum, value) => sum + value, 0)) / scale
  // Chance of the sum s stands at index s + reach.
  let chances = new Float64Array(2 * reach + 1)
  chances[reach] = 1
  let reached = 0
  for (const step of steps) {
    const next = new Float64Array(2 * reach + 1)
    for (let at = reach - reached; at <= reach + reached; at++) {
      const half = chances[at]! / 2
      if (half === 0) continue
      next[at - step]! += half
      next[at + step]! += half
    }
    chances = next
    reached += step
  }
  const p = chances.reduce((sum, chance, at) => (Math.abs(at - reach) >= observed ? sum + chance : sum), 0)
  return Math.min(1, p)
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
