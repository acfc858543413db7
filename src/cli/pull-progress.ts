/** Progress of files that arrive: one line that is drawn again on a terminal, a line every ten seconds elsewhere, or events. */
import type { PullProgress } from '../hub/models.js'
import { bytes, duration } from './progress/format.js'
import type { TextStream } from './progress/lines.js'

/** Between two lines, milliseconds: on a terminal, elsewhere, and between two events. */
const EVERY = { terminal: 100, lines: 10_000, events: 1000 }

export class ArrivalProgress {
  readonly #begun: number
  readonly #every: number
  #saidAt: number
  #drawn = false

  constructor(
    private readonly stream: TextStream,
    private readonly json: boolean,
    private readonly clock = () => performance.now(),
  ) {
    this.#begun = clock()
    this.#every = json ? EVERY.events : stream.isTTY ? EVERY.terminal : EVERY.lines
    this.#saidAt = this.#begun
  }

  update({ file, bytes: done, total, arrived }: PullProgress): void {
    const now = this.clock()
    if (now - this.#saidAt < this.#every) return
    this.#saidAt = now
    const rate = (1000 * arrived) / (now - this.#begun)
    const left = rate > 0 ? (total - done) / rate : undefined
    if (this.json) {
      const seconds = left === undefined ? null : Math.round(left)
      this.stream.write(
        `${JSON.stringify({ event: 'progress', file, bytes: done, total, seconds_left: seconds })}\n`,
      )
      return
    }
    const time = left === undefined ? '' : `  ${bytes(rate)}/s  ${duration(left)} left`
    const line = `${file}  ${bytes(done)} of ${bytes(total)}${time}`
    if (!this.stream.isTTY) this.stream.write(`${line}\n`)
    else this.stream.write(`\r\x1b[K${line.slice(0, (this.stream.columns ?? 80) - 1)}`)
    this.#drawn = this.stream.isTTY === true
  }

  /** A sentence above the line. */
  note(text: string): void {
    this.close()
    this.stream.write(this.json ? `${JSON.stringify({ event: 'note', text })}\n` : `${text}\n`)
  }

  /** Takes the line away. */
  close(): void {
    if (this.#drawn) this.stream.write('\r\x1b[K')
    this.#drawn = false
  }
}
