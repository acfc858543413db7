/** Plays the fake game in a run folder; as a script: `fake-run.js FOLDER [--resume] [key=value]...`, printing a line a round. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RunDirectory } from '../../src/runs/directory.js'
import type { Disk } from '../../src/runs/disk.js'
import type { Emit } from '../../src/runs/events.js'
import { openMatch } from '../../src/runs/match.js'
import { loadRecipe } from '../../src/runs/recipe.js'
import { type Outcome, train } from '../../src/runs/runner.js'
import type { Hook } from './fake-engine.js'
import { fakeParts, fakeRecipe } from './fake-parts.js'

export interface FakeRunOptions {
  resume?: boolean
  set?: string[]
  rounds?: number
  hook?: Hook
  disk?: Disk
  emit?: Emit
  stopping?: () => boolean
  signal?: AbortSignal
}

export async function fakeRun(folder: string, options: FakeRunOptions = {}): Promise<Outcome> {
  const file = join(dirname(folder), 'fake.yaml')
  writeFileSync(file, fakeRecipe)
  const parts = fakeParts(options.hook)
  const { rounds, set = [] } = options
  const loaded = await loadRecipe(file, { set, rounds, loadGame: parts.loadGame })
  const run = await RunDirectory.open(folder, options.resume ?? false, options.disk)
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...rest] = process.argv.slice(2)
  await fakeRun(folder!, {
    resume: rest.includes('--resume'),
    set: rest.filter((argument) => argument.includes('=')),
    emit: (event) => {
      if (event.event === 'round') process.stdout.write(`round ${event.round}\n`)
    },
  })
}
