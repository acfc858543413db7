/** The yardsticks outside the game: accuracy on held-out problems, sampled and greedy. */
import { type EvalRecord, type EvalReport, evaluate } from '../eval/evaluate.js'
import { policyAnswerer } from '../eval/policy-answerer.js'
import type { Emit } from './events.js'
import type { Match } from './match.js'

export interface AnchorReading {
  sampling: 'sampled' | 'greedy'
  report: EvalReport
}

/** Measures the held-out problems; nothing where the recipe has none. The samples are seeded alike every time. */
export async function readAnchors(match: Match, signal: AbortSignal, emit: Emit): Promise<AnchorReading[]> {
  const { heldout, game, recipe, grader, roles } = match
  if (heldout === undefined) return []
  const { role, samples, temperature, greedy, max_tokens: maxTokens } = heldout.recipe
  const prompt = (problem: string) =>
    game.anchorPrompt?.(recipe.settings, problem) ?? {
      messages: [{ role: 'user' as const, content: problem }],
    }
  const measure = async (sampling: AnchorReading['sampling']): Promise<AnchorReading> => ({
    sampling,
    report: await evaluate(policyAnswerer(roles[role]!.policy), heldout.problems, {
      grader,
      prompt,
      maxTokens,
      signal,
      samples: sampling === 'greedy' ? 1 : samples,
      temperature: sampling === 'greedy' ? 0 : temperature,
      seed: recipe.seed,
      progress: (done, total) => emit({ event: 'phase', name: `held-out ${sampling}`, done, total }),
    }),
  })
  return [await measure('sampled'), ...(greedy ? [await measure('greedy')] : [])]
}

/** Metrics of the readings: heldout/accuracy is that of the samples, heldout/greedy that of the greedy answers. */
export function anchorMetrics(readings: AnchorReading[]): Record<string, number> {
  const entries = readings.flatMap(({ sampling, report }) => {
    const name = sampling === 'greedy' ? 'heldout/greedy' : 'heldout/accuracy'
    const parts: [string, number][] = [
      [name, report.accuracy],
      [`${name}_low`, report.low],
      [`${name}_high`, report.high],
    ]
    if (sampling === 'greedy') return parts
    return [
      ...parts,
      ['heldout/truncated_frac', report.truncatedFrac] as [string, number],
      ['heldout/unanswered_frac', report.unansweredFrac] as [string, number],
    ]
  })
  return Object.fromEntries(entries)
}

/** Lines of the round's heldout.jsonl. */
export function anchorRecords(readings: AnchorReading[]): (EvalRecord & { sampling: string })[] {
  return readings.flatMap(({ sampling, report }) => report.records.map((record) => ({ sampling, ...record })))
}
