/** What is waited for, and for how long: waits of one kind are told of together. */
import type { Wait } from './client.js'

/** Milliseconds before a wait is told of, and between two tellings. */
const tellEveryMs = 10_000
const lookEveryMs = 1000

export interface WaitHandle {
  /** Kind of wait, in words. */
  what: string
  end(): void
}

interface Entry extends WaitHandle {
  since: number
}

export class WaitBoard {
  readonly #waits = new Set<Entry>()
  readonly #told = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(readonly onWait: ((wait: Wait) => void) | undefined) {}

  begin(what: string): WaitHandle {
    const entry: Entry = {
      what,
      since: performance.now(),
      end: () => {
        this.#waits.delete(entry)
        if (this.#waits.size === 0) this.close()
      },
    }
    this.#waits.add(entry)
    if (this.onWait) this.#timer ??= setInterval(() => this.#tell(), lookEveryMs).unref()
    return entry
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#told.clear()
  }

  #tell(): void {
    const now = performance.now()
    const kinds = new Map<string, Entry[]>()
    for (const entry of this.#waits) {
      const same = kinds.get(entry.what)
      if (same) same.push(entry)
      else kinds.set(entry.what, [entry])
    }
    for (const [what, entries] of kinds) {
      const longest = now - Math.min(...entries.map(({ since }) => since))
      const last = this.#told.get(what) ?? Number.NEGATIVE_INFINITY
      if (longest < tellEveryMs || now - last < tellEveryMs) continue
      this.#told.set(what, now)
      this.onWait?.({ what, seconds: longest / 1000, count: entries.length })
    }
    for (const what of this.#told.keys()) if (!kinds.has(what)) this.#told.delete(what)
  }
}
