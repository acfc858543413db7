/** What a run says while it runs: one typed stream, drawn by the terminal or written as JSON lines by the command line. */
import type { MemoryPlan } from '../engine/engine.js'
import type { EvalReport } from '../eval/evaluate.js'
import type { Alarm } from './alarms.js'
import type { MetricsLine } from './directory.js'
import type { Recipe } from './recipe.js'

/** Accuracy on the held-out problems at the start and now: mean of the samples. */
export interface HeldoutChange {
  before: number
  after: number
  /** Problems. */
  n: number
}

export type RunEvent =
  | { event: 'config'; run: string; config: Recipe }
  | ({ event: 'memory' } & MemoryPlan)
  /** Rounds were done before: this run goes on after `round`. */
  | { event: 'resume'; round: number; note?: string }
  /** For the live display; left out of the JSON lines. */
  | PhaseEvent
  /** What metrics.jsonl has gained, and the alarms that hold since; for the live display, left out of the JSON lines. */
  | { event: 'recorded'; lines: MetricsLine[]; alarms: string[] }
  | {
      event: 'round'
      round: number
      rounds: number
      seconds: number
      metrics: Record<string, number>
      skipped?: string
    }
  | ({ event: 'eval'; round: number; name: string; sampling: 'sampled' | 'greedy' } & EvalSummary)
  | { event: 'checkpoint'; round: number; path: string }
  /** Yardsticks other than the held-out problems. */
  | { event: 'anchor'; round: number; metrics: Record<string, number> }
  | ({ event: 'alarm'; round: number } & Alarm)
  /** Weights, optimizers and the game's state are those of round `to` again; learning rates are multiplied with `scale`. */
  | { event: 'rollback'; round: number; to: number; scale: number; alarm: string }
  | DoneEvent
  | { event: 'error'; code: string; message: string; hint?: string }

/** What the run is doing. */
export interface PhaseEvent {
  event: 'phase'
  name: string
  /** Whose work it is; where absent, the program's own. */
  role?: string
  done?: number
  total?: number
  /** Sampled since the phase began. */
  tokens?: number
  /** A sentence on what has to be waited for, while the phase before goes on. */
  waiting?: true
}

export type EvalSummary = Omit<EvalReport, 'records'>

export interface DoneEvent {
  event: 'done'
  run: string
  /** Rounds done in all. */
  rounds: number
  /** Of this process. */
  seconds: number
  heldout: HeldoutChange | null
  /** True where it was asked to end before the last round, or an alarm paused it. */
  stopped?: true
  /** The alarm that paused the run. */
  paused?: Alarm
}

export type Emit = (event: RunEvent) => void
