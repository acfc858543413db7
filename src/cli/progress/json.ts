import type { RunEvent } from '../../runs/events.js'
import { WaitPace } from './lines.js'
import type { Progress } from './progress.js'

/** One JSON object a line on stdout, nothing else there. */
export class JsonProgress implements Progress {
  readonly #waits = new WaitPace()

  event(event: RunEvent): void {
    for (const line of this.#waits.lines(event)) this.note(line)
    const shown = event.event !== 'phase' && event.event !== 'recorded'
    if (shown) process.stdout.write(`${JSON.stringify(event)}\n`)
  }

  note(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  close(): void {}
}
