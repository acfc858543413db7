import type { RunEvent } from '../../runs/events.js'
import { JsonProgress } from './json.js'
import { LineProgress } from './lines.js'
import { LiveProgress } from './live.js'

/** Shows what a run says. */
export interface Progress {
  event(event: RunEvent): void
  /** A sentence that is no event of the run. */
  note(text: string): void
  close(): void
}

/** JSON lines on stdout; or, on stderr, a live block on a terminal and a line a round elsewhere. */
export function createProgress(json: boolean): Progress {
  if (json) return new JsonProgress()
  const canMove = process.stderr.isTTY && process.env.TERM !== 'dumb'
  return canMove ? new LiveProgress(process.stderr) : new LineProgress(process.stderr)
}
