/** Whether a run is being played, and how it ended where it is not. */
import { isHeld } from '../../runs/lock.js'
import type { RunStatus } from '../api/run.js'
import type { JournalIndex } from './journal.js'

/** @param lock text of the run's lock; undefined where it has none. */
export function statusOf(lock: string | undefined, journal: JournalIndex, rounds: number | null): RunStatus {
  if (lock !== undefined && isHeld(lock)) return 'running'
  // A process that ends in order takes its lock away, and leaves a checkpoint as the last record.
  if (lock !== undefined || !journal.endsInCheckpoint) return 'crashed'
  return rounds !== null && journal.round < rounds ? 'stopped' : 'finished'
}
