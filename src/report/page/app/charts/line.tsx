/** Curves over rounds, drawn by uPlot: one cursor for all charts of a page, zoom by dragging, a round opened by a click. */
import { useContext, useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { number, rounds } from '../../view/format.js'
import { type Mark, marksWithin, textOf } from '../../view/marks.js'
import { smoothed } from '../../view/smooth.js'
import { DarkContext } from '../hooks.js'
import { TextAlternative } from '../ui.js'
import { drawMarks, MarksContext } from './marks.js'

export interface Curve {
  label: string
  color: string
  values: (number | null)[]
  /** Ends of an interval around every value. */
  low?: (number | null)[] | undefined
  high?: (number | null)[] | undefined
  /** Whether those are to be told with the value: a confidence interval, not the least and largest of joined rounds. */
  interval?: boolean
  /** Draws the values as dots, where there are few. */
  dots?: boolean
}

export interface LineChartProps {
  title: string
  /** First and last round of every point. */
  from: number[]
  to: number[]
  curves: Curve[]
  log?: boolean
  /** 0 (none) to 0.99. */
  smooth?: number
  /** Every value lies in 0 .. 1. */
  share?: boolean
  range?: readonly [number, number] | undefined
  zoom?(range: [number, number]): void
  open?(from: number, to: number): void
}

const HEIGHT = 170

/** Rounds between two marks of the axis: whole ones. */
const ROUND_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]

export function LineChart(props: LineChartProps) {
  const { title, from, to, curves } = props
  const dark = useContext(DarkContext)
  const place = useRef<HTMLDivElement>(null)
  const legend = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const marks = useContext(MarksContext)
  const latest = useRef({ ...props, marks })
  latest.current = { ...props, marks }
  const shape = JSON.stringify([
    dark,
    props.log,
    (props.smooth ?? 0) > 0,
    curves.map(({ label, color, low, dots }) => [label, color, low !== undefined, dots]),
  ])

  useEffect(() => {
    const made = make(place.current!, legend.current!, latest)
    plot.current = made
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width)
      if (width > 0 && width !== made.width) made.setSize({ width, height: HEIGHT })
    })
    observer.observe(place.current!)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [shape])
  useEffect(() => {
    const [low, high] = props.range ?? [from[0] ?? 0, to.at(-1) ?? 1]
    plot.current?.setData(dataOf(props), false)
    plot.current?.setScale('x', { min: low, max: Math.max(high, low + 1) })
    showValues(legend.current!, latest.current, null)
  }, [from, to, curves, props.smooth, props.range, shape, marks])

  const keys = (event: KeyboardEvent) => {
    const made = plot.current
    if (made === null) return
    const at = made.cursor.idx ?? null
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      const step = event.key === 'ArrowLeft' ? -1 : 1
      const next = Math.max(0, Math.min(from.length - 1, at === null ? from.length - 1 : at + step))
      moveCursor(made, made.valToPos(to[next]!, 'x'))
    } else if (event.key === 'Enter' && at !== null) props.open?.(from[at]!, to[at]!)
    else return
    event.preventDefault()
  }
  const summary = describe(props, marks)
  const isMarked = marksWithin(marks, from[0] ?? 0, to.at(-1) ?? 0).length > 0
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="legend" ref={legend} aria-hidden="true" />
      </figcaption>
      <div ref={place} tabIndex={0} onKeyDown={keys} role="img" aria-label={summary} class="plot" />
      <TextAlternative
        summary={summary}
        head={['round', ...curves.map(({ label }) => label), ...(isMarked ? ['marked'] : [])]}
        rows={to.map((round, i) => [
          from[i] === round ? round : `${from[i]}–${round}`,
          ...curves.map((curve) => told(curve, i)),
          ...(isMarked ? [textOf(marksWithin(marks, from[i]!, round))] : []),
        ])}
      />
    </figure>
  )
}

/** As the pointer would: the cursors of the other charts follow. uPlot's types lack the last argument. */
function moveCursor(plot: uPlot, left: number): void {
  const move: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void = plot.setCursor
  move({ left, top: 10 }, true, true)
}

/** With its interval, where it has one. */
function told({ values, low, high, interval }: Curve, i: number): string {
  const isWide = interval && low?.[i] != null && high?.[i] != null
  return isWide ? `${number(values[i])} [${number(low[i])}, ${number(high[i])}]` : number(values[i])
}

/** Marks beyond these are in the table. */
const TOLD = 8

