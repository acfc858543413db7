/** Data of a single-file report: compressed in a script element of the page itself. */
import {
  filterRows,
  histogramKey,
  type Inlined,
  metricsBetween,
  rolloutsOf,
  sameRef,
} from '../view/inlined.js'
import { type Source, SourceError } from './source.js'

/** Null where the page carries no data. */
export async function inlinedSource(): Promise<Source | null> {
  const element = document.getElementById('run-data')
  if (element === null) return null
  const packed = Uint8Array.from(atob(element.textContent!.trim()), (character) => character.charCodeAt(0))
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
  return sourceOf(JSON.parse(await new Response(stream).text()))
}

function sourceOf(data: Inlined): Source {
  const missing = (what: string) => {
    throw new SourceError(
      `${what} is not in this report.`,
      'A report carries a sample; sparring ui shows the whole run.',
      404,
    )
  }
  return {
    note: data.note,
    only: data.run.id,
    runs: async () => ({ folder: '', runs: [data.run], skipped: 0 }),
    run: async () => data.run,
    metrics: async (_, { names, from, to }) => metricsBetween(data.metrics, names, from, to),
    anchors: async () => data.anchors,
    histogram: async (_, { of, role }) =>
      data.histograms[histogramKey(of, role)] ?? missing('This histogram'),
    judging: async () => data.judging ?? missing('Judging'),
    rollouts: async (_, query) => filterRows(data.rows, query),
    rollout: async (_, ref) =>
      data.matches.flatMap(rolloutsOf).find((each) => sameRef(each, ref)) ?? missing('This rollout'),
    match: async (_, ref) => {
      const match = data.matches.find((each) => rolloutsOf(each).some((rollout) => sameRef(rollout, ref)))
      return match ? { ...match, at: ref } : missing('This match')
    },
    arena: async () => data.arena,
    compare: async () => missing('A comparison'),
    listen: () => () => {},
  }
}
