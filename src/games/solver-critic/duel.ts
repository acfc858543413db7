/** The solver's solutions before the critic, outside the game. */
import type { Duel } from '../game.js'
import { takeInPasses } from '../passes.js'
import { type LabelledProblem, problemSource } from '../problems.js'
import type { Config } from './config.js'
import { exhibitSolutions } from './exhibits.js'
import { critiqueAll } from './judge.js'
import type { Exhibit } from './solution.js'
import { solve } from './solve.js'

/** A solution to each problem whose true answer is known, also in a game without answer key. No evidence is planted. */
export const duel: Duel<Config, Exhibit> = {
  setter: 'solver',
  taker: 'critic',
  point: 'a verdict of the critic that is true',

  async set(ctx, n) {
    const source = await problemSource(ctx)
    const stream = ctx.random('problems')
    const problems =
      'set' in source
        ? takeInPasses(source.set, 0, n, source.seed)
        : Array.from({ length: n }, () => source.draw(stream))
    const labelled = problems.flatMap(({ problem, answer }): LabelledProblem[] => {
      const known = answer ?? ctx.world?.solve(problem)
      return known === undefined ? [] : [{ problem, answer: known }]
    })
    const single = { ...ctx, config: { ...ctx.config, answers: 1, labels: 'gold' as const } }
    return exhibitSolutions(single, await solve(single, labelled))
  },

  async take(ctx, exhibits) {
    const single = { ...ctx, config: { ...ctx.config, critiques: 1 } }
    return (await critiqueAll(single, exhibits)).map(({ right, critiques }) => ({
      points: critiques[0] ? Number(critiques[0].critique?.correct === right) : null,
      kind: right ? 'right' : 'wrong',
    }))
  },
}
