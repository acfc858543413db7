/** What one wants to know first: does it help outside the game, is it healthy, what do the players earn. */
import { useContext } from 'preact/hooks'
import type { AnchorSeries } from '../../../api/metrics.js'
import type { Alarm, RunDetail } from '../../../api/run.js'
import { against, rounds, words } from '../../view/format.js'
import { plain } from '../../view/text.js'
import { LineChart } from '../charts/line.js'
import { lineColor, roleColor } from '../colors.js'
import { DarkContext, useData, useSource } from '../hooks.js'
import { Await, go, Link, Section } from '../ui.js'
import { PassRates } from './pass-rates.js'

export function Overview({ detail, version }: { detail: RunDetail; version: number }) {
  return (
    <>
      <Health detail={detail} />
      <div class={detail.panels.includes('anchors') ? 'grid lead' : ''}>
        {detail.panels.includes('anchors') && <Anchors detail={detail} version={version} />}
        <Rewards detail={detail} version={version} />
      </div>
      {detail.panels.includes('pass_rate') && <PassRates detail={detail} version={version} />}
      {detail.skipped.length > 0 && <Skipped detail={detail} />}
    </>
  )
}

export function Health({ detail }: { detail: RunDetail }) {
  const { history, id, rollbacks } = detail
  const alarms = byName(history)
  const active = alarms.filter(([alarm]) => alarm!.active)
  if (alarms.length === 0) {
    return (
      <Section title="Health" class="health">
        <p class="lamp fine">No alarm so far.</p>
      </Section>
    )
  }
  return (
    <Section
      title="Health"
      class="health"
      note={
        active.length === 0 ? 'No alarm holds now.' : `${active.length} of ${alarms.length} alarms hold now.`
      }
    >
      <ul>
        {alarms.map((own) => (
          <AlarmItem key={own[0]!.name} run={id} alarms={own} />
        ))}
      </ul>
      {rollbacks.map(({ round, to, alarm }) => (
        <p key={round} class="rollback">
          Round {round}: {plain(alarm)} took the run back to round {to}.
        </p>
      ))}
    </Section>
  )
}

/** Each alarm with all times that it began, the newest first; those that hold now before the others. */
function byName(history: readonly Alarm[]): Alarm[][] {
  const names = new Map<string, Alarm[]>()
  for (const alarm of history.toReversed()) names.set(alarm.name, [...(names.get(alarm.name) ?? []), alarm])
  const all = [...names.values()]
  return [...all.filter(([alarm]) => alarm!.active), ...all.filter(([alarm]) => !alarm!.active)]
}

/** What a run did about an alarm. */
const deeds: Record<string, string> = {
  warn: 'The run warned and went on.',
  pause: 'The run was paused.',
  rollback: 'The run was to go back to its best anchor.',
  stop: 'The run was ended.',
}

/** Earlier times that are named; the others are counted. */
const NAMED = 12

function AlarmItem({ run, alarms }: { run: string; alarms: Alarm[] }) {
  const [newest, ...before] = alarms
  const { name, round, value, threshold, formula, message, active, action, behind } = newest!
  const [was, limit] = against(value, threshold)
  return (
    <li class={active ? 'lamp on' : 'lamp past'}>
      <b>{plain(name)}</b>
      <span class="note">
        since round {round}
        {active ? '' : ', over now'}
      </span>
      {message && <p>{plain(message)}</p>}
      <p class="formula">
        {formula ? <code>{plain(formula)}</code> : 'This version does not know its formula.'}{' '}
        <span class="note">
          was {was}, threshold {limit}
        </span>
      </p>
      {action && <p class="note">{deeds[action] ?? plain(words(action))}</p>}
      <Link to={{ page: 'rollouts', run, query: behind }}>Rollouts behind it</Link>
      {before.length > 0 && (
        <p class="note">
          Before that in {before.length === 1 ? 'round' : 'rounds'}{' '}
          {before.slice(0, NAMED).map((each, i) => (
            <span key={each.round}>
              {i > 0 && ', '}
              <Link
                to={{ page: 'rollouts', run, query: each.behind }}
                title={`was ${against(each.value, each.threshold).join(', threshold ')}`}
              >
                {each.round}
              </Link>
            </span>
          ))}
          {before.length > NAMED && ` and ${before.length - NAMED} more`}
        </p>
      )}
    </li>
  )
}

