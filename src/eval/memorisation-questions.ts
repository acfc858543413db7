/** The questions that a role of a run has written. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { DataError } from '../core/errors.js'
import { randomStream } from '../core/random.js'
import { readJsonl } from '../data/jsonl.js'

const record = z.looseObject({ parts: z.looseObject({ question: z.string().optional() }) })

export interface QuestionsOptions {
  /** Role whose rollouts are read. */
  role: string
  /** Rounds to read, the newest; all where absent. */
  last?: number | undefined
  /** Most questions to take; drawn by the seed where there are more. */
  limit: number
  seed: number
}

export interface RunQuestions {
  /** In the order of their first appearance. */
  questions: string[]
  /** Different questions in all, before the limit. */
  different: number
}

/** Different questions of a run's rollouts. Throws DataError where the role has written none. */
export async function questionsOfRun(run: string, options: QuestionsOptions): Promise<RunQuestions> {
  const { role, last, limit, seed } = options
  const folder = join(run, 'rollouts')
  const rounds = existsSync(folder) ? (await readdir(folder)).sort() : []
  const files = rounds.map((round) => join(folder, round, `${role}.jsonl`)).filter((file) => existsSync(file))
  const questions = new Set<string>()
  for (const file of last === undefined ? files : files.slice(-last)) {
    for await (const { parts } of readJsonl(file, record)) if (parts.question) questions.add(parts.question)
  }
  if (questions.size === 0) {
    throw new DataError(`${run} holds no question that ${role} has written.`, {
      hint: 'Give a run whose rollouts are there, and with --role the role that writes its questions.',
    })
  }
  const all = [...questions]
  const different = all.length
  if (different <= limit) return { questions: all, different }
  const drawn = new Set(randomStream(seed, 'questions').shuffle(all).slice(0, limit))
  return { questions: all.filter((question) => drawn.has(question)), different }
}
