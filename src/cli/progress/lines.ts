/** A line for everything worth one: what a log file should hold, and what scrolls above the live block. */
import type { MemoryPlan } from '../../engine/engine.js'
import type { RunEvent } from '../../runs/events.js'
import { paint } from '../paint.js'
import { bytes, counted, duration, interval, number } from './format.js'
import type { Progress } from './progress.js'

export interface TextStream {
  isTTY: boolean
  columns?: number
  write(text: string): unknown
}

export class LineProgress implements Progress {
  readonly #stream: TextStream
  readonly #clock = new RoundClock()
  readonly #waits = new WaitPace()

  constructor(stream: TextStream) {
    this.#stream = stream
  }

  event(event: RunEvent): void {
    const lines =
      event.event === 'round'
        ? [this.#round(event)]
        : [...this.#waits.lines(event), ...linesOf(event, this.#stream)]
    for (const line of lines) this.#stream.write(`${line}\n`)
  }

  note(text: string): void {
    this.#stream.write(`${text}\n`)
  }

  close(): void {}

  #round(event: Extract<RunEvent, { event: 'round' }>): string {
    const { round, rounds, seconds, metrics, skipped } = event
    const left = this.#clock.left(round, rounds)
    const parts = [
      `round ${round}/${rounds}`,
      duration(seconds),
      ...rewards(metrics).map(([role, value]) => `${role} ${number(value)}`),
      ...(skipped === undefined ? [] : [`no update: ${skipped}`]),
      ...(left === undefined ? [] : [`${duration(left)} left`]),
    ]
    return parts.join('  ')
  }
}

/** Waits at a pace for logs: a new one is told of as soon as it is heard of, then less and less often, once a minute at least. */
export class WaitPace {
  #heard = Number.NEGATIVE_INFINITY
  #told = Number.NEGATIVE_INFINITY
  #gap = 0

  /** Times in ms. */
  lines(event: RunEvent, now = performance.now()): string[] {
    if (event.event !== 'phase' || !event.waiting) return []
    if (now - this.#heard > newWaitMs) this.#gap = 0
    this.#heard = now
    if (now - this.#told < this.#gap) return []
    this.#told = now
    this.#gap = Math.min(mostGapMs, this.#gap === 0 ? leastGapMs : 2 * this.#gap)
    return [event.name]
  }
}

const newWaitMs = 25_000
const leastGapMs = 15_000
const mostGapMs = 60_000

/** Mean reward of each role, or its loss where it has no rewards. */
export function rewards(metrics: Readonly<Record<string, number | null>>): [string, number][] {
  const roles = new Set(
    Object.keys(metrics).flatMap((name) => /^(.+)\/(?:reward\/mean|loss)$/.exec(name)?.[1] ?? []),
  )
  return [...roles].flatMap((role): [string, number][] => {
    const reward = metrics[`${role}/reward/mean`]
    if (reward !== undefined) return reward === null ? [] : [[`${role} reward`, reward]]
    const loss = metrics[`${role}/loss`]
    return typeof loss === 'number' ? [[`${role} loss`, loss]] : []
  })
}

/** Guesses the time that is left from the rounds that this process has played. */
export class RoundClock {
  #first: { round: number; at: number } | undefined

  /** Seconds; undefined before there are two rounds to compare, and after the last. */
  left(round: number, rounds: number, now = performance.now()): number | undefined {
    this.#first ??= { round, at: now }
    const played = round - this.#first.round
    return played === 0 || round === rounds
      ? undefined
      : ((now - this.#first.at) / 1000 / played) * (rounds - round)
  }
}

function whereOf(url: string | undefined): string {
  if (url !== undefined) return url
  const { TINKER_BASE_URL: named } = process.env
  return named ? `${named} (TINKER_BASE_URL)` : 'the hosted service'
}

/** The lines of an event other than a round. */
export function linesOf(event: RunEvent, stream: TextStream): string[] {
  switch (event.event) {
    case 'config': {
      const { game, rounds, seed, engine } = event.config
      const where = engine.kind === 'local' ? `${engine.threads} threads` : whereOf(engine.url)
      return [
        `${event.run}: ${game}, ${counted(rounds, 'round')}, seed ${seed}, ${engine.kind} engine, ${where}`,
      ]
    }
    case 'memory':
      return memoryLines(event)
    case 'resume':
      return [
        ...(event.note === undefined ? [] : [paint(stream, 'yellow', `note: ${event.note}`)]),
        `going on after round ${event.round}`,
      ]
    case 'eval':
      return [
        `held-out after round ${event.round}: ${interval(event)} ${event.sampling}, ${counted(event.n, 'problem')}`,
      ]
    case 'checkpoint':
      return [`checkpoint ${event.path}`]
    case 'alarm': {
      const figures = `${number(event.value)} against ${number(event.threshold)}`
      return [paint(stream, 'yellow', `alarm ${event.name}: ${event.formula} (${figures}). ${event.message}`)]
    }
    case 'rollback':
      return [
        paint(
          stream,
          'yellow',
          `rolled back after round ${event.round} to round ${event.to} (${event.alarm}): learning rates x ${number(event.scale)}`,
        ),
      ]
    case 'anchor':
      return [
        `anchors after round ${event.round}: ${Object.entries(event.metrics)
          .filter(([name]) => !/_(low|high)$/.test(name))
          .map(([name, value]) => `${name} ${number(value)}`)
          .join('  ')}`,
      ]
    default:
      return []
  }
}

/** Empty where the policies take no memory of this machine. */
export function memoryLines({ parts, totalBytes, availableBytes }: MemoryPlan): string[] {
  if (parts.length === 0) return []
  const width = Math.max(...parts.map(({ what }) => what.length), 5)
  const line = (what: string, count: number) => `  ${what.padEnd(width)}  ${bytes(count).padStart(9)}`
  return [
    'memory plan',
    ...parts.map(({ what, bytes: count }) => line(what, count)),
    `${line('total', totalBytes)}  of ${bytes(availableBytes)} available`,
  ]
}
