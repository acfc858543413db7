/** Plays a loaded run file in a run folder by the real runner, and closes what it opened. */
import { RunDirectory } from '../../src/runs/directory.js'
import type { Disk } from '../../src/runs/disk.js'
import { openMatch } from '../../src/runs/match.js'
import type { Parts } from '../../src/runs/parts.js'
import type { LoadedRecipe } from '../../src/runs/recipe.js'
import { type Outcome, type TrainOptions, train } from '../../src/runs/runner.js'

export interface PlayOptions extends Partial<Omit<TrainOptions, 'config'>> {
  resume?: boolean | undefined
  disk?: Disk | undefined
}

export async function playRun(
  loaded: LoadedRecipe,
  folder: string,
  parts: Parts,
  { resume = false, disk, ...options }: PlayOptions = {},
): Promise<Outcome> {
  const run = await RunDirectory.open(folder, resume, disk)
  try {
    const match = await openMatch(loaded, parts)
    try {
      return await train(match, run, {
        config: loaded.recipe,
        emit: options.emit ?? (() => {}),
        signal: options.signal ?? new AbortController().signal,
        stopping: options.stopping ?? (() => false),
      })
    } finally {
      await match.close()
    }
  } finally {
    run.close()
  }
}
