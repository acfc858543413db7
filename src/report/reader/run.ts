/** One run, read from its folder: finished, or being written by another process. Every answer is of the files as they are now. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { wholeCheckpoints } from '../../runs/checkpoint.js'
import type { HistogramAnswer, HistogramQuery } from '../api/histogram.js'
import type { JudgingAnswer, JudgingQuery } from '../api/judging.js'
import type { Match } from '../api/match.js'
import type { AnchorSeries, AnchorsAnswer, MetricsAnswer, MetricsQuery } from '../api/metrics.js'
import type { Rollout, RolloutRef, RolloutsAnswer, RolloutsQuery } from '../api/rollouts.js'
import type { Alarm, RunDetail, RunSummary } from '../api/run.js'
import { describeAlarms } from './alarms.js'
import { isWithin, readWithin } from './files.js'
import { histogram } from './histogram.js'
import { JournalIndex } from './journal.js'
import { judging } from './judging.js'
import { parseObject } from './lines.js'
import { listRollouts, withRate } from './list.js'
import { matchOf } from './match.js'
import { MetricsIndex } from './metrics.js'
import { bandOf, type Config, panelsOf, rolesOf } from './parts.js'
import { rolloutOf } from './record.js'
import { readResumes } from './resumes.js'
import { statusOf } from './status.js'
import { RolloutStore } from './store.js'

const CONFIG = 'config.json'
const MOST_CONFIG = 2 ** 22
const MOST_SKIPPED = 200
const MOST_ANCHORS = 500

export class RunReader {
  readonly id: string
  /** Real path of the folder. */
  readonly root: string
  config: Config = {}
  metrics: MetricsIndex
  store: RolloutStore
  readonly journal: JournalIndex
  #fault: string | null = null
  #configSeen = ''
  #started = 0
  #refreshed = Number.NEGATIVE_INFINITY
  #lock: string | undefined
  #refreshing: Promise<void> | undefined
  #opening: Promise<void> | undefined
  #resets = 0
  #last = -1
  #alarms: { key: string; alarms: Alarm[] } | undefined

  constructor(id: string, root: string) {
    this.id = id
    this.root = root
    this.journal = new JournalIndex(root)
    this.metrics = new MetricsIndex(root)
    this.store = new RolloutStore(root)
  }

  /** As `refresh`, unless the run was still `age` milliseconds ago. */
  async glance(age: number): Promise<void> {
    const isStill = this.#lock === undefined && performance.now() - this.#refreshed < age
    if (!isStill) await this.refresh()
  }

  /** Reads what is new of what the list of runs needs. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** Reads what is new of everything but the rollouts, which are read when they are asked for. */
  open(): Promise<void> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** Gives back the memory that an open run takes. */
  close(): void {
    this.metrics = new MetricsIndex(this.root)
    this.store = new RolloutStore(this.root)
    this.#resets = 0
    this.#alarms = undefined
  }

  async #refresh(): Promise<void> {
    await this.#readConfig()
    await this.journal.read()
    this.#lock = await readWithin(this.root, 'lock', 4096)
    this.#refreshed = performance.now()
  }

  async #open(): Promise<void> {
    await this.refresh()
    const isNew = await this.metrics.read()
    if (this.metrics.resets !== this.#resets) {
      this.#resets = this.metrics.resets
      this.store.clear()
    }
    // What lies behind the last line of metrics is being written, or will be written again.
    const last = Math.max(this.metrics.lastRound, this.journal.round)
    if (isNew || last !== this.#last) await this.store.list(last)
    this.#last = last
  }

  async #readConfig(): Promise<void> {
    const stats = await stat(join(this.root, CONFIG)).catch(() => undefined)
    const seen = `${stats?.mtimeMs} ${stats?.size}`
    if (seen === this.#configSeen) return
    this.#configSeen = seen
    this.#started = stats?.mtimeMs ?? 0
    const text = await readWithin(this.root, CONFIG, MOST_CONFIG)
    const config = parseObject(text)
    this.#fault = text === undefined ? `${CONFIG} cannot be read` : config ? null : `${CONFIG} is damaged`
    this.config = config
      ? {
          ...config,
          roles: tableOf(config.roles) as Config['roles'] & object,
          settings: tableOf(config.settings),
          checkpoint: tableOf(config.checkpoint),
          anchors: tableOf(config.anchors),
        }
      : {}
  }

  summary(): RunSummary {
    const { config, journal, id } = this
    const rounds = typeof config.rounds === 'number' ? config.rounds : null
    return {
      id,
      status: statusOf(this.#lock, journal, rounds),
      game: typeof config.game === 'string' ? config.game : null,
      seed: typeof config.seed === 'number' ? config.seed : null,
      roles: rolesOf(config).map(({ name, model }) => ({ name, model })),
      round: Math.max(0, journal.round),
      rounds,
      anchor: this.#anchor(),
      alarms: journal.alarms.map(({ name, round }) => ({ name, round })),
      started: this.#started,
      updated: Math.max(this.#started, journal.tail.modified, this.metrics.tail.modified),
      fault: this.#fault,
    }
  }

  #anchor(): RunSummary['anchor'] {
    const { measurements } = this.journal
    const name = measurements[0]?.name
    const own = measurements.filter((each) => each.name === name)
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) return null
    return { name: first.name, before: first.accuracy, after: last.accuracy, n: last.n }
  }

  async detail(): Promise<RunDetail> {
    const { journal, metrics, store } = this
    const roles = rolesOf(this.config)
    const { rounds } = store
    return {
      ...this.summary(),
      config: this.config,
      parts: roles,
      panels: panelsOf(metrics.names),
      metrics: metrics.describe(roles.map(({ name }) => name)),
      history: this.alarms(),
      checkpoints: await this.#checkpoints(),
      skipped: journal.skipped.slice(-MOST_SKIPPED),
      rollbacks: journal.rollbacks,
      resumes: await readResumes(this.root),
      band: bandOf(this.config),
      rollouts:
        rounds.length === 0 ? null : { first: rounds[0]!, last: rounds.at(-1)!, rounds: rounds.length },
      seconds: metrics.sum('time/round_s'),
      damaged: this.#damaged(),
    }
  }

  /** Every alarm that began, oldest first. */
  alarms(): Alarm[] {
    const { journal, metrics, config } = this
    const key = `${journal.alarms.length} ${metrics.lastRound} ${metrics.resets}`
    if (this.#alarms?.key !== key)
      this.#alarms = { key, alarms: describeAlarms(journal.alarms, metrics, config) }
    return this.#alarms.alarms
  }

  async #checkpoints(): Promise<RunDetail['checkpoints']> {
    const folder = join(this.root, 'checkpoints')
    const kept = (await isWithin(this.root, folder)) ? await wholeCheckpoints(folder).catch(() => []) : []
    return this.journal.checkpoints.map(({ round, bytes }) => {
      const name = kept.find((each) => Number(each) === round)
      return { round, bytes, path: name === undefined ? null : `checkpoints/${name}` }
    })
  }

  #damaged(): RunDetail['damaged'] {
    const tails = [
      { file: 'journal.jsonl', lines: this.journal.tail.damaged },
      { file: 'metrics.jsonl', lines: this.metrics.tail.damaged },
    ]
    return [...tails.filter(({ lines }) => lines > 0), ...this.store.damaged()]
  }

  columns(query: MetricsQuery): MetricsAnswer {
    return this.metrics.query(query)
  }

  /** Every metric that has an interval beside it. */
  anchors(): AnchorsAnswer {
    const { metrics, journal } = this
    const names = new Set(metrics.names)
    const measured = metrics.names.filter((name) => names.has(`${name}_low`) && names.has(`${name}_high`))
    const n = journal.measurements.at(-1)?.n ?? null
    return { anchors: measured.map((name) => this.#series(name, name.startsWith('heldout/') ? n : null)) }
  }

  #series(name: string, n: number | null): AnchorSeries {
    const { metrics } = this
    const rows: number[] = []
    for (let row = 0; row < metrics.rows; row++) if (!Number.isNaN(metrics.value(name, row))) rows.push(row)
    const every = Math.max(1, Math.ceil(rows.length / MOST_ANCHORS))
    const shown = rows.filter((_, i) => i % every === 0 || i === rows.length - 1)
    const points = shown.map((row) => ({
      round: metrics.round(row),
      value: metrics.value(name, row),
      low: metrics.value(`${name}_low`, row),
      high: metrics.value(`${name}_high`, row),
    }))
    return { name, n, points }
  }

  histogram(query: HistogramQuery): Promise<HistogramAnswer> {
    return histogram(this, query)
  }

  /** Undefined where the game has no judge. */
  judging(query: JudgingQuery): Promise<JudgingAnswer | undefined> {
    return judging(this, query)
  }

  rollouts(query: RolloutsQuery): Promise<RolloutsAnswer> {
    return listRollouts(this.store, query)
  }

  /** A rollout to its last character; undefined where there is none. */
  async rollout({ round, role, line }: RolloutRef): Promise<Rollout | undefined> {
    if (!this.store.rounds.includes(round)) return undefined
    const block = await this.store.block(round, role)
    const row = block.rowOfLine(line)
    const [found] = row < 0 ? [] : await this.store.records(round, role, [row])
    return found && withRate(rolloutOf(found[1], found[0], true), block)
  }

  /** The match that a rollout is part of; undefined where there is no such rollout. */
  async match(ref: RolloutRef): Promise<Match | undefined> {
    return this.store.rounds.includes(ref.round) ? matchOf(this, ref) : undefined
  }
}

function tableOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
