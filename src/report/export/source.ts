/** What exports read: a run's metrics as columns, and its rollouts one by one. Also of a run that is being played. */
import { DataError } from '../../core/errors.js'
import type { Rollout } from '../api/rollouts.js'
import { requireRun } from '../reader/folders.js'
import { parseObject } from '../reader/lines.js'
import { MetricsIndex } from '../reader/metrics.js'
import { rolloutOf } from '../reader/record.js'
import { RolloutStore } from '../reader/store.js'

/** A run, read up to the last round that metrics.jsonl holds. */
export interface Source {
  /** Real path of the folder. */
  root: string
  metrics: MetricsIndex
}

/** Throws ConfigError where the folder holds no run, DataError where it has no round yet. */
export async function openSource(folder: string): Promise<Source> {
  const root = await requireRun(folder)
  const metrics = new MetricsIndex(root)
  await metrics.read()
  if (metrics.rows > 0) return { root, metrics }
  throw new DataError(`${folder} has no metrics.`, { hint: 'Wait until a round of the run is over.' })
}

/** A rollout, and how many bytes its line has. */
export interface SizedRollout {
  rollout: Rollout
  bytes: number
}

/** The rollouts of a run, round by round and role by role, texts in full; damaged lines are passed over. Holds one at a time. */
export async function* eachRollout({ root, metrics }: Source): AsyncGenerator<SizedRollout> {
  const store = new RolloutStore(root)
  await store.list(metrics.lastRound)
  for (const round of store.rounds) {
    for (const role of await store.roles(round)) {
      const file = await store.open(round, role)
      if (file === undefined) continue
      let line = 0
      // The stream closes the file, also where it is left early.
      for await (const text of file.readLines({ encoding: 'utf8' })) {
        const record = parseObject(text)
        if (record) {
          yield { rollout: rolloutOf(record, { round, role, line }, true), bytes: Buffer.byteLength(text) }
        }
        line++
      }
    }
  }
}
