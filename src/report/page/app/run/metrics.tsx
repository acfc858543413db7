/** Every number of the run, as curves: one cursor, smoothing, log scale, zoom. */
import { useContext, useMemo, useRef, useState } from 'preact/hooks'
import type { RunDetail } from '../../../api/run.js'
import { rounds } from '../../view/format.js'
import { type ChartPlan, planSections, type SectionPlan } from '../../view/sections.js'
import { ChartBar, useSmoothing } from '../charts/bar.js'
import { LineChart } from '../charts/line.js'
import { MarkKey, MarksContext } from '../charts/marks.js'
import { lineColor, roleColor } from '../colors.js'
import { DarkContext, useData, useKeys, useSeen, useSource } from '../hooks.js'
import { Await, go } from '../ui.js'
import type { RunRoute } from './run.js'

export function MetricsTab({
  detail,
  route,
  version,
}: {
  detail: RunDetail
  route: RunRoute
  version: number
}) {
  const [smooth, setSmooth] = useSmoothing()
  const [log, setLog] = useState(false)
  const [wanted, setWanted] = useState('')
  const search = useRef<HTMLInputElement>(null)
  const { from, to } = route
  const zoom = (range?: [number, number]) => {
    const [low, high] = range ?? []
    go({ page: 'run', run: detail.id, tab: 'metrics', ...(range && { from: Math.max(0, low!), to: high! }) })
  }
  useKeys({
    '/': () => search.current?.focus(),
    l: () => setLog(!log),
    s: () => setSmooth(smooth >= 0.9 ? 0 : smooth + 0.3),
    0: () => zoom(),
  })
  const sections = useMemo(() => {
    const words = wanted.toLowerCase().split(/\s+/)
    const metrics = detail.metrics.filter(({ name }) => words.every((word) => name.includes(word)))
    return planSections(metrics, detail.parts)
  }, [detail.metrics, wanted])
  return (
    <>
      <ChartBar {...{ wanted, smooth, search }} want={setWanted} smoothen={setSmooth}>
        <label>
          <input type="checkbox" checked={log} onChange={() => setLog(!log)} /> log scale
        </label>
        {from !== undefined && to !== undefined && (
          <button type="button" onClick={() => zoom()}>
            {rounds(from, to)} · show all
          </button>
        )}
        <span class="note grow">Drag over a chart to zoom; click a point for its rollouts.</span>
        <MarkKey marks={useContext(MarksContext)} />
        <nav class="jump" aria-label="Sections">
          {sections.map(({ title }) => (
            <button
              type="button"
              class="quiet"
              key={title}
              onClick={() => document.getElementById(`section-${title}`)?.scrollIntoView()}
            >
              {title}
            </button>
          ))}
        </nav>
      </ChartBar>
      {sections.map((section) => (
        <ChartSection
          key={section.title}
          {...{ detail, section, version, log, zoom, smooth }}
          range={from !== undefined && to !== undefined ? [from, to] : undefined}
        />
      ))}
    </>
  )
}

interface ChartSectionProps {
  detail: RunDetail
  section: SectionPlan
  version: number
  smooth: number
  log: boolean
  range: [number, number] | undefined
  zoom(range: [number, number]): void
}

/** Asks for its numbers once it comes into sight. */
function ChartSection({ detail, section, version, smooth, log, range, zoom }: ChartSectionProps) {
  const source = useSource()
  const [watch, seen] = useSeen()
  const names = section.charts.flatMap(({ lines }) =>
    lines.flatMap(({ metric, ends = [] }) => [metric, ...ends]),
  )
  const asked = useData(seen ? `metrics ${detail.id} ${version} ${names} ${range}` : null, () =>
    source.metrics(detail.id, {
      names,
      points: 500,
      ...(range && { from: range[0], to: range[1] }),
    }),
  )
  return (
    <section class="charts" id={`section-${section.title}`} ref={watch} aria-label={section.title}>
      <h2>{section.title}</h2>
      {seen ? (
        <Await asked={asked}>
          {({ from, to, columns }) => (
            <div class="chart-grid">
              {section.charts.map((chart) => (
                <MetricChart
                  key={chart.title}
                  {...{ detail, chart, from, to, columns, smooth, log, range, zoom }}
                />
              ))}
            </div>
          )}
        </Await>
      ) : (
        <div class="chart-room" />
      )}
    </section>
  )
}

type MetricChartProps = Omit<ChartSectionProps, 'section' | 'version'> & {
  chart: ChartPlan
  from: number[]
  to: number[]
  columns: Record<string, { mean: (number | null)[]; min?: (number | null)[]; max?: (number | null)[] }>
}

function MetricChart({ detail, chart, from, to, columns, ...rest }: MetricChartProps) {
  const dark = useContext(DarkContext)
  const curves = useMemo(() => {
    const oneRole = chart.lines.length > 1 && new Set(chart.lines.map(({ role }) => role)).size === 1
    return chart.lines.map(({ metric, label, role, ends }, i) => ({
      label,
      color: role === null || oneRole ? lineColor(i, dark) : roleColor(role, detail.parts, dark),
      values: columns[metric]?.mean ?? [],
      low: ends ? columns[ends[0]]?.mean : columns[metric]?.min,
      high: ends ? columns[ends[1]]?.mean : columns[metric]?.max,
      interval: ends !== undefined,
      dots: (columns[metric]?.mean ?? []).filter((value) => value !== null).length < 25,
    }))
  }, [columns, chart, dark])
  const role = chart.lines.length === 1 ? chart.lines[0]!.role : null
  const anchor = chart.lines.every(({ metric }) => metric.startsWith('heldout/'))
  return (
    <LineChart
      title={chart.title}
      share={chart.share}
      open={(first, last) =>
        go({
          page: 'rollouts',
          run: detail.id,
          query: { from: first, to: last, ...(role && { role }), ...(anchor && { role: 'heldout' }) },
        })
      }
      {...{ from, to, curves, ...rest }}
    />
  )
}
