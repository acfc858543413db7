import type { RunEvent } from '../../runs/events.js'
import type { Progress } from './progress.js'

/** One JSON object a line on stdout, nothing else there. */
export class JsonProgress implements Progress {
  event(event: RunEvent): void {
    const shown = event.event !== 'phase' && event.event !== 'recorded'
    if (shown) process.stdout.write(`${JSON.stringify(event)}\n`)
  }

  note(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  close(): void {}
}
