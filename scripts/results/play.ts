/** Plays one run to where its comparison wants it: a new one, or the rest of one that was begun. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../src/core/errors.js'
import { takeLock } from '../../src/runs/lock.js'
import { startCommand } from '../lib/runs.js'
import { type Job, stateOf } from './jobs.js'

/**
 * Ends where the run is over, or with a checkpoint after the round in which `signal` was given. Throws where the run
 * fails.
 */
export async function play(job: Job, signal: AbortSignal): Promise<void> {
  const { comparison, folder, args, row, seed } = job
  await untilFree(folder)
  const begun = existsSync(join(folder, 'config.json'))
  let looking = Promise.resolve()
  const run = startCommand(
    begun ? ['train', '--no-report', '--run', folder, '--resume'] : ['train', '--no-report', ...args],
    (event) => {
      // A round's own files are written after its event: the yardsticks of the round before are there.
      if (event.event !== 'round' || (event.round - 1) % comparison.every !== 0) return
      looking = looking.then(async () => {
        if ((await stateOf(job)).over) run.end()
      })
      looking.catch(run.end)
    },
  )
  signal.addEventListener('abort', run.end)
  try {
    const status = await run.ended
    await looking
    if (status === 0 && (signal.aborted || (await stateOf(job)).over)) return
    throw new Error(`Seed ${seed} of ${row.name} ended with status ${status}; its folder is ${folder}.`)
  } finally {
    signal.removeEventListener('abort', run.end)
  }
}

/** Waits for a run that a killed script left behind: it ends by itself when it next has something to say. */
async function untilFree(folder: string): Promise<void> {
  while (existsSync(join(folder, 'lock'))) {
    try {
      takeLock(join(folder, 'lock'), folder)()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      await sleep(1000)
    }
  }
}
