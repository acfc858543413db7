/** What a run writes after each round, and how it finds its way back after it died. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { CheckpointError } from '../core/errors.js'
import type { RoundReport } from '../games/game.js'
import { mayRollBack } from './alarm-settings.js'
import { type Alarm, activeAlarms, decisive, newAlarms } from './alarms.js'
import type { HeldoutReading, Readings } from './anchors.js'
import {
  folderName,
  isIntact,
  newestIntact,
  prune,
  readCheckpointState,
  wholeCheckpoints,
  writeCheckpoint,
} from './checkpoint.js'
import type { MetricsLine, RunDirectory } from './directory.js'
import { writing } from './disk.js'
import type { Emit } from './events.js'
import { bestAnchor, lineage, ROLLBACK_RATE, ROLLBACK_TO, rateScale, rewardGap, valuesOf } from './history.js'
import { type FileSums, Journal, type JournalRecord } from './journal.js'
import { type Match, versions } from './match.js'

/** Where a run stands: rounds done, and the game's state as JSON text. */
export interface Position {
  round: number
  state: string
}

/** What the alarms of a round ask for. */
export interface Verdict {
  action: 'rollback' | 'pause' | 'stop'
  alarm: Alarm
  /** Round whose checkpoint is gone back to; of a rollback only. */
  to?: number
}

export class Ledger {
  /** Every line of metrics.jsonl, read back or written. */
  readonly history: MetricsLine[] = []
  readonly #run: RunDirectory
  readonly #match: Match
  readonly #emit: Emit
  readonly #journal: Journal
  /** Sums of the files of every checkpoint that was ever written, by round. */
  readonly #sums = new Map<number, FileSums>()
  #checkpoint = -1

  constructor(run: RunDirectory, match: Match, emit: Emit) {
    this.#run = run
    this.#match = match
    this.#emit = emit
    this.#journal = new Journal(run.disk, run.journal)
  }

