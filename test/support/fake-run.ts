/** Plays the fake game in a run folder; as a script: `fake-run.js FOLDER [--resume] [key=value]...`, printing a line a round. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadRecipe } from '../../src/runs/recipe.js'
import type { Outcome } from '../../src/runs/runner.js'
import type { Hook } from './fake-engine.js'
import { fakeParts, fakeRecipe } from './fake-parts.js'
import { type PlayOptions, playRun } from './play-run.js'

export interface FakeRunOptions extends PlayOptions {
  set?: string[]
  rounds?: number
  hook?: Hook
}

export async function fakeRun(folder: string, options: FakeRunOptions = {}): Promise<Outcome> {
  const file = join(dirname(folder), 'fake.yaml')
  writeFileSync(file, fakeRecipe)
  const parts = fakeParts(options.hook)
  const { rounds, set = [] } = options
  const loaded = await loadRecipe(file, { set, rounds, loadGame: parts.loadGame })
  return playRun(loaded, folder, parts, options)
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
