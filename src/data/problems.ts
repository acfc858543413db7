import { z } from 'zod'
import { loadJsonl } from './jsonl.js'

const answer = z
  .union([z.string().min(1), z.number()], { error: 'must be text or a number, and not empty' })
  .transform(String)
const record = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String).optional(),
  problem: z.string().min(1),
  answer,
})
const question = z.object({ problem: z.string().min(1), answer: answer.optional() })

/** A problem with its true answer. Other keys of the file (subject, level, source ...) are kept. */
export interface Problem {
  id: string
  problem: string
  answer: string
  [key: string]: unknown
}

/**
 * Problems of a JSONL file in order. Where a line has no `id`, it is its number among the problems, from 0. Throws
 * DataError where the file cannot be read, holds none, or a line lacks `problem` or `answer`.
 */
export async function loadProblems(path: string): Promise<Problem[]> {
  const records = await loadJsonl(path, record, 'problems')
  return records.map((each, i) => ({ ...each, id: each.id ?? `${i}` }))
}

/** The same file for those who need no answers: a line may lack its `answer`. Other keys are left out. */
export async function loadQuestions(
  path: string,
): Promise<{ problem: string; answer?: string | undefined }[]> {
  return loadJsonl(path, question, 'problems')
}
