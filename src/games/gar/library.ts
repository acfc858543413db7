/** What a run reads once: problems, the references to their side, and slices of known quality for the probe. */
import type { GameContext } from '../game.js'
import { oncePerRun } from '../once.js'
import type { Config } from './config.js'
import { cutPieces } from './cut.js'
import { loadSolutions, loadTracedProblems, type TracedProblem } from './data.js'
import { type Known, plantedSet } from './probe.js'
import { References } from './references.js'

type Setup = Omit<GameContext<Config>, 'round'>

export interface Library {
  problems: (TracedProblem & { id: number })[]
  references: References
  /** Slices of known quality, for the probe. */
  known: Known[]
  /** Of the shuffles. */
  seed: number
}

/** Call it in `setup`: streams are those of the setup. Throws ConfigError or DataError. */
export const library = oncePerRun(async (ctx: Setup): Promise<Library> => {
  const { config, path, random } = ctx
  ctx.phase('problems are read')
  const loaded = await loadTracedProblems(config.data, config.task, path, random('rows'))
  const problems = loaded.map((problem, id) => ({ ...problem, id }))
  const cutSolution = (text: string) => cutPieces(text, false, config, counter(ctx))
  const references = new References(await solutions(ctx, problems), cutSolution)
  const probes = config.probe_every > 0 && config.judge === 'slices' ? config.probe_slices / 2 : 0
  const drawn = problems.slice(0, probes).flatMap(({ id }) => references.draw(id, 1, random('probe', id)))
  const known = plantedSet(drawn, random('planted'))
  return { problems, references, known, seed: random('passes').int(2 ** 31) }
})

async function solutions(
  { config, path }: Setup,
  problems: readonly TracedProblem[],
): Promise<ConstructorParameters<typeof References>[0]> {
  if (typeof config.references === 'object') {
    const { path: file, ...columns } = config.references
    return { pool: await loadSolutions(path(file), columns) }
  }
  const of = problems.map(({ problem, traces }) => traces.map((text) => ({ question: problem, text })))
  return config.references === 'paired' ? { of } : { pool: of.flat() }
}

/** Counts in the discriminator's tokens. */
export function counter({ roles }: Pick<Setup, 'roles'>): (text: string) => number {
  const { tokenizer } = roles.discriminator!.policy
  return (text) => tokenizer.encode(text).length
}
