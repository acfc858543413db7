/** The yardsticks outside the game: held-out problems, problems by level, and frozen opponents. */
import { type EvalReport, evaluate } from '../eval/evaluate.js'
import { policyAnswerer } from '../eval/policy-answerer.js'
import type { Emit } from './events.js'
import type { Match } from './match.js'
import { readOpponents } from './opponents.js'

/** One measurement of the held-out problems. */
export interface HeldoutReading {
  sampling: 'sampled' | 'greedy'
  report: EvalReport
}

/** Everything that was measured at once. */
export interface Readings {
  heldout: HeldoutReading[]
  metrics: Record<string, number>
  /** Records by the file of the round's rollouts that they go to. */
  records: Record<string, object[]>
}

export const noReadings: Readings = { heldout: [], metrics: {}, records: {} }

/**
 * Reads every yardstick of the recipe. The samples are seeded alike every time.
 *
 * @param snapshots checkpoint folders of earlier rounds that the opponents are taken from, oldest first.
 */
export async function readAnchors(
  match: Match,
  snapshots: readonly string[],
  signal: AbortSignal,
  emit: Emit,
): Promise<Readings> {
  const heldout = await readHeldout(match, signal, emit)
  const levels = await readLevels(match, signal, emit)
  const opponents = await readOpponents(match, snapshots, signal, emit)
  const answers = heldout.flatMap(({ sampling, report }) =>
    report.records.map((record) => ({ sampling, ...record })),
  )
  return {
    heldout,
    metrics: { ...heldoutMetrics(heldout), ...levels.metrics, ...opponents },
    records: {
      ...(answers.length > 0 && { heldout: answers }),
      ...(levels.records.length > 0 && { levels: levels.records }),
    },
  }
}

/** A role of the match as something that is asked, and how the game puts problems to it. */
function asked({ game, recipe, roles, grader }: Match, role: string) {
  const prompt = (problem: string) =>
    game.anchorPrompt?.(recipe.settings, problem) ?? {
      messages: [{ role: 'user' as const, content: problem }],
    }
  return { answerer: policyAnswerer(roles[role]!.policy), options: { grader, prompt, seed: recipe.seed } }
}

async function readHeldout(match: Match, signal: AbortSignal, emit: Emit): Promise<HeldoutReading[]> {
  if (match.heldout === undefined) return []
  const { recipe, problems } = match.heldout
  const { answerer, options } = asked(match, recipe.role)
  const measure = async (sampling: HeldoutReading['sampling']): Promise<HeldoutReading> => ({
    sampling,
    report: await evaluate(answerer, problems, {
      ...options,
      maxTokens: recipe.max_tokens,
      signal,
      samples: sampling === 'greedy' ? 1 : recipe.samples,
      temperature: sampling === 'greedy' ? 0 : recipe.temperature,
      progress: (done, total) =>
        emit({ event: 'phase', name: `held-out ${sampling}`, role: recipe.role, done, total }),
    }),
  })
  return [await measure('sampled'), ...(recipe.greedy ? [await measure('greedy')] : [])]
}

/** heldout/accuracy is that of the samples, heldout/greedy that of the greedy answers. */
function heldoutMetrics(readings: HeldoutReading[]): Record<string, number> {
  const entries = readings.flatMap(({ sampling, report }) => {
    const name = sampling === 'greedy' ? 'heldout/greedy' : 'heldout/accuracy'
    const parts = withInterval(name, report)
    if (sampling === 'greedy') return parts
    return [
      ...parts,
      ['heldout/truncated_frac', report.truncatedFrac] as [string, number],
      ['heldout/unanswered_frac', report.unansweredFrac] as [string, number],
    ]
  })
  return Object.fromEntries(entries)
}

function withInterval(name: string, { accuracy, low, high }: EvalReport): [string, number][] {
  return [
    [name, accuracy],
    [`${name}_low`, low],
    [`${name}_high`, high],
  ]
}

async function readLevels(match: Match, signal: AbortSignal, emit: Emit) {
  if (match.levels === undefined) return { metrics: {}, records: [] }
  const { recipe, problems } = match.levels
  const { answerer, options } = asked(match, recipe.role)
  const entries: [string, number][] = []
  const records: object[] = []
  for (const level of new Set(problems.map((problem) => problem.level))) {
    emit({ event: 'phase', name: `level ${level}`, role: recipe.role })
    const own = problems.filter((problem) => problem.level === level)
    const { temperature, max_tokens: maxTokens } = recipe
    const report = await evaluate(answerer, own, { ...options, maxTokens, signal, samples: 1, temperature })
    entries.push(...withInterval(`level/${level}`, report))
    records.push(...report.records.map((record) => ({ level, ...record })))
  }
  return { metrics: Object.fromEntries(entries), records }
}
