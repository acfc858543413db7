/** What a run writes after each round, and how it finds its way back after it died. */
import { createHash } from 'node:crypto'
import { CheckpointError } from '../core/errors.js'
import type { RoundReport } from '../games/game.js'
import { newAlarms } from './alarms.js'
import { type AnchorReading, anchorMetrics, anchorRecords } from './anchors.js'
import {
  folderName,
  newestIntact,
  prune,
  readCheckpointState,
  wholeCheckpoints,
  writeCheckpoint,
} from './checkpoint.js'
import type { MetricsLine, RunDirectory } from './directory.js'
import { writing } from './disk.js'
import type { Emit } from './events.js'
import { Journal, type JournalRecord } from './journal.js'
import { type Match, versions } from './match.js'

/** Where a run stands: rounds done, and the game's state as JSON text. */
export interface Position {
  round: number
  state: string
}

export class Ledger {
  /** Every line of metrics.jsonl, read back or written. */
  readonly history: MetricsLine[] = []
  readonly #run: RunDirectory
  readonly #match: Match
  readonly #emit: Emit
  readonly #journal: Journal
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
    await writing(this.#run.path, 'the journal', () => this.#journal.cut(at + 1))
    this.history.push(...(await this.#run.rewind(round)))
    if (round < 0) return undefined

    const folder = this.#run.at('checkpoints', folderName(round))
    for (const [name, policy] of Object.entries(this.#match.policies)) await policy.load(`${folder}/${name}`)
    const { state } = await readCheckpointState(folder)
    this.#checkpoint = round
    await this.#prune()
    const note = this.#note(records, corruptLine, round)
    this.#emit({ event: 'resume', round, ...(note !== undefined && { note }) })
    return { round, state: JSON.stringify(state) }
  }

  /** Writes a round down: rollouts, metrics, journal. Raises the alarms that its numbers call for. */
  async record(
    position: Position,
    report: RoundReport,
    readings: AnchorReading[],
    times: Record<string, number>,
  ) {
    const { round, state } = position
    await this.#run.writeRollouts(round, recordFiles(report, readings))

    const metrics = { step: round, ...report.metrics, ...anchorMetrics(readings), ...times }
    const line: MetricsLine = JSON.parse(JSON.stringify(metrics))
    await this.#run.appendMetrics(line)
    this.history.push(line)

    const alarms = newAlarms(this.history)
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
      ...evalRecords(round, readings),
      ...alarms.map(({ name, value, threshold }) => ({
        kind: 'alarm' as const,
        round,
        name,
        value,
        threshold,
      })),
    ])
    for (const alarm of alarms) this.#emit({ event: 'alarm', round, ...alarm })
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
    await this.#prune()
    this.#emit({ event: 'checkpoint', round, path: this.#run.at('checkpoints', folderName(round)) })
  }

  async #write(records: JournalRecord[]): Promise<void> {
    await writing(this.#run.path, 'journal.jsonl', () => this.#journal.append(records))
  }

  async #prune(): Promise<void> {
    const { keep } = this.#match.recipe.checkpoint
    await writing(this.#run.path, 'checkpoints', () => prune(this.#run.disk, this.#run.checkpoints, keep))
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

/** Records of a round by the file they go to: a role's rollouts, or the held-out answers. */
function recordFiles({ rollouts }: RoundReport, readings: AnchorReading[]): Record<string, object[]> {
  const roles = [...new Set(rollouts.map(({ role }) => role))]
  const files = Object.fromEntries(roles.map((name) => [name, rollouts.filter(({ role }) => role === name)]))
  return readings.length > 0 ? { ...files, heldout: anchorRecords(readings) } : files
}

function evalRecords(round: number, readings: AnchorReading[]): JournalRecord[] {
  return readings.map(({ sampling, report }) => ({
    kind: 'eval',
    round,
    name: `heldout ${sampling}`,
    n: report.n,
    accuracy: report.accuracy,
  }))
}
