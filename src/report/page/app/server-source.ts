/** Data of `sparring ui`. */
import { type ApiError, address } from '../../api/address.js'
import type { LiveEvent } from '../../api/live.js'
import { type Source, SourceError } from './source.js'

export function serverSource(): Source {
  return {
    note: null,
    only: null,
    runs: () => ask(address.runs()),
    run: (run) => ask(address.run(run)),
    metrics: (run, query) => ask(address.metrics(run, query)),
    anchors: (run) => ask(address.anchors(run)),
    histogram: (run, query) => ask(address.histogram(run, query)),
    judging: (run) => ask(address.judging(run)),
    rollouts: (run, query) => ask(address.rollouts(run, query)),
    rollout: (run, ref) => ask(address.rollout(run, ref)),
    match: (run, ref) => ask(address.match(run, ref)),
    arena: (run) => ask(address.arena(run)),
    compare: (runs) => ask(address.compare(runs)),
    listen,
  }
}

async function ask<T>(path: string): Promise<T> {
  const response = await fetch(path).catch(() => {
    throw new SourceError('The server does not answer.', 'Is sparring ui still running?', 0)
  })
  if (response.ok) return response.json()
  const { error, hint } = (await response.json().catch(() => ({}))) as Partial<ApiError>
  throw new SourceError(error ?? `The server answered ${response.status}.`, hint ?? null, response.status)
}

const kinds: readonly LiveEvent['kind'][] = ['runs', 'rounds', 'alarms', 'reset']

/** The browser takes the connection up again by itself. */
function listen(run: string | undefined, hear: (event: LiveEvent) => void): () => void {
  const events = new EventSource(address.events(run))
  for (const kind of kinds) {
    events.addEventListener(kind, (event) => hear(JSON.parse((event as MessageEvent<string>).data)))
  }
  return () => events.close()
}
