/** Labelled slices: what the discriminator is taught to say before it plays. */
import type { RandomStream } from '../../../core/random.js'
import type { Tokenizer } from '../../../engine/engine.js'
import { equations, plantError } from '../plant.js'
import type { Reference } from '../references.js'
import { type Verdict, verdictText } from '../verdict.js'

export interface LabelledSlice {
  question: string
  /** The slice as it is shown. */
  shown: string
  verdict: Verdict
  /** What is to be said before the verdict, and after it. */
  analysis: string
  rationale: string
}

/**
 * Labels by rule, of slices that are right: every second one, by a coin, gets an error planted into it and is NO. The
 * analysis redoes the step, and ends where that differs from what is read: a small model that redoes the whole first and
 * compares then takes several times as long to learn it. A slice without an equation has no place for an error; it
 * is left out, or it would say YES by its looks alone.
 */
export function labelByRule(slices: readonly Reference[], stream: RandomStream): LabelledSlice[] {
  return slices.flatMap(({ question, shown, from }): LabelledSlice[] => {
    const planted = plantError(shown, stream, from)
    if (!planted) return []
    const { text, redone, original, changed } = planted
    if (stream.int(2) === 0) {
      const rationale = `It reads ${changed}, where ${original} is right.`
      return [{ question, shown: text, verdict: 0, analysis: redone, rationale }]
    }
    const { start, end } = stream.pick(equations(shown))
    const rationale = 'Every step that is checked holds.'
    return [{ question, shown, verdict: 1, analysis: shown.slice(start, end), rationale }]
  })
}

/** Labels by source: slices of one kind of solutions are YES, those of another NO. Nothing is redone. */
export function labelBySource(
  references: readonly Reference[],
  others: readonly Reference[],
): LabelledSlice[] {
  const label =
    (verdict: Verdict) =>
    ({ question, shown }: Reference) => ({
      question,
      shown,
      verdict,
      analysis: '',
      rationale: '',
    })
  return [...references.map(label(1)), ...others.map(label(0))]
}

/** As many of both verdicts: some of the more frequent one are left out, by chance. The order is random. */
export function balance<T extends { verdict: Verdict }>(labels: readonly T[], stream: RandomStream): T[] {
  const drawn = stream.shuffle(labels)
  const least = Math.min(
    ...[0, 1].map((verdict) => drawn.filter((label) => label.verdict === verdict).length),
  )
  const taken = { 0: 0, 1: 0 }
  return drawn.filter(({ verdict }) => ++taken[verdict] <= least)
}

/**
 * What is taught for a label: analysis, verdict, rationale. The analysis keeps to so many tokens, so that the verdict
 * comes before the cap of a completion; the rationale takes what the cap leaves, or falls away.
 */
export function targetOf(
  { analysis, verdict, rationale }: LabelledSlice,
  tokenizer: Tokenizer,
  caps: { analysis: number; completion: number },
): string {
  const first = tokenizer.encode(analysis)
  const short = first.length > caps.analysis ? tokenizer.decode(first.subarray(0, caps.analysis)) : analysis
  const whole = verdictText(short, verdict, rationale)
  return tokenizer.encode(whole).length < caps.completion ? whole : verdictText(short, verdict, '')
}
