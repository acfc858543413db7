/** Tests of sampled counts against a distribution. */

/**
 * p-value of Pearson's chi-square test of `counts` against `probabilities` (which sum to 1). Outcomes expected fewer
 * than 5 times are pooled. An outcome of probability 0 that occurred gives 0.
 */
export function chiSquareP(counts: ArrayLike<number>, probabilities: ArrayLike<number>): number {
  const draws = Array.from(counts).reduce((a, b) => a + b, 0)
  const bins: { observed: number; expected: number }[] = []
  const rest = { observed: 0, expected: 0 }
  for (let i = 0; i < counts.length; i++) {
    const expected = probabilities[i]! * draws
    if (expected === 0 && counts[i]! > 0) return 0
    if (expected >= 5) bins.push({ observed: counts[i]!, expected })
    else {
      rest.observed += counts[i]!
      rest.expected += expected
    }
  }
  if (rest.expected > 0) bins.push(rest)
  if (bins.length < 2) return 1
  const statistic = bins.reduce((sum, b) => sum + (b.observed - b.expected) ** 2 / b.expected, 0)
  return upperGamma((bins.length - 1) / 2, statistic / 2)
}

/** Regularised upper incomplete gamma function Q(a, x): survival function of chi-square at 2x with 2a degrees of freedom. */
export function upperGamma(a: number, x: number): number {
  if (x <= 0) return 1
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a))
  if (x < a + 1) {
    // Power series of the lower function: x^a e^-x sum x^k / (a (a+1) ... (a+k)).
    let term = 1 / a
    let sum = term
    for (let k = 1; term > sum * 1e-15; k++) {
      term *= x / (a + k)
      sum += term
    }
    return 1 - scale * sum
  }
  // Continued fraction 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))), evaluated from the tail.
  let tail = 0
  for (let k = 400; k >= 1; k--) tail = (k * (k - a)) / (x + 2 * k + 1 - a - tail)
  return scale / (x + 1 - a - tail)
}

/** ln of the gamma function for a > 0: Stirling's series after shifting the argument above 10. */
function logGamma(a: number): number {
  let shift = 0
  let z = a
  for (; z < 10; z++) shift += Math.log(z)
  const series = 1 / (12 * z) - 1 / (360 * z ** 3) + 1 / (1260 * z ** 5)
  return (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series - shift
}