  /**
   * Goes back to the newest intact checkpoint: loads weights, cuts what came after. Undefined where the run died before
   * its first checkpoint, and starts afresh. Throws CheckpointError where there were checkpoints and none can be trusted.
   */
  async resume(): Promise<Position | undefined> {
    const { records, corruptLine } = await this.#journal.read()
    const at = await newestIntact(this.#run.checkpoints, records)
    const wasThere = records.some(({ kind }) => kind === 'checkpoint')
    if (at < 0 && (wasThere || corruptLine !== undefined || (await this.#isCutShort(records)))) {
      throw this.#lost(corruptLine)
    }
    const round = at < 0 ? -1 : records[at]!.round
    await this.#run.requireMetrics(
      records.slice(0, at + 1).flatMap((r) => (r.kind === 'round' ? r.round : [])),
    )
    await writing(this.#run.path, 'the journal', () => this.#journal.cut(at + 1))
    this.history.push(...(await this.#run.rewind(round)))
    for (const record of records.slice(0, at + 1))
      if (record.kind === 'checkpoint') this.#sums.set(record.round, record.files)
    if (round < 0) return undefined

    const state = await this.#load(round)
    this.#checkpoint = round
    await this.#prune()
    const note = this.#note(records, corruptLine, round)
    this.#emit({ event: 'resume', round, ...(note !== undefined && { note }) })
    this.#tell(this.history)
    return { round, state }
  }

  /** Takes the policies back to a checkpoint; the state of the game that lies with them. */
  async #load(round: number): Promise<string> {
    const folder = this.#run.at('checkpoints', folderName(round))
    for (const [name, policy] of Object.entries(this.#match.policies)) await policy.load(`${folder}/${name}`)
    const { state } = await readCheckpointState(folder)
    return JSON.stringify(state)
  }

  /**
   * Writes a round down: rollouts, metrics, journal. Raises the alarms that its numbers call for, and says what they ask
   * for; undefined where they only warn.
   *
   * @param raised alarms that no number shows.
   */
  async record(
    position: Position,
    report: RoundReport,
    readings: Readings,
    times: Record<string, number>,
    raised: readonly Alarm[] = [],
  ): Promise<Verdict | undefined> {
    const { round, state } = position
    await this.#run.writeRollouts(round, recordFiles(report, readings))

    const told = { step: round, ...report.metrics, ...readings.metrics }
    const line: MetricsLine = JSON.parse(JSON.stringify({ ...told, ...this.#gap(told), ...times }))
    const alarms = [...raised, ...newAlarms([...this.history, line], this.#match.recipe.alarms)]
    const verdict = await this.#decide(alarms, line)
    if (verdict?.to !== undefined) {
      line[ROLLBACK_TO] = verdict.to
      line[ROLLBACK_RATE] = rateScale(this.history) * this.#match.recipe.alarms.rollback.lr_scale
    }
    await this.#run.appendMetrics(line)
    this.history.push(line)

    const digest = createHash('sha256').update(state).digest('hex').slice(0, 16)
    const { skipped } = report
    await this.#write([
      {
        kind: 'round',
        round,
        versions: versions(this.#match),
        state: digest,
        ...(skipped !== undefined && { skipped }),
      },
      ...evalRecords(round, readings.heldout),
      ...alarms.map(({ name, value, threshold, action }) => ({
        kind: 'alarm' as const,
        round,
        name,
        value,
        threshold,
        action,
      })),
      ...rollbackRecord(round, line, verdict),
    ])
    for (const alarm of alarms) this.#emit({ event: 'alarm', round, ...alarm })
    this.#tell([line])
    return verdict
  }

  #tell(lines: MetricsLine[]): void {
    const alarms = activeAlarms(this.history, this.#match.recipe.alarms).map(({ name }) => name)
    this.#emit({ event: 'recorded', lines, alarms })
  }

  /** Between the reward in the game and the held-out accuracy, of the role that has one. */
  #gap(told: Record<string, number>): Record<string, number> {
    const role = this.#match.heldout?.recipe.role
    const gap = role && rewardGap([...lineage(this.history), told as MetricsLine], role)
    return typeof gap === 'number' ? { 'gap/reward_minus_anchor': gap } : {}
  }

  /** The severest action. A rollback goes to the best anchor before this round; where that would be one too many, it pauses. */
  async #decide(alarms: readonly Alarm[], line: MetricsLine): Promise<Verdict | undefined> {
    const alarm = decisive(alarms)
    if (alarm === undefined) return undefined
    const { action } = alarm
    if (action === 'pause' || action === 'stop') return { action, alarm }
    const { most } = this.#match.recipe.alarms.rollback
    const to =
      valuesOf(this.history, ROLLBACK_TO).length < most ? await this.#bestCheckpoint(line.step) : undefined
    return to === undefined ? { action: 'pause', alarm } : { action: 'rollback', alarm, to }
  }

  /** Round before this one of the greatest held-out accuracy whose checkpoint is intact. */
  async #bestCheckpoint(before: number): Promise<number | undefined> {
    let lines = lineage(this.history).filter(({ step }) => step < before)
    for (let best = bestAnchor(lines); best !== undefined; best = bestAnchor(lines)) {
      const { step } = best
      const sums = this.#sums.get(step)
      if (sums && (await isIntact(this.#run.at('checkpoints', folderName(step)), sums))) return step
      lines = lines.filter((line) => line.step !== step)
    }
    return undefined
  }

  /** Goes back to the checkpoint that an alarm asks for. The rounds are counted on. */
  async rollBack(round: number, { to, alarm }: Verdict): Promise<Position> {
    const state = await this.#load(to!)
    this.#emit({ event: 'rollback', round, to: to!, scale: rateScale(this.history), alarm: alarm.name })
    return { round, state }
  }

  /** Whether a rollback may need the checkpoint of this round: the held-out accuracy was never better. */
  isBest(round: number): boolean {
    return mayRollBack(this.#match.recipe.alarms) && bestAnchor(lineage(this.history))?.step === round
  }

  /** Checkpoint folders of snapshots before this round that no rollback undid, oldest first. */
  snapshots(before: number): string[] {
    const steps = lineage(this.history).map(({ step }) => step)
    return steps
      .filter((step) => step > 0 && step < before && this.#isSnapshot(step))
      .map((step) => this.#run.at('checkpoints', folderName(step)))
      .filter((folder) => existsSync(folder))
  }

  /** Whether a checkpoint is due after this round. */
  isDue(round: number): boolean {
    return round % this.#match.recipe.checkpoint.every === 0 || this.#isSnapshot(round) || this.isBest(round)
  }

  #isSnapshot(round: number): boolean {
    const { snapshots } = this.#match.recipe.checkpoint
    return snapshots > 0 && round % snapshots === 0
  }

  /** Writes a checkpoint, unless there is one of this round already. Its record in the journal comes last, and makes it count. */
  async checkpoint({ round, state }: Position): Promise<void> {
    if (this.#checkpoint === round) return
    await this.#run.syncRollouts()
    const { game, policies } = this.#match
    const content = { round, game: game.name, state: JSON.parse(state) }
    const files = await writing(this.#run.path, `checkpoint ${folderName(round)}`, () =>
      writeCheckpoint(this.#run.disk, this.#run.checkpoints, policies, content),
    )
    await this.#run.listCheckpoint(round, Object.keys(policies))
    await this.#write([{ kind: 'checkpoint', round, files }])
    this.#checkpoint = round
    this.#sums.set(round, files)
    await this.#prune()
    this.#emit({ event: 'checkpoint', round, path: this.#run.at('checkpoints', folderName(round)) })
  }

  async #write(records: JournalRecord[]): Promise<void> {
    await writing(this.#run.path, 'journal.jsonl', () => this.#journal.append(records))
  }

  /**
   * Keeps snapshots, the newest checkpoints, and for each of those the one that a rollback after it would need: also a run
   * that falls back to an older checkpoint plays again what it played.
   */
  async #prune(): Promise<void> {
    const { alarms, checkpoint } = this.#match.recipe
    const written = (await wholeCheckpoints(this.#run.checkpoints)).map(Number)
    const newest = written.slice(-checkpoint.keep)
    const best = newest.flatMap((round) => {
      const upTo = this.history.filter(({ step }) => step <= round)
      return mayRollBack(alarms) ? (bestAnchor(lineage(upTo))?.step ?? []) : []
    })
    const snapshots = written.filter((round) => this.#isSnapshot(round))
    const kept = new Set([...newest, ...best, ...snapshots])
    await writing(this.#run.path, 'checkpoints', () => prune(this.#run.disk, this.#run.checkpoints, kept))
  }

  /** Whether there is a checkpoint of a round that the journal knows nothing of; a run that dies leaves none. */
  async #isCutShort(records: JournalRecord[]): Promise<boolean> {
    const last = records.at(-1)?.round ?? -1
    return (await wholeCheckpoints(this.#run.checkpoints)).some((name) => Number(name) > last)
  }

  #lost(corruptLine: number | undefined): CheckpointError {
    const { path } = this.#run
    const fault = corruptLine === undefined ? '' : `line ${corruptLine} of journal.jsonl is corrupt, and `
    return new CheckpointError(
      `${path} cannot be resumed: ${fault}no checkpoint that can be trusted is left.`,
      {
        hint: `Start a new run; a role may start from what is left in ${path}/checkpoints with --set roles.ROLE.model=FOLDER.`,
      },
    )
  }

  #note(records: JournalRecord[], corruptLine: number | undefined, round: number): string | undefined {
    if (corruptLine !== undefined)
      return `line ${corruptLine} of journal.jsonl is corrupt: what follows it is played again`
    const newest = records.findLast(({ kind }) => kind === 'checkpoint')!.round
    return newest === round
      ? undefined
      : `checkpoint ${folderName(newest)} is damaged: rounds after ${round} are played again`
  }
}

/** Records of a round by the file they go to: a role's rollouts, or the answers of a yardstick. */
function recordFiles({ rollouts }: RoundReport, readings: Readings): Record<string, object[]> {
  const roles = [...new Set(rollouts.map(({ role }) => role))]
  const files = Object.fromEntries(roles.map((name) => [name, rollouts.filter(({ role }) => role === name)]))
  return { ...files, ...readings.records }
}

function evalRecords(round: number, readings: HeldoutReading[]): JournalRecord[] {
  return readings.map(({ sampling, report }) => ({
    kind: 'eval',
    round,
    name: `heldout ${sampling}`,
    n: report.n,
    accuracy: report.accuracy,
  }))
}

function rollbackRecord(round: number, line: MetricsLine, verdict: Verdict | undefined): JournalRecord[] {
  if (verdict?.to === undefined) return []
  return [{ kind: 'rollback', round, to: verdict.to, scale: line[ROLLBACK_RATE]!, alarm: verdict.alarm.name }]
}