function Anchors({ detail, version }: { detail: RunDetail; version: number }) {
  const source = useSource()
  const dark = useContext(DarkContext)
  const asked = useData(`anchors ${detail.id} ${version}`, () => source.anchors(detail.id))
  return (
    <Section title="Yardsticks" note="Outside the game; 95 % intervals.">
      <Await asked={asked}>
        {({ anchors }) => (
          <>
            {groups(anchors).map((series) => (
              <AnchorChart key={series[0]!.name} run={detail.id} series={series} dark={dark} />
            ))}
          </>
        )}
      </Await>
    </Section>
  )
}

/** Yardsticks of one kind in one chart. */
function groups(anchors: readonly AnchorSeries[]): AnchorSeries[][] {
  const kinds = new Map<string, AnchorSeries[]>()
  for (const series of anchors) {
    const kind = series.name.split('/')[0]!
    kinds.set(kind, [...(kinds.get(kind) ?? []), series])
  }
  return [...kinds.values()]
}

function AnchorChart(props: { run: string; series: AnchorSeries[]; dark: boolean }) {
  const { run, series, dark } = props
  const at = [...new Set(series.flatMap(({ points }) => points.map(({ round }) => round)))].sort(
    (a, b) => a - b,
  )
  const column = (points: AnchorSeries['points'], key: 'value' | 'low' | 'high') => {
    const byRound = new Map(points.map((point) => [point.round, point[key]]))
    return at.map((round) => byRound.get(round) ?? null)
  }
  const n = series.find((each) => each.n !== null)?.n
  return (
    <LineChart
      title={`${series[0]!.name.split('/')[0]}${n ? `, ${n} problems` : ''}`}
      from={at}
      to={at}
      share={series.every(({ points }) => points.every(({ low, high }) => low >= 0 && high <= 1))}
      curves={series.map(({ name, points }, i) => ({
        label: name.split('/').slice(1).join('/'),
        color: lineColor(i, dark),
        values: column(points, 'value'),
        low: column(points, 'low'),
        high: column(points, 'high'),
        interval: true,
        dots: at.length < 60,
      }))}
      open={(from, to) => go({ page: 'rollouts', run, query: { from, to, role: 'heldout' } })}
    />
  )
}

function Rewards({ detail, version }: { detail: RunDetail; version: number }) {
  const source = useSource()
  const dark = useContext(DarkContext)
  const roles = detail.parts.filter(({ name }) =>
    detail.metrics.some((metric) => metric.name === `${name}/reward/mean`),
  )
  const losses = detail.metrics.filter(({ name }) => /\/(loss|validation_loss)$/.test(name))
  const lines =
    roles.length > 0 ? roles.map(({ name }) => `${name}/reward/mean`) : losses.map(({ name }) => name)
  const asked = useData(lines.length === 0 ? null : `rewards ${detail.id} ${version}`, () =>
    source.metrics(detail.id, { names: lines, points: 400 }),
  )
  if (lines.length === 0) return null
  return (
    <Section
      title={roles.length > 0 ? 'Rewards in the game' : 'Loss'}
      note={
        roles.length > 0 ? 'No measure of success by themselves: read them beside the yardsticks.' : undefined
      }
    >
      <Await asked={asked}>
        {({ from, to, columns }) => (
          <div class="chart-grid">
            {lines.map((name) => (
              <LineChart
                key={name}
                title={name.replaceAll('/', ' ')}
                from={from}
                to={to}
                curves={[
                  {
                    label: name.split('/')[0]!,
                    color: roleColor(name.split('/')[0]!, detail.parts, dark),
                    values: columns[name]?.mean ?? [],
                    low: columns[name]?.min,
                    high: columns[name]?.max,
                  },
                ]}
                open={(first, last) =>
                  go({
                    page: 'rollouts',
                    run: detail.id,
                    query: { from: first, to: last, role: name.split('/')[0]! },
                  })
                }
              />
            ))}
          </div>
        )}
      </Await>
    </Section>
  )
}

function Skipped({ detail }: { detail: RunDetail }) {
  return (
    <Section title="Rounds without an update" note={`The last ${detail.skipped.length}.`}>
      <ul class="plain scroll short">
        {detail.skipped.toReversed().map(({ round, reason }) => (
          <li key={round}>
            <Link to={{ page: 'rollouts', run: detail.id, query: { from: round, to: round } }}>
              {rounds(round, round)}
            </Link>{' '}
            {plain(reason)}
          </li>
        ))}
      </ul>
    </Section>
  )
}
