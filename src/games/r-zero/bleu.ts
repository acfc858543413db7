/**
 * BLEU (Papineni et al., ACL 2002) of two short texts, and the clusters that it makes of a batch of questions.
 */

/** Longest run of tokens that is compared. */
const MOST = 4

/** Stands for the matches of an order that has none: the first smoothing of Chen and Cherry (WMT 2014). */
const EPSILON = 0.1

/** Tokens: words, numbers and single signs. `12*(x+3)` has seven. */
const TOKEN = /\p{L}+|\p{N}+|[^\p{L}\p{N}\s]/gu

/** A text as BLEU sees it. */
export interface Profile {
  /** Tokens. */
  length: number
  /** n-grams of 1 to 4 tokens by how often they stand in the text. */
  grams: Map<string, number>[]
}

export function profile(text: string): Profile {
  const tokens: string[] = text.match(TOKEN) ?? []
  const grams = Array.from({ length: Math.min(MOST, tokens.length) }, (_, order) => {
    const counts = new Map<string, number>()
    for (let i = 0; i + order < tokens.length; i++) {
      const gram = tokens.slice(i, i + order + 1).join(' ')
      counts.set(gram, (counts.get(gram) ?? 0) + 1)
    }
    return counts
  })
  return { length: tokens.length, grams }
}

/**
 * BLEU of a candidate against one reference:
 *
 *     BLEU = BP (prod_{n=1..N} p_n)^{1/N},     BP = min(1, exp(1 - |reference| / |candidate|))
 *
 * p_n is the share of the candidate's n-grams that the reference holds too, each counted no more often than there; 0.1
 * stands for no match at all. N is 4, or the length of the candidate where that is shorter, so that a text has BLEU 1
 * with itself whatever its length.
 *
 * @returns 0 .. 1; 0 where either text is empty
 */
export function bleu(candidate: Profile, reference: Profile): number {
  if (candidate.length === 0 || reference.length === 0) return 0
  let logs = 0
  candidate.grams.forEach((grams, order) => {
    const known = reference.grams[order]
    let matches = 0
    for (const [gram, count] of grams) matches += Math.min(count, known?.get(gram) ?? 0)
    logs += Math.log((matches || EPSILON) / (candidate.length - order))
  })
  const brevity = Math.min(1, Math.exp(1 - reference.length / candidate.length))
  return brevity * Math.exp(logs / candidate.grams.length)
}

/**
 * Size of the cluster that each text belongs to. Texts start alone; the two nearest clusters join as long as the mean of
 * 1 - BLEU over their pairs is below `distance` (average linkage). BLEU of a pair is the mean of both directions.
 *
 * Takes n^2 comparisons and up to n^3 sums.
 */
export function clusterSizes(texts: readonly string[], distance: number): number[] {
  const profiles = texts.map(profile)
  const clusters = texts.map((_, i) => [i])
  const between = profiles.map((a, i) =>
    profiles.map((b, j) => (texts[i] === texts[j] ? 0 : 1 - (bleu(a, b) + bleu(b, a)) / 2)),
  )
  for (;;) {
    const pair = nearestPair(clusters, between)
    if (pair === undefined || pair.distance >= distance) break
    join(clusters, between, pair)
  }
  const sizes = texts.map(() => 0)
  for (const members of clusters) for (const member of members) sizes[member] = members.length
  return sizes
}

interface Pair {
  into: number
  from: number
  distance: number
}

/** The first of the nearest two clusters that are not empty. */
function nearestPair(clusters: readonly number[][], between: readonly number[][]): Pair | undefined {
  let nearest: Pair | undefined
  for (let into = 0; into < clusters.length; into++) {
    if (clusters[into]!.length === 0) continue
    for (let from = into + 1; from < clusters.length; from++) {
      if (clusters[from]!.length === 0) continue
      const distance = between[into]![from]!
      if (nearest === undefined || distance < nearest.distance) nearest = { into, from, distance }
    }
  }
  return nearest
}

/** Moves the members and makes the distances means over the pairs of the joined cluster. */
function join(clusters: number[][], between: number[][], { into, from }: Pair): void {
  const [a, b] = [clusters[into]!.length, clusters[from]!.length]
  clusters.forEach((_, other) => {
    if (other === into || other === from) return
    const mean = (a * between[into]![other]! + b * between[from]![other]!) / (a + b)
    between[into]![other] = mean
    between[other]![into] = mean
  })
  clusters[into] = [...clusters[into]!, ...clusters[from]!]
  clusters[from] = []
}
