/** What a judge said in a match: of GAR's slices, and the critic's of solutions and planted errors. */
import type { Chain, Critique, JudgedSlice, Verdict } from '../api/match.js'
import { numberOf } from './journal.js'
import type { Placed } from './match.js'
import { partsOf, rolloutOf, textOf } from './record.js'

/** The slices of each answer, in order, each with all verdicts on it. */
export function chains(answers: readonly Placed[], judged: readonly Placed[]): Chain[] {
  const generated = judged.filter(({ record }) => partsOf(record).source === 'generated')
  if (generated.length === 0) return []
  return answers.map(({ record }, answer) => {
    const own = generated.filter((each) => numberOf(partsOf(each.record).trajectory) === record.index)
    const pieces = [...new Set(own.flatMap((each) => numberOf(partsOf(each.record).piece) ?? []))]
    const slices = pieces
      .sort((a, b) => a - b)
      .map((piece) => {
        const all = own.filter((each) => partsOf(each.record).piece === piece)
        const { start, end } = partsOf(all[0]!.record)
        return { start: numberOf(start), end: numberOf(end), piece, verdicts: all.map(verdictOf) }
      })
    return { answer, slices }
  })
}

/** Reference slices that were judged beside them. */
export function references(judged: readonly Placed[]): JudgedSlice[] {
  const own = judged.filter(({ record }) => partsOf(record).source === 'reference')
  const texts = [...new Set(own.flatMap(({ record }) => textOf(partsOf(record).slice) ?? []))]
  return texts.map((shown) => ({
    shown,
    verdicts: own.filter(({ record }) => partsOf(record).slice === shown).map(verdictOf),
  }))
}

function verdictOf({ ref, record }: Placed): Verdict {
  const { verdict, p_yes } = partsOf(record)
  return {
    verdict: verdict === 'YES' || verdict === 'NO' ? verdict : null,
    pYes: numberOf(p_yes),
    rollout: rolloutOf(record, ref),
  }
}

const exhibits = ['solution', 'planted', 'twin'] as const

export function critiques(judged: readonly Placed[]): Critique[] {
  return judged.flatMap(({ ref, record }) => {
    const parts = partsOf(record)
    const of = exhibits.find((kind) => kind === parts.kind)
    if (of === undefined) return []
    return {
      of,
      answer: numberOf(parts.solution),
      right: booleanOf(parts.right),
      plantedStep: numberOf(parts.planted),
      saidCorrect: booleanOf(parts.said_correct),
      firstError: numberOf(parts.first_error),
      score: numberOf(parts.score),
      rollout: rolloutOf(record, ref),
    }
  })
}

function booleanOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}
