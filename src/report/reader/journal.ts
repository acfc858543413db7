/** What a run's journal says, kept as it grows. Records of kinds that are not known here are passed over. */
import { type Follower, Tail } from './tail.js'

export interface RaisedAlarm {
  name: string
  round: number
  value: number | null
  threshold: number | null
  action: string | null
}

export interface Measurement {
  name: string
  round: number
  n: number
  accuracy: number
}

/** A record of a later round is damage; the table of optimizer steps reaches to the last one. */
const MOST_ROUNDS = 10_000_000

export class JournalIndex implements Follower {
  /** Rounds done; -1 before the start was written down. */
  round = -1
  /** Whether the last record is a checkpoint, as a run that ends in order leaves it. */
  endsInCheckpoint = false
  alarms: RaisedAlarm[] = []
  measurements: Measurement[] = []
  checkpoints: { round: number; bytes: number }[] = []
  skipped: { round: number; reason: string }[] = []
  rollbacks: { round: number; to: number; alarm: string }[] = []
  readonly tail: Tail
  /** Optimizer steps of each policy by round. */
  #versions = new Map<string, Int32Array>()

  constructor(root: string) {
    this.tail = new Tail(root, 'journal.jsonl')
  }

  read(): Promise<boolean> {
    return this.tail.read(this)
  }

  add(record: Record<string, unknown>): void {
    const { kind } = record
    const round = numberOf(record.round)
    if (typeof kind !== 'string' || round === null || !Number.isInteger(round)) return
    if (round < 0 || round > MOST_ROUNDS) return
    this.endsInCheckpoint = kind === 'checkpoint'
    if (kind === 'round') this.#addRound(round, record)
    else if (kind === 'alarm') this.#addAlarm(round, record)
    else if (kind === 'eval') this.#addMeasurement(round, record)
    else if (kind === 'rollback') this.#addRollback(round, record)
    else if (kind === 'checkpoint') this.checkpoints.push({ round, bytes: bytesOf(record.files) })
  }

  clear(): void {
    this.round = -1
    this.endsInCheckpoint = false
    this.alarms = []
    this.measurements = []
    this.checkpoints = []
    this.skipped = []
    this.rollbacks = []
    this.#versions = new Map()
  }

  /** Optimizer steps that a role's policy had taken after a round; null where the journal does not say. */
  version(role: string, round: number): number | null {
    // A role without a policy of its own is played by another's.
    const only = this.#versions.size === 1 ? this.#versions.values().next().value : undefined
    const steps = (this.#versions.get(role) ?? only)?.[round]
    return steps === undefined || steps < 0 ? null : steps
  }

  #addRound(round: number, { versions, skipped }: Record<string, unknown>): void {
    this.round = round
    if (typeof skipped === 'string') this.skipped.push({ round, reason: skipped })
    if (typeof versions !== 'object' || versions === null) return
    for (const [role, steps] of Object.entries(versions)) {
      if (typeof steps !== 'number') continue
      const known = this.#versions.get(role) ?? new Int32Array(64).fill(-1)
      const roomy = round < known.length ? known : grown(known, round + 1)
      roomy[round] = steps
      this.#versions.set(role, roomy)
    }
  }

  #addAlarm(round: number, { name, value, threshold, action }: Record<string, unknown>): void {
    if (typeof name !== 'string') return
    this.alarms.push({
      name,
      round,
      value: numberOf(value),
      threshold: numberOf(threshold),
      action: typeof action === 'string' ? action : null,
    })
  }

  #addRollback(round: number, { to, alarm }: Record<string, unknown>): void {
    if (typeof to === 'number' && typeof alarm === 'string') this.rollbacks.push({ round, to, alarm })
  }

  #addMeasurement(round: number, { name, n, accuracy }: Record<string, unknown>): void {
    if (typeof name !== 'string' || typeof accuracy !== 'number') return
    this.measurements.push({ name, round, n: numberOf(n) ?? 0, accuracy })
  }
}

function grown(values: Int32Array, least: number): Int32Array {
  const larger = new Int32Array(Math.max(least, 2 * values.length)).fill(-1)
  larger.set(values)
  return larger
}

function bytesOf(files: unknown): number {
  if (typeof files !== 'object' || files === null) return 0
  return Object.values(files).reduce((sum: number, file) => sum + (numberOf(file?.bytes) ?? 0), 0)
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
