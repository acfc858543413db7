/** The modules a run is made of, loaded when a run needs them: `sparring --help` loads none. */
import { join } from 'node:path'
import type { Engine } from '../engine/engine.js'
import type { EvalProblem } from '../eval/evaluate.js'
import { gameGrading } from '../eval/grading.js'
import type { AnyGame, World } from '../games/game.js'
import type { Grader } from '../grader/grader.js'
import type { GraderOptions } from '../grader/index.js'
import type { LeveledProblem } from './levels.js'
import type { Recipe } from './recipe.js'

/** What a run gives to an engine whose policies live elsewhere. */
export interface EngineSurroundings {
  /** Folder of the run, for journals of what was asked of servers. */
  run?: string
  /** Hears what is waited for. */
  onWait?: (sentence: string) => void
  onWarning?: (sentence: string) => void
  /** Ends the opening of policies that live elsewhere, and whatever else is asked there. */
  signal?: AbortSignal
  /** No server is asked: policies there have tokenizers and nothing else. */
  dry?: boolean
}

/** Passed in, so that a test can bring its own engine and game. */
export interface Parts {
  loadGame(name: string): Promise<AnyGame>
  openEngine(engine: Recipe['engine'], around?: EngineSurroundings): Promise<Engine>
  /** @default gameGrading */
  createGrader(options?: GraderOptions): Promise<Grader>
  loadWorld(name: 'arithmetic'): Promise<World>
  /** The first n problems of a JSONL file. */
  readProblems(path: string, n: number): Promise<EvalProblem[]>
  /** n held-out problems of a world, the same in every run. */
  heldoutProblems(world: 'arithmetic', n: number): Promise<EvalProblem[]>
  /** n problems of each level of a world, or of a JSONL file of {problem, answer, level}. */
  leveledProblems(from: string, n: number): Promise<LeveledProblem[]>
}

export const parts: Parts = {
  async loadGame(name) {
    const games = await import('../games/index.js')
    return games.loadGame(name)
  },
  async openEngine(engine, { run, dry, ...hearing } = {}) {
    if (engine.kind === 'tinker' && dry) {
      const { UnreachedEngine } = await import('../engine/tinker/unreached.js')
      return new UnreachedEngine()
    }
    if (engine.kind === 'tinker') {
      const { openTinkerEngine } = await import('../engine/tinker/index.js')
      const { url, dialect } = engine
      return openTinkerEngine({
        url,
        dialect,
        ...(run !== undefined && { journal: join(run, 'tinker') }),
        ...hearing,
      })
    }
    const { openLocalEngine } = await import('../engine/local/index.js')
    return openLocalEngine({ threads: engine.threads })
  },
  async createGrader(options = gameGrading) {
    const { createGrader } = await import('../grader/index.js')
    return createGrader(options)
  },
  async loadWorld() {
    const { arithmetic } = await import('../worlds/arithmetic/index.js')
    return arithmetic
  },
  async readProblems(path, n) {
    const { loadProblems } = await import('../data/problems.js')
    return (await loadProblems(path)).slice(0, n)
  },
  async heldoutProblems(_world, n) {
    const { heldoutProblems } = await import('../worlds/arithmetic/index.js')
    return heldoutProblems(n, 0)
  },
  async leveledProblems(from, n) {
    const { leveledProblems } = await import('./levels.js')
    return leveledProblems(from, n)
  },
}
