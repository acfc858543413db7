/** What a report carries of a run: every number, thinned, and as many matches as there is room for. */
import { gzipSync } from 'node:zlib'
import type { HistogramQuery } from '../api/histogram.js'
import type { Match } from '../api/match.js'
import type { MetricsAnswer } from '../api/metrics.js'
import type { Coverage, Rollout, RolloutRow, RolloutsQuery } from '../api/rollouts.js'
import type { RunDetail } from '../api/run.js'
import { histogramKey, type Inlined, rolloutsOf } from '../page/view/inlined.js'
import { beginning } from '../page/view/text.js'
import { readArena } from '../reader/arena.js'
import type { RunReader } from '../reader/run.js'

/** Characters of a text that a report keeps. */
const MOST_TEXT = 4000
/** Points of a metric, tried in turn until all metrics fit into their share of the room. */
const POINTS = [400, 200, 100, 50, 25]
/** Rounds whose matches are taken, spread over the run. */
const ROUNDS = 24
/** Milliseconds after which no more rollouts are read. */
const PATIENCE = 20_000

/** Collects at most `room` bytes, compressed. */
export async function collect(run: RunReader, room: number): Promise<Inlined> {
  const end = performance.now() + PATIENCE
  const detail = await run.detail()
  const { metrics, points } = thinned(run, detail, room / 3)
  const anchors = run.anchors()
  const histograms = await collectHistograms(run, detail, end)
  const judging = (await whole(() => run.judging({}), end)) ?? null
  const head = { run: detail, metrics, anchors, histograms, judging }
  const left = room - packed(head)
  const { matches, seen } = await collectMatches(run, detail, left, end)
  const { damaged } = await run.detail()
  return {
    ...head,
    run: { ...detail, damaged },
    // The report of a run does without what cannot be read.
    arena: await readArena(run.root).catch(() => null),
    matches,
    rows: rowsOf(matches),
    note: noteOf({ ...detail, damaged }, matches, seen, points),
  }
}

function thinned(run: RunReader, { metrics }: RunDetail, room: number) {
  const names = metrics.map(({ name }) => name)
  for (const points of POINTS) {
    const answer = rounded(run.columns({ names, points }))
    if (packed(answer) <= room || points === POINTS.at(-1)) return { metrics: answer, points }
  }
  throw new RangeError('POINTS is empty')
}

/** Five digits are more than a chart shows. */
function rounded({ columns, ...rest }: MetricsAnswer): MetricsAnswer {
  const short = (values: (number | null)[]) =>
    values.map((value) => (value === null ? null : Number(value.toPrecision(5))))
  return {
    ...rest,
    columns: Object.fromEntries(
      Object.entries(columns).map(([name, { mean, min, max }]) => [
        name,
        { mean: short(mean), ...(min && max && { min: short(min), max: short(max) }) },
      ]),
    ),
  }
}

async function collectHistograms(run: RunReader, { panels, parts }: RunDetail, end: number) {
  const queries: HistogramQuery[] = [
    ...(panels.includes('pass_rate') ? [{ of: 'pass_rate' } as const] : []),
    ...parts.flatMap(({ name: role }) =>
      (['reward', 'advantage', 'tokens'] as const).map((of) => ({ of, role })),
    ),
  ]
  const found: Inlined['histograms'] = {}
  for (const query of queries) {
    const answer = await whole(() => run.histogram(query), end)
    if (answer) found[histogramKey(query.of, query.role)] = answer
  }
  return found
}

/** Asks until every round is read, or time is up. */
async function whole<T extends { coverage: Coverage } | undefined>(
  ask: () => Promise<T>,
  end: number,
): Promise<T> {
  let answer = await ask()
  const isPart = () => answer !== undefined && answer.coverage.read < answer.coverage.of
  while (isPart() && !answer?.coverage.ends && performance.now() < end) answer = await ask()
  if (answer && isPart()) answer.coverage.ends ??= 'time'
  return answer
}

/** Matches round by round, those first that say most, until the room or the time is used up. */
async function collectMatches(run: RunReader, detail: RunDetail, room: number, end: number) {
  const queries = matchQueries(detail)
  const taken = new Map<string, Match>()
  const covered = new Set<string>()
  let left = room
  let seen = 0
  for (const query of queries) {
    if (left <= 0 || performance.now() > end) break
    const { rows } = await whole(() => run.rollouts(query), end)
    for (const { round, role, line } of rows) {
      seen++
      if (covered.has(`${round} ${role} ${line}`)) continue
      const match = await run.match({ round, role, line })
      if (match === undefined) continue
      const kept = cutMatch(match)
      left -= packed(kept)
      if (left <= 0) break
      taken.set(`${round} ${role} ${line}`, kept)
      for (const rollout of rolloutsOf(kept)) covered.add(`${rollout.round} ${rollout.role} ${rollout.line}`)
    }
  }
  return { matches: [...taken.values()], seen }
}

