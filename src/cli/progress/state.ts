/** What the live block shows, gathered from the events of a run. */
import type { MetricsLine } from '../../runs/directory.js'
import type { PhaseEvent, RunEvent } from '../../runs/events.js'
import { lineage } from '../../runs/history.js'
import { RoundClock, rewards } from './lines.js'

export interface Phase extends Omit<PhaseEvent, 'event' | 'waiting'> {
  /** When it began, milliseconds of the clock. */
  since: number
  /** When it last said anything. */
  heard: number
}

/** Rounds of a curve: as many as a sparkline shows. */
const CURVE = 24

/** Share of a phase, and seconds, after which its speed is told: completions count when they are whole, so the first mislead. */
const SHARE = 0.1
const SOON = 0.05

export class LiveState {
  game = ''
  run = ''
  roles: string[] = []
  round = 0
  rounds = 0
  /** Of the last round, and all that are left; undefined where nothing is known yet. */
  seconds: number | undefined
  left: number | undefined
  skipped: string | undefined
  /** The latest of the run, and of each role. */
  phase: Phase | undefined
  readonly phases = new Map<string, Phase>()
  /** Tokens a second while each role last sampled. */
  readonly rates = new Map<string, number>()
  /** What has to be waited for, and since when. */
  waiting: { sentence: string; since: number } | undefined
  alarms: readonly string[] = []
  /** Mean reward of each role, or its loss, over the last rounds that told it. */
  readonly curves = new Map<string, { what: string; values: number[] }>()
  /** Metrics of the last round. */
  latest: Readonly<Record<string, number | null>> | undefined
  #seen = -1
  #lines: MetricsLine[] = []
  #lineage: MetricsLine[] = []
  readonly #clock = new RoundClock()

  /** @param now milliseconds of a clock that only goes forward. */
  take(event: RunEvent, now: number): void {
    switch (event.event) {
      case 'config':
        this.game = event.config.game
        this.run = event.run
        this.roles = Object.keys(event.config.roles)
        this.rounds = event.config.rounds
        return
      case 'resume':
        this.round = event.round
        return
      case 'phase':
        if (event.waiting) this.waiting = { sentence: event.name, since: this.waiting?.since ?? now }
        else this.#begin(event, now)
        return
      case 'round':
        this.round = event.round
        this.rounds = event.rounds
        this.seconds = event.seconds
        this.left = this.#clock.left(event.round, event.rounds, now)
        this.skipped = event.skipped
        this.rest()
        this.#look(event.round, event.metrics)
        return
      case 'recorded':
        for (const { step, ...metrics } of event.lines.slice(-CURVE)) this.#look(step, metrics)
        this.#lines = this.#lines.concat(event.lines)
        this.#lineage = lineage(this.#lines)
        this.alarms = event.alarms
        return
      case 'rollback':
        this.alarms = []
        return
    }
  }

  /** Nobody does anything. */
  rest(): void {
    this.phase = undefined
    this.waiting = undefined
    this.phases.clear()
  }

  /** Readings of a yardstick by the weights that led to those of now. */
  readings(name: string): { value: number; low: number; high: number }[] {
    return this.#lineage.flatMap((line) => {
      const [value, low, high] = [line[name], line[`${name}_low`], line[`${name}_high`]]
      return typeof value === 'number' ? [{ value, low: low ?? Number.NaN, high: high ?? Number.NaN }] : []
    })
  }

  /** Names of all yardsticks that were read, those of the held-out problems first. */
  yardsticks(): string[] {
    const first = this.#lineage[0] ?? {}
    const named = Object.keys(first).filter((name) => `${name}_low` in first)
    return [...named, ...Object.keys(this.#lineage.at(-1) ?? {}).filter((name) => `${name}_low` in first)]
      .filter((name, at, all) => all.indexOf(name) === at)
      .sort((a, b) => Number(b.startsWith('heldout/')) - Number(a.startsWith('heldout/')))
  }

  /** Metrics of a round, as soon as they are known. */
  #look(round: number, metrics: Readonly<Record<string, number | null>>): void {
    if (round <= this.#seen) return
    this.#seen = round
    this.latest = metrics
    for (const [name, value] of rewards(metrics)) {
      const role = this.roles.find((each) => name.startsWith(`${each} `))
      if (role === undefined) continue
      const values = this.curves.get(role)?.values ?? []
      this.curves.set(role, { what: name.slice(role.length + 1), values: [...values, value].slice(-CURVE) })
    }
  }

  #begin({ event: _, waiting: __, ...phase }: PhaseEvent, now: number): void {
    this.waiting = undefined
    const goesOn = this.phase?.name === phase.name && (phase.done ?? 0) >= (this.phase.done ?? 0)
    this.phase = { ...phase, since: goesOn ? this.phase!.since : now, heard: now }
    const { role, tokens = 0, done = 0, total = 0, since } = this.phase
    if (role === undefined) return
    this.phases.set(role, this.phase)
    const seconds = (now - since) / 1000
    if (tokens > 0 && done >= SHARE * total && seconds >= SOON) this.rates.set(role, tokens / seconds)
  }
}
