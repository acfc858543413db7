/** Problems of fixed difficulty: n of each level, the same in every run, so that levels can be followed apart. */
import { DataError } from '../core/errors.js'
import { loadProblems } from '../data/problems.js'
import type { EvalProblem } from '../eval/evaluate.js'

export interface LeveledProblem extends EvalProblem {
  /** Part of a metric's name: letters, digits, `-`, `_` and `.`. */
  level: string
}

/**
 * n problems of each level: `arithmetic`, or a JSONL file whose problems have a `level`, the first n of each. Throws DataError
 * where a level is missing or cannot be part of a name.
 */
export async function leveledProblems(from: string, n: number): Promise<LeveledProblem[]> {
  return from === 'arithmetic' ? ofWorld(n) : ofFile(from, n)
}

/** Seed of the held-out problems of levels, which are others than those of `anchors.heldout`. */
const SEED = 1

async function ofWorld(n: number): Promise<LeveledProblem[]> {
  const { heldoutProblems, kinds } = await import('../worlds/arithmetic/index.js')
  const levels = [...new Set(kinds.map(({ level }) => level))].sort((a, b) => a - b)
  return levels.flatMap((level) => {
    const own = kinds.filter((kind) => kind.level === level)
    return heldoutProblems(n, SEED, own).map(({ problem, answer }) => ({
      problem,
      answer,
      level: `${level}`,
    }))
  })
}

async function ofFile(path: string, n: number): Promise<LeveledProblem[]> {
  const problems = (await loadProblems(path)).map(({ problem, answer, level }, i) => {
    const name = typeof level === 'number' || typeof level === 'string' ? String(level) : ''
    if (/^[\w.-]+$/.test(name)) return { problem, answer, level: name }
    throw new DataError(`${path}: problem ${i + 1} has no level that can be part of a name.`, {
      hint: 'Give every line a "level" of letters, digits, "-", "_" and ".", such as 3 or level-3.',
    })
  })
  const levels = [...new Set(problems.map(({ level }) => level))]
  const isNumbered = levels.every((level) => Number.isFinite(Number(level)))
  const sorted = isNumbered ? levels.sort((a, b) => Number(a) - Number(b)) : levels
  return sorted.flatMap((level) => problems.filter((each) => each.level === level).slice(0, n))
}
