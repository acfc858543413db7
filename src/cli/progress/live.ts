/** A block at the bottom of the terminal that is drawn again as the run goes on; what is worth keeping scrolls above it. */
import type { EvalSummary, RunEvent } from '../../runs/events.js'
import { paint } from '../paint.js'
import { duration, interval, number, percent, sparkline } from './format.js'
import { linesOf, RoundClock, rewards, type TextStream } from './lines.js'
import type { Progress } from './progress.js'

/** Redrawing more often than this only costs time, milliseconds. */
const REDRAW = 100

export class LiveProgress implements Progress {
  readonly #stream: TextStream
  readonly #clock = new RoundClock()
  /** Rewards (or losses) of each role, by name, over the rounds. */
  readonly #curves = new Map<string, number[]>()
  readonly #heldout: number[] = []
  #title = ''
  #head = ''
  #phase = ''
  #metrics: Record<string, number> = {}
  #anchors: Partial<Record<'sampled' | 'greedy', EvalSummary>> = {}
  #drawn = 0
  #drawnAt = 0

  constructor(stream: TextStream) {
    this.#stream = stream
  }

  event(event: RunEvent): void {
    this.#take(event)
    const kept = linesOf(event, this.#stream)
    if (kept.length > 0) this.#clear()
    for (const line of kept) this.#stream.write(`${line}\n`)
    const due = event.event !== 'phase' || performance.now() - this.#drawnAt > REDRAW
    if (event.event === 'done' || event.event === 'error') this.close()
    else if (due) this.#draw()
  }

  note(text: string): void {
    this.#clear()
    this.#stream.write(`${text}\n`)
    this.#draw()
  }

  /** Leaves the block as it last was. */
  close(): void {
    if (this.#drawn > 0) this.#draw(false)
    this.#drawn = 0
  }

  #take(event: RunEvent): void {
    if (event.event === 'config') this.#title = `${event.config.game}  ${event.run}`
    if (event.event === 'phase') {
      const share = event.total
        ? `  ${event.done ?? 0}/${event.total}  ${bar((event.done ?? 0) / event.total)}`
        : ''
      this.#phase = `${event.name}${share}`
    }
    if (event.event === 'eval') {
      this.#anchors = { ...this.#anchors, [event.sampling]: event }
      if (event.sampling === 'sampled') this.#heldout.push(event.accuracy)
    }
    if (event.event !== 'round') return
    const { round, rounds, seconds, metrics, skipped } = event
    const left = this.#clock.left(round, rounds)
    const tail = [duration(seconds), ...(left === undefined ? [] : [`${duration(left)} left`])]
    this.#head = [`round ${round}/${rounds}`, ...tail, ...(skipped ? [`no update: ${skipped}`] : [])].join(
      '  ',
    )
    this.#metrics = metrics
    for (const [name, value] of rewards(metrics))
      this.#curves.set(name, [...(this.#curves.get(name) ?? []), value])
  }

  #lines(): [text: string, style?: 'bold' | 'dim'][] {
    const lanes = [...this.#curves].map(([name, values]) => this.#lane(name, values))
    const { sampled, greedy } = this.#anchors
    const heldout = sampled && `held-out ${interval(sampled)}  ${sparkline(this.#heldout)}`
    return [
      [`${this.#title}  ${this.#head}`, 'bold'],
      ...lanes.map((lane): [string] => [`  ${lane}`]),
      ...(heldout
        ? [[`  ${heldout}${greedy ? `  greedy ${greedy.accuracy.toFixed(3)}` : ''}`] as [string]]
        : []),
      [`  ${this.#phase}`, 'dim'],
    ]
  }

  #lane(name: string, values: number[]): string {
    const role = name.split(' ')[0]!
    const entropy = this.#metrics[`${role}/policy/entropy`]
    const truncated = this.#metrics[`${role}/len/truncated_frac`]
    const health = [
      ...(entropy === undefined ? [] : [`entropy ${number(entropy)}`]),
      ...(truncated === undefined ? [] : [`truncated ${percent(truncated)}`]),
    ]
    return [name.padEnd(16), number(values.at(-1)), sparkline(values).padEnd(24), ...health].join('  ')
  }

  /** In one write, so that the terminal never shows half of it. */
  #draw(withPhase = true): void {
    const lines = this.#lines().slice(0, withPhase ? undefined : -1)
    const width = (this.#stream.columns ?? 80) - 1
    const text = lines.map(([line, style]) => {
      const cut = line.slice(0, width)
      return `${style ? paint(this.#stream, style, cut) : cut}\n`
    })
    this.#stream.write(this.#takeAway() + text.join(''))
    this.#drawn = lines.length
    this.#drawnAt = performance.now()
  }

  #clear(): void {
    this.#stream.write(this.#takeAway())
  }

  /** What takes the block away and leaves the cursor where it began. */
  #takeAway(): string {
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A\x1b[J` : ''
    this.#drawn = 0
    return up
  }
}

function bar(share: number, width = 16): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}
