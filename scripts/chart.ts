/** A line chart with bands as SVG text, for documents: no dependency, readable on light and dark pages. */
export interface Series {
  name: string
  color: string
  /** x, and the lowest, mean and highest y there. */
  points: { x: number; low: number; mean: number; high: number }[]
}

const [width, height] = [740, 360]
const box = { left: 56, right: 210, top: 24, bottom: 44 }

/** y runs from 0 to 1 and is shown in per cent. */
export function lineChart(title: string, xLabel: string, series: readonly Series[]): string {
  const most = Math.max(...series.flatMap(({ points }) => points.map(({ x }) => x)))
  const x = (value: number) => (box.left + (value / most) * (width - box.left - box.right)).toFixed(1)
  const y = (share: number) => (box.top + (1 - share) * (height - box.top - box.bottom)).toFixed(1)
  const text = (atX: number | string, atY: number | string, content: string, more = '') =>
    `<text x="${atX}" y="${atY}" ${more}>${content}</text>`
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((share) => [
    `<line x1="${x(0)}" x2="${x(most)}" y1="${y(share)}" y2="${y(share)}" stroke="#8884"/>`,
    text(box.left - 8, Number(y(share)) + 4, `${(100 * share).toFixed(0)}`, 'text-anchor="end"'),
  ])
  const ticks = series[0]!.points.map((point) =>
    text(x(point.x), height - box.bottom + 18, String(point.x), 'text-anchor="middle"'),
  )
  const lines = series.flatMap(({ name, color, points }) => {
    const upper = points.map((p) => `${x(p.x)},${y(p.high)}`)
    const lower = points.map((p) => `${x(p.x)},${y(p.low)}`).reverse()
    const last = points.at(-1)!
    return [
      `<polygon points="${[...upper, ...lower].join(' ')}" fill="${color}" opacity="0.18"/>`,
      `<polyline points="${points.map((p) => `${x(p.x)},${y(p.mean)}`).join(' ')}" fill="none" stroke="${color}" stroke-width="2.5"/>`,
      text(Number(x(last.x)) + 8, Number(y(last.mean)) + 4, name, `fill="${color}"`),
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#888">
${[text(box.left, 14, title), ...grid, ...ticks, text((box.left + width - box.right) / 2, height - 8, xLabel, 'text-anchor="middle"'), ...lines].join('\n')}
</svg>
`
}
