/** Progress of an evaluation, which is never silent for long: where nothing arrives, it says what it waits for. */
import type { TextStream } from './progress/lines.js'
import { SampleProgress } from './progress/samples.js'

/** Longest silence where progress is no line on a terminal, and how often it is looked at, milliseconds. What arrives in time speaks first. */
const SILENCE = 10_000
const LOOK = 100

export class WaitingProgress {
  readonly #lines: SampleProgress
  #saidAt: number
  #done = 0
  #total = 0
  readonly #timer: NodeJS.Timeout

  /** `asked` is what answers, such as MODEL at ADDRESS. */
  constructor(stream: TextStream, name: string, asked: string, clock = () => performance.now()) {
    this.#saidAt = clock()
    const write = (text: string) => {
      this.#saidAt = clock()
      return stream.write(text)
    }
    const heard = { write, isTTY: stream.isTTY, columns: stream.columns } as TextStream
    this.#lines = new SampleProgress(heard, name, clock)
    this.#timer = setInterval(() => {
      if (stream.isTTY || clock() - this.#saidAt < SILENCE) return
      this.note(`waiting for ${asked}: ${this.#done}/${this.#total}`)
    }, LOOK)
    this.#timer.unref()
  }

  update(done: number, total: number): void {
    this.#done = done
    this.#total = total
    this.#lines.update(done, total)
  }

  /** A sentence above the line. */
  note(text: string): void {
    this.#lines.note(text)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#lines.close()
  }
}
