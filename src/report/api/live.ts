/** Server-sent events of /api/events: the event's name is `kind`, its data this object. */
import type { MetricsAnswer } from './metrics.js'
import type { Alarm, RunSummary } from './run.js'

export type LiveEvent =
  /** All runs at first; then those that are new or changed, and the ids of those that are gone. */
  | { kind: 'runs'; runs: RunSummary[]; gone: string[] }
  /** Rounds were played in the run that is watched. */
  | { kind: 'rounds'; run: string; from: number; to: number; metrics: MetricsAnswer }
  | { kind: 'alarms'; run: string; alarms: Alarm[] }
  /** The run went back to a checkpoint: ask for everything again. */
  | { kind: 'reset'; run: string; round: number }
