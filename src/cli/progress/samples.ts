/** How far an evaluation is: one line on a terminal, written over and over, and a line every ten seconds elsewhere. */
import { duration } from './format.js'
import type { TextStream } from './lines.js'

/** Milliseconds between two lines. */
const REDRAW = 100
const EVERY = 10_000

export class SampleProgress {
  readonly #stream: TextStream
  readonly #name: string
  readonly #clock: () => number
  /** Samples that earlier sittings had done, and when this one began. */
  #first: { done: number; at: number } | undefined
  #shownAt: number | undefined

  constructor(stream: TextStream, name: string, clock = () => performance.now()) {
    this.#stream = stream
    this.#name = name
    this.#clock = clock
  }

  update(done: number, total: number): void {
    const now = this.#clock()
    this.#first ??= { done, at: now }
    const live = this.#stream.isTTY
    const due = this.#shownAt === undefined ? live : now - this.#shownAt >= (live ? REDRAW : EVERY)
    this.#shownAt ??= now
    if (!due) return
    this.#shownAt = now
    const line = this.#line(done, total, now)
    this.#stream.write(live ? `\r\x1b[K${line.slice(0, (this.#stream.columns ?? 80) - 1)}` : `${line}\n`)
  }

  /** A sentence above the line. */
  note(text: string): void {
    const live = this.#stream.isTTY && this.#shownAt !== undefined
    this.#stream.write(`${live ? '\r\x1b[K' : ''}${text}\n`)
  }

  /** Takes the line of a terminal away. */
  close(): void {
    if (this.#stream.isTTY && this.#shownAt !== undefined) this.#stream.write('\r\x1b[K')
    this.#shownAt = undefined
  }

  #line(done: number, total: number, now: number): string {
    const seconds = (now - this.#first!.at) / 1000
    const rate = seconds > 0 ? (done - this.#first!.done) / seconds : 0
    const tail =
      rate > 0 ? [`${rate.toFixed(rate < 10 ? 1 : 0)}/s`, `${duration((total - done) / rate)} left`] : []
    return [this.#name, `${done}/${total}`, ...tail].join('  ')
  }
}
