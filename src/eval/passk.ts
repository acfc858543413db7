/**
 * Unbiased estimate of pass@k from c right samples of n: 1 - C(n-c, k) / C(n, k), the chance that k of the n samples,
 * drawn without putting back, hold a right one (Chen et al. 2021, arXiv 2107.03374, eq. 1). Taken as a product of
 * factors below 1, which no n overflows. 1 <= k <= n.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (k === 1) return c / n
  if (n - c < k) return 1
  let none = 1
  for (let i = n - c + 1; i <= n; i++) none *= 1 - k / i
  return 1 - none
}

/** 1, 2, 4, ... up to the number of samples. */
export function usualKs(samples: number): number[] {
  return Array.from({ length: Math.floor(Math.log2(samples)) + 1 }, (_, power) => 2 ** power)
}