function describe({ title, curves, from, to }: LineChartProps, marks: readonly Mark[]): string {
  const lines = curves.map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    return known.length === 0
      ? `${label}: nothing`
      : `${label}: ${number(known[0])} to ${number(known.at(-1))}`
  })
  const within = marksWithin(marks, from[0] ?? 0, to.at(-1) ?? 0)
  const told = within.slice(0, TOLD).map(({ round, text }) => `round ${round} ${text}`)
  const rest = within.length > TOLD ? ` and ${within.length - TOLD} more` : ''
  return `${title}. ${lines.join('; ')}.${told.length === 0 ? '' : ` Marked: ${told.join('; ')}${rest}.`}`
}

/** Of each curve: ends of its interval, the values as they are where they are smoothed, the line. */
function dataOf({ to, curves, smooth = 0 }: LineChartProps): uPlot.AlignedData {
  const columns = curves.flatMap(({ values, low, high }) => [
    ...(low && high ? [high, low] : []),
    ...(smooth > 0 ? [values] : []),
    smoothed(values, smooth),
  ])
  return [to, ...columns] as uPlot.AlignedData
}

type Marked = LineChartProps & { marks: readonly Mark[] }

function make(place: HTMLElement, legend: HTMLElement, latest: { current: Marked }): uPlot {
  const { curves, log = false, smooth = 0, share = false, from, to, range } = latest.current
  const style = getComputedStyle(document.documentElement)
  const ink = style.getPropertyValue('--quiet')
  const grid = { stroke: style.getPropertyValue('--line'), width: 1 }
  const axis = { stroke: ink, grid, ticks: { show: false }, font: '11px system-ui' }
  const series: uPlot.Series[] = [{}]
  const bands: uPlot.Band[] = []
  for (const { color, low, dots = false } of curves) {
    if (low) {
      bands.push({ series: [series.length, series.length + 1], fill: `${color}2b` })
      const end = { width: 0, points: { show: false }, spanGaps: true }
      series.push(end, { ...end })
    }
    if (smooth > 0) series.push({ stroke: `${color}55`, width: 1, points: { show: false }, spanGaps: true })
    series.push({ stroke: color, width: 1.75, points: { show: dots, size: 6, fill: color }, spanGaps: true })
  }
  const made = new uPlot(
    {
      width: Math.max(120, place.clientWidth),
      height: HEIGHT,
      padding: [8, 8, 0, 0],
      series,
      bands,
      legend: { show: false },
      cursor: { sync: { key: 'rounds' }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: {
        x: { time: false },
        y: { distr: log ? 3 : 1, ...(share && !log && { range: [0, 1] as uPlot.Range.MinMax }) },
      },
      axes: [
        { ...axis, size: 26, incrs: ROUND_STEPS },
        {
          ...axis,
          size: 60,
          values: (_, splits) => splits.map((value) => (value === null ? '' : number(value))),
        },
      ],
      hooks: {
        draw: [(u) => drawMarks(u, latest.current.marks)],
        setCursor: [(u) => showValues(legend, latest.current, u.cursor.idx ?? null)],
        setSelect: [
          (u) => {
            if (u.select.width < 4) return
            const ends = [u.select.left, u.select.left + u.select.width].map((x) => u.posToVal(x, 'x'))
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            latest.current.zoom?.([Math.floor(ends[0]!), Math.ceil(ends[1]!)])
          },
        ],
      },
    },
    dataOf(latest.current),
    place,
  )
  const [low, high] = range ?? [from[0] ?? 0, to.at(-1) ?? 1]
  made.setScale('x', { min: low, max: Math.max(high, low + 1) })
  let pressed = 0
  made.over.addEventListener('mousedown', (event) => {
    pressed = event.clientX
  })
  made.over.addEventListener('click', (event) => {
    const at = made.cursor.idx
    const { from: first, to: last, open } = latest.current
    if (typeof at === 'number' && Math.abs(event.clientX - pressed) < 4) open?.(first[at]!, last[at]!)
  })
  return made
}

/** The values under the cursor, or the last ones. Written past the renderer: the cursor moves often. */
function showValues(legend: HTMLElement, { from, to, curves, marks }: Marked, at: number | null): void {
  const parts = curves.map(({ label, color, values }) => {
    const item = document.createElement('span')
    const dot = document.createElement('i')
    dot.style.background = color
    const value = at === null ? values.findLast((each) => each !== null) : values[at]
    item.append(
      dot,
      curves.length === 1 ? '' : `${label} `,
      Object.assign(document.createElement('b'), { textContent: number(value) }),
    )
    return item
  })
  const where = document.createElement('span')
  where.textContent = at === null ? '' : rounds(from[at] ?? 0, to[at] ?? 0)
  const own = at === null ? [] : marksWithin(marks, from[at] ?? 0, to[at] ?? 0)
  const note = Object.assign(document.createElement('em'), { textContent: textOf(own) })
  legend.replaceChildren(where, ...parts, ...(own.length > 0 ? [note] : []))
}
