/** Problems that a game trains on: those of the arithmetic world, or of a file. */
import { z } from 'zod'
import { DataError } from '../core/errors.js'
import type { RandomStream } from '../core/random.js'
import { loadQuestions } from '../data/problems.js'
import type { GameContext, NeededFile } from './game.js'
import { oncePerRun } from './once.js'
import { takeInPasses } from './passes.js'

export const problemSettings = {
  problems: z
    .string()
    .min(1)
    .default('arithmetic')
    .describe(
      'arithmetic: problems of the world with their true answers; or a JSONL file of {problem, answer}',
    ),
  problems_limit: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'Problems to use, the first of a file; 0 uses the whole file, and of the world new ones for ever',
    ),
  problems_per_round: z.int().min(1).default(16).describe('Problems of a round'),
}

interface ProblemSettings {
  problems: string
  problems_limit: number
  problems_per_round: number
}

/** The file of the problems, where they are of one. */
export function problemFiles({ problems }: ProblemSettings): NeededFile[] {
  if (problems === 'arithmetic') return []
  return [{ key: 'settings.problems', path: problems, what: 'JSONL of {problem, answer}' }]
}

export interface Problem {
  problem: string
  /** Absent where the file holds none. */
  answer?: string | undefined
}

export interface LabelledProblem extends Problem {
  answer: string
}

/** A fixed set with the seed of its shuffles, or a world that draws. */
type Source = { set: readonly Problem[]; seed: number } | { draw: (stream: RandomStream) => Problem }

type Setup = Omit<GameContext<ProblemSettings>, 'round'>

/** Reads the problems; call it in `setup`. Throws DataError where a file cannot be read or holds none. */
export const problemSource = oncePerRun(async (ctx: Setup): Promise<Source> => {
  const { problems, problems_limit: limit } = ctx.config
  const seed = ctx.random('problems').int(2 ** 31)
  if (problems === 'arithmetic') {
    const { drawProblem } = await import('../worlds/arithmetic/index.js')
    return limit === 0
      ? { draw: drawProblem }
      : { set: distinct(drawProblem, limit, ctx.random('set')), seed }
  }
  const questions = await loadQuestions(ctx.path(problems))
  return { set: limit === 0 ? questions : questions.slice(0, limit), seed }
})

/** The same, where every problem needs its answer. Throws DataError where one has none. */
export async function labelledSource(ctx: Setup): Promise<void> {
  const source = await problemSource(ctx)
  const lacking = 'set' in source ? source.set.findIndex(({ answer }) => answer === undefined) : -1
  if (lacking < 0) return
  throw new DataError(`${ctx.path(ctx.config.problems)}: problem ${lacking + 1} has no answer.`, {
    hint: 'Give every line an "answer", or play a game that needs none.',
  })
}

/** The problems of this round: the next ones of the shuffled passes over a set, or newly drawn ones of the world. */
export async function problemsOfRound(ctx: GameContext<ProblemSettings>): Promise<Problem[]> {
  const { problems_per_round: n } = ctx.config
  const source = await problemSource(ctx)
  if ('set' in source) return takeInPasses(source.set, ctx.round * n, n, source.seed)
  const stream = ctx.random('problems')
  return Array.from({ length: n }, () => source.draw(stream))
}

/** `problemsOfRound` of a source that `labelledSource` has checked. */
export async function labelledProblemsOfRound(ctx: GameContext<ProblemSettings>): Promise<LabelledProblem[]> {
  return (await problemsOfRound(ctx)) as LabelledProblem[]
}

/** Draws in a row without a new problem after which the world counts as exhausted. */
const PATIENCE = 10_000

function distinct(draw: (stream: RandomStream) => Problem, n: number, stream: RandomStream): Problem[] {
  const found = new Map<string, Problem>()
  for (let misses = 0; found.size < n && misses < PATIENCE; misses++) {
    const problem = draw(stream)
    if (found.has(problem.problem)) continue
    found.set(problem.problem, problem)
    misses = 0
  }
  return [...found.values()]
}