/** The best, the worst and some drawn by lot: of the last round, of the first, of those with alarms, and of some between. */
function matchQueries({ rollouts, parts, history }: RunDetail): RolloutsQuery[] {
  if (rollouts === null) return []
  const role = (
    parts.find(({ part }) => part === 'author') ??
    parts.find(({ part }) => part === 'answerer') ??
    parts[0]
  )?.name
  const first = Math.max(1, rollouts.first)
  const spread = Array.from({ length: ROUNDS }, (_, i) =>
    Math.round(first + ((rollouts.last - first) * i) / (ROUNDS - 1)),
  )
  const alarmed = history
    .map(({ round }) => round)
    .filter((round) => round >= first && round <= rollouts.last)
  const rounds = [...new Set([rollouts.last, first, ...alarmed.slice(-4), ...byHalves(spread)])]
  const of = (order: 'best' | 'worst' | 'random', limit: number) =>
    rounds.map((round) => ({ from: round, to: round, ...(role && { role }), order, limit }))
  const held = [rollouts.last, first - 1].map((round) => ({
    from: round,
    to: round,
    role: 'heldout',
    order: 'random' as const,
    limit: 20,
  }))
  return [...of('best', 2), ...of('worst', 2), ...of('random', 4), ...held, ...of('random', 60)]
}

/** The same values, the middle first, then those between: however many are taken, they are spread. */
function byHalves(values: readonly number[]): number[] {
  if (values.length === 0) return []
  const middle = Math.floor(values.length / 2)
  const [left, right] = [byHalves(values.slice(0, middle)), byHalves(values.slice(middle + 1))]
  const between = left.flatMap((value, i) => [value, ...(i < right.length ? [right[i]!] : [])])
  return [values[middle]!, ...between, ...right.slice(left.length)]
}

function cutMatch(match: Match): Match {
  const short = (text: string) => beginning(text, MOST_TEXT)
  const cut = <T extends Rollout>(rollout: T): T => {
    const text = short(rollout.text)
    const parts = Object.entries(rollout.parts).map(([name, part]) => [
      name,
      typeof part === 'string' ? short(part) : part,
    ])
    return {
      ...rollout,
      text,
      prompt: short(rollout.prompt),
      parts: Object.fromEntries(parts),
      cut: text.length < rollout.text.length ? (rollout.cut ?? rollout.text.length) : rollout.cut,
    }
  }
  const cutVerdicts = <T extends { verdicts: Match['references'][number]['verdicts'] }>(slice: T): T => ({
    ...slice,
    verdicts: slice.verdicts.map((verdict) => ({ ...verdict, rollout: cut(verdict.rollout) })),
  })
  return {
    ...match,
    question: match.question === null ? null : short(match.question),
    birth: match.birth && {
      ...match.birth,
      proposal: cut(match.birth.proposal),
      knowledge: match.birth.knowledge === null ? null : short(match.birth.knowledge),
    },
    answers: match.answers.map(cut),
    revisions: match.revisions.map(cut),
    critiques: match.critiques.map((critique) => ({ ...critique, rollout: cut(critique.rollout) })),
    chains: match.chains.map((chain) => ({ ...chain, slices: chain.slices.map(cutVerdicts) })),
    references: match.references.map(cutVerdicts),
  }
}

function rowsOf(matches: readonly Match[]): RolloutRow[] {
  const rows = new Map<string, RolloutRow>()
  for (const rollout of matches.flatMap(rolloutsOf)) {
    const { prompt: _prompt, parts: _parts, heat: _heat, cut: _cut, ...row } = rollout
    rows.set(`${row.round} ${row.role} ${row.line}`, { ...row, text: beginning(row.text, 300) })
  }
  return [...rows.values()]
}

function noteOf(detail: RunDetail, matches: readonly Match[], seen: number, points: number): string {
  const played = detail.rollouts?.rounds ?? 0
  const rounds = new Set(matches.map(({ round }) => round)).size
  const sample = `${matches.length} matches of ${rounds} of its ${played} rounds with rollouts`
  const thin = detail.round > points ? `; curves of ${points} points` : ''
  const none = seen === 0 ? 'no rollouts' : sample
  const lines = detail.damaged.reduce((sum, each) => sum + each.lines, 0)
  const lost =
    lines === 0 ? '' : `; ${lines === 1 ? '1 line' : `${lines} lines`} of its files could not be read`
  return `A report of the run as it was on ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC: ${none}${thin}${lost}. sparring ui shows all of it.`
}

function packed(value: unknown): number {
  return gzipSync(JSON.stringify(value), { level: 4 }).length
}
