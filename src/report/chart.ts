/** Charts as SVG text, for documents: no dependency, readable on light and dark pages. */

export interface Series {
  name: string
  color: string
  /** x, and the lowest, mean and highest y there. */
  points: { x: number; low: number; mean: number; high: number }[]
}

/** Where the middle of some values lies, and how far they spread. */
export interface Box {
  name: string
  color: string
  p5: number
  q1: number
  median: number
  q3: number
  p95: number
  mean: number
}

export interface Panel {
  title: string
  boxes: readonly Box[]
}

/** Of series and boxes, in this order. */
export const colors = ['#2a9d5c', '#d1495b', '#e09f3e', '#3d7ea6', '#7b5ea7', '#8a6d3b', '#c05fa8']

const [width, height] = [740, 360]
const box = { left: 56, right: 210, top: 24, bottom: 44 }

/** y runs from 0 to 1 and is shown in per cent. */
export function lineChart(title: string, xLabel: string, series: readonly Series[]): string {
  const most = Math.max(...series.flatMap(({ points }) => points.map(({ x }) => x)))
  const x = (value: number) => (box.left + (value / most) * (width - box.left - box.right)).toFixed(1)
  const y = (share: number) => (box.top + (1 - share) * (height - box.top - box.bottom)).toFixed(1)
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((share) => [
    `<line x1="${x(0)}" x2="${x(most)}" y1="${y(share)}" y2="${y(share)}" stroke="#8884"/>`,
    text(box.left - 8, Number(y(share)) + 4, `${(100 * share).toFixed(0)}`, 'text-anchor="end"'),
  ])
  const ticks = series[0]!.points.map((point) =>
    text(x(point.x), height - box.bottom + 18, String(point.x), 'text-anchor="middle"'),
  )
  const names = apart(series.map(({ points }) => Number(y(points.at(-1)!.mean)) + 4))
  const lines = series.flatMap(({ name, color, points }, i) => {
    const upper = points.map((p) => `${x(p.x)},${y(p.high)}`)
    const lower = points.map((p) => `${x(p.x)},${y(p.low)}`).reverse()
    const last = points.at(-1)!
    return [
      `<polygon points="${[...upper, ...lower].join(' ')}" fill="${color}" opacity="0.18"/>`,
      `<polyline points="${points.map((p) => `${x(p.x)},${y(p.mean)}`).join(' ')}" fill="none" stroke="${color}" stroke-width="2.5"/>`,
      text(Number(x(last.x)) + 8, names[i]!.toFixed(1), name, `fill="${color}"`),
    ]
  })
  const label = text((box.left + width - box.right) / 2, height - 8, xLabel, 'text-anchor="middle"')
  return svg([text(box.left, 14, title), ...grid, ...ticks, label, ...lines])
}

/**
 * Panels side by side, each with a scale of its own from 0. A box reaches from the first to the third quartile, its bar is
 * the median, the dot the mean, and the line goes from the 5th to the 95th percentile.
 */
export function boxChart(title: string, panels: readonly Panel[]): string {
  const room = (width - 8) / panels.length
  const parts = panels.flatMap((panel, i) => boxPanel(panel, i * room, (i + 1) * room))
  return svg([text(box.left, 14, title), ...parts])
}

function boxPanel({ title, boxes }: Panel, from: number, to: number): string[] {
  const [left, right, top, bottom] = [from + box.left, to - 8, box.top + 24, height - box.bottom]
  const step = niceStep(Math.max(...boxes.map(({ p95, mean }) => Math.max(p95, mean))))
  const y = (value: number) => (bottom - (value / (5 * step)) * (bottom - top)).toFixed(1)
  const grid = [0, 1, 2, 3, 4, 5].flatMap((n) => [
    `<line x1="${left}" x2="${right}" y1="${y(n * step)}" y2="${y(n * step)}" stroke="#8884"/>`,
    text(left - 6, Number(y(n * step)) + 4, Number((n * step).toPrecision(2)), 'text-anchor="end"'),
  ])
  const room = (right - left) / boxes.length
  const half = Math.min(22, room / 4)
  const drawn = boxes.flatMap((each, i) => {
    const { name, color, p5, q1, median, q3, p95, mean } = each
    const x = left + (i + 0.5) * room
    const [dx1, dx2] = [(x - half).toFixed(1), (x + half).toFixed(1)]
    return [
      `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${y(p5)}" y2="${y(p95)}" stroke="${color}" stroke-width="1.5"/>`,
      `<rect x="${dx1}" y="${y(q3)}" width="${(2 * half).toFixed(1)}" height="${(Number(y(q1)) - Number(y(q3))).toFixed(1)}" fill="${color}" fill-opacity="0.3" stroke="${color}"/>`,
      `<line x1="${dx1}" x2="${dx2}" y1="${y(median)}" y2="${y(median)}" stroke="${color}" stroke-width="3"/>`,
      `<circle cx="${x.toFixed(1)}" cy="${y(mean)}" r="3" fill="${color}"/>`,
      ...name
        .split('\n')
        .map((line, row) =>
          text(x.toFixed(1), bottom + 16 + 14 * row, line, `text-anchor="middle" fill="${color}"`),
        ),
    ]
  })
  return [text(left, box.top + 10, title), ...grid, ...drawn]
}

/** Heights of lines of text, moved down where one would lie on another. */
function apart(heights: readonly number[]): number[] {
  const out = [...heights]
  const order = heights.map((_, i) => i).sort((a, b) => heights[a]! - heights[b]!)
  order.forEach((i, rank) => {
    if (rank > 0) out[i] = Math.max(out[i]!, out[order[rank - 1]!]! + 14)
  })
  const over = Math.max(0, Math.max(...out) - (height - box.bottom))
  return out.map((y) => y - over)
}

/** A fifth of the least round number (1, 2 or 5 times a power of ten) that is not below the value; of 1 for 0. */
function niceStep(value: number): number {
  if (value === 0) return 1 / 5
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((digit) => digit * power >= value)! * power) / 5
}

function text(x: number | string, y: number | string, content: string | number, more = ''): string {
  const escaped = String(content).replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<text x="${x}" y="${y}" ${more}>${escaped}</text>`
}

function svg(parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#888">
${parts.join('\n')}
</svg>
`
}
