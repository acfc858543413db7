import type { GradeSettings } from './grade.js'
import type { GradeCase, Grader, Verdict } from './grader.js'
import { createGrader } from './pool.js'

/** Graders by their settings, so that one process serves every call; none keeps the program alive. */
const graders = new Map<string, Grader>()

/**
 * Grades one prediction, or any number of cases, in processes that are killed at a deadline of 5 s a case. Order is
 * kept. Throws GraderError where no process can be started. For other deadlines, or to close the processes at a time of
 * your choice: `createGrader`.
 */
export async function grade(
  gold: string,
  prediction: string,
  options?: Omit<GradeCase, 'gold' | 'prediction'> & GradeSettings,
): Promise<Verdict>
export async function grade(cases: readonly GradeCase[], settings?: GradeSettings): Promise<Verdict[]>
export async function grade(
  first: string | readonly GradeCase[],
  second?: string | GradeSettings,
  third: Omit<GradeCase, 'gold' | 'prediction'> & GradeSettings = {},
): Promise<Verdict | Verdict[]> {
  if (Array.isArray(first)) return sharedGrader(second as GradeSettings).grade([...first])
  const { kind, choices, ...settings } = third
  const question = {
    gold: first as string,
    prediction: second as string,
    ...(kind && { kind }),
    ...(choices && { choices }),
  }
  const [verdict] = await sharedGrader(settings).grade([question])
  return verdict!
}

function sharedGrader(settings: GradeSettings = {}): Grader {
  const key = JSON.stringify([settings.extract, settings.tolerance, settings.unevaluated])
  const grader = graders.get(key) ?? createGrader(settings)
  graders.set(key, grader)
  return grader
}
