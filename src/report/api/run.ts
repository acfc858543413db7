/**
 * What a run is and how it stands. Here and beside it is what the reading side says about runs, as JSON: the server answers
 * with it, the page draws it, the single-file report carries it.
 *
 * Rounds count from 1; round 0 is the start, where only yardsticks are measured. Numbers that were not written or are not
 * finite are null. Times are milliseconds since 1970.
 */
import type { RolloutsQuery } from './rollouts.js'

export type RunStatus =
  /** A process plays it now. */
  | 'running'
  /** Every round was played. */
  | 'finished'
  /** Ended on request before the last round. */
  | 'stopped'
  /** Its process died, or failed. */
  | 'crashed'

export interface RunSummary {
  /** Path of the run's folder within the runs folder, with `/` between names. */
  id: string
  status: RunStatus
  /** Null where config.json cannot be read; `fault` then says why. */
  game: string | null
  seed: number | null
  roles: { name: string; model: string }[]
  /** Rounds done, and rounds to play in all. */
  round: number
  rounds: number | null
  /** The first yardstick of the run at the start and at its last measurement: share of right answers over n problems. */
  anchor: { name: string; before: number; after: number; n: number } | null
  /** Alarms that began, newest last. */
  alarms: { name: string; round: number }[]
  /** When its config was written, and when it last wrote anything. */
  started: number
  updated: number
  fault: string | null
}

export interface RunsAnswer {
  /** Name of the runs folder. */
  folder: string
  /** Most recently written first. */
  runs: RunSummary[]
  /** Links to folders outside the runs folder, which are not followed. */
  skipped: number
}

/** What a run has something to show of. */
export type Panel =
  | 'rewards'
  | 'pass_rate'
  | 'questions'
  | 'diversity'
  | 'labels'
  | 'buffer'
  | 'verdicts'
  | 'critic'
  | 'anchors'
  | 'losses'

export interface Role {
  name: string
  model: string
  /**
   * `author` proposes questions, `answerer` answers them, `judge` says what is right of what others wrote; null in
   * games of others' making.
   */
  part: 'author' | 'answerer' | 'judge' | null
}

export interface MetricInfo {
  /** As in docs/metrics.md. */
  name: string
  /** Role it is of, where the name begins with one. */
  role: string | null
  /** Rounds that wrote it. */
  count: number
  last: number | null
}

export interface Alarm {
  name: string
  role: string | null
  /** Round in which its condition began to hold. */
  round: number
  /** Left and right side of the condition then. */
  value: number | null
  threshold: number | null
  /** Null where this version of Sparring does not know the alarm. */
  formula: string | null
  message: string | null
  /** Whether it holds after the last round. */
  active: boolean
  /** What the run did about it (docs/metrics.md), where it did anything. */
  action: string | null
  /** The rollouts behind it. */
  behind: RolloutsQuery
}

export interface Checkpoint {
  round: number
  /** Within the run's folder; null once newer checkpoints have taken its place. */
  path: string | null
  bytes: number
}

/** Open or closed ends of the band of pass rates that the answerer learns from. */
export interface Band {
  low: number
  high: number
  /** Whether the ends belong to it. */
  closed: boolean
}

export interface RunDetail extends RunSummary {
  /** The run file with every default filled in. */
  config: unknown
  parts: Role[]
  panels: Panel[]
  metrics: MetricInfo[]
  history: Alarm[]
  checkpoints: Checkpoint[]
  /** Rounds in which no update was made, and why; the last 200. */
  skipped: { round: number; reason: string }[]
  /** Where questions must lie to be learned from. */
  band: Band | null
  /** Rounds whose rollouts are on the disk. */
  rollouts: { first: number; last: number; rounds: number } | null
  /** Seconds of play: the sum of time/round_s. */
  seconds: number
  /** Alarms took the run back to the checkpoint of an earlier round: what `round` and those since `to` gave was undone. */
  rollbacks: { round: number; to: number; alarm: string }[]
  /** Rounds after which the run ended, or from whose checkpoint it went on after it was killed. */
  resumes: number[]
  /** Lines that could not be read and are left out, by file; of rollouts, in what was read so far. */
  damaged: { file: string; lines: number }[]
}

export interface Comparison {
  runs: RunSummary[]
  /** Settings that are not the same in all, by key path; a value a run, null where it lacks the key. */
  differences: { key: string; values: unknown[] }[]
  /** Metrics that every run wrote. */
  metrics: string[]
}
