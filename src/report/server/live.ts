/** What happens, as it happens: server-sent events, found by looking at the files once a second. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { LiveEvent } from '../api/live.js'
import type { RunSummary } from '../api/run.js'
import type { Library } from '../reader/library.js'
import { Query } from './queries.js'

const EVERY = 1000

/** Looks without news after which a line is sent, so that neither side takes the connection for dead. */
const QUIET = 15

/** Of all runs, and of the one that `run` names: its rounds behind `since`, or behind the last one of now. */
export function live(c: Context, library: Library, signal: AbortSignal): Response {
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
  const query = new Query(c.req.url)
  const watched = query.text('run')
  const since = query.count('since')
  query.requireKnown()
  // A browser that takes up the connection again says what it heard last.
  const heard = Number(c.req.header('last-event-id') ?? since ?? Number.NaN)
  const runs = new RunsWatch(library)
  const run = watched === undefined ? undefined : new RunWatch(library, watched, heard)
  const tell = async (stream: SSEStreamingApi) => {
    const ends = new AbortController()
    stream.onAbort(() => ends.abort())
    const ended = AbortSignal.any([signal, ends.signal])
    for (let quiet = 0; !ended.aborted; ) {
      const news = [...(await runs.look()), ...((await run?.look()) ?? [])]
      for (const event of news) {
        const id = event.kind === 'rounds' ? String(event.to) : undefined
        await stream.writeSSE({ event: event.kind, data: JSON.stringify(event), ...(id && { id }) })
      }
      quiet = news.length > 0 ? 0 : quiet + 1
      if (quiet === QUIET) {
        await stream.write(': still here\n\n')
        quiet = 0
      }
      await sleep(EVERY, undefined, { signal: ended }).catch(() => {})
    }
  }
  // The browser takes the stream up again.
  return streamSSE(c, tell, async () => {})
}

class RunsWatch {
  readonly #library: Library
  #seen = new Map<string, string>()
  #isFirst = true

  constructor(library: Library) {
    this.#library = library
  }

  /** All runs at first, then those that changed. */
  async look(): Promise<LiveEvent[]> {
    const { runs } = await this.#library.list()
    const now = new Map(runs.map((run) => [run.id, JSON.stringify(run)]))
    const changed: RunSummary[] = runs.filter(({ id }) => now.get(id) !== this.#seen.get(id))
    const gone = [...this.#seen.keys()].filter((id) => !now.has(id))
    const isNews = this.#isFirst || changed.length > 0 || gone.length > 0
    this.#seen = now
    this.#isFirst = false
    return isNews ? [{ kind: 'runs', runs: changed, gone }] : []
  }
}

class RunWatch {
  readonly #library: Library
  readonly #id: string
  /** Last round told of; NaN before the first look where the client has named none. */
  #round: number
  #alarms = -1
  #resets = -1

  constructor(library: Library, id: string, heard: number) {
    this.#library = library
    this.#id = id
    this.#round = heard
  }

  async look(): Promise<LiveEvent[]> {
    const run = await this.#library.open(this.#id)
    if (run === undefined) return []
    const { metrics } = run
    const last = metrics.lastRound
    const alarms = run.journal.alarms.length
    const events: LiveEvent[] = []
    const isCut = this.#resets >= 0 && metrics.resets !== this.#resets
    // A run that has written nothing yet has not gone back behind what the client knows.
    const wentBack = isCut || (metrics.rows > 0 && last < this.#round)
    if (wentBack) events.push({ kind: 'reset', run: this.#id, round: Math.max(0, last) })
    else if (last > this.#round) {
      const from = this.#round + 1
      const columns = run.columns({ names: metrics.names, from })
      events.push({ kind: 'rounds', run: this.#id, from, to: last, metrics: columns })
    }
    if (this.#alarms >= 0 && alarms > this.#alarms) {
      events.push({ kind: 'alarms', run: this.#id, alarms: run.alarms().slice(this.#alarms) })
    }
    if (metrics.rows > 0 || isCut || Number.isNaN(this.#round)) this.#round = last
    this.#alarms = alarms
    this.#resets = metrics.resets
    return events
  }
}
