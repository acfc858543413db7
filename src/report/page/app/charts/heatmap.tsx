/** A histogram over time: a column for each round or group of rounds, darker where there is more. */
import { useContext } from 'preact/hooks'
import type { Band } from '../../../api/run.js'
import { number, rounds } from '../../view/format.js'
import { gravest, marksWithin, markTitle, textOf } from '../../view/marks.js'
import { TextAlternative } from '../ui.js'
import { MarksContext } from './marks.js'

export interface HeatmapProps {
  label: string
  from: number[]
  to: number[]
  edges: number[]
  /** counts[column][bin]. */
  counts: number[][]
  color: string
  band?: Band | null
  /** Column that is looked at, -1 for none. */
  chosen: number
  choose(column: number): void
  open(column: number, bin: number): void
}

const [W, H, LEFT, BOTTOM] = [700, 180, 44, 22]

export function Heatmap(props: HeatmapProps) {
  const { label, from, to, edges, counts, color, band, chosen, choose, open } = props
  const own = useContext(MarksContext)
  const marked = from.map((first, c) => marksWithin(own, first, to[c]!))
  const isMarked = marked.some(({ length }) => length > 0)
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 1]
  const width = (W - LEFT - 4) / Math.max(1, counts.length)
  const y = (value: number) => 4 + (1 - (value - low) / (high - low || 1)) * (H - BOTTOM - 4)
  const name = (c: number, b: number) =>
    `${rounds(from[c]!, to[c]!)}, ${number(edges[b])} to ${number(edges[b + 1])}: ${counts[c]![b]}`
  /** Column and bin under the pointer. */
  const under = (event: MouseEvent): [number, number] => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const [left, top] = [
      ((event.clientX - box.left) / box.width) * W,
      ((event.clientY - box.top) / box.height) * H,
    ]
    const column = Math.floor((left - LEFT) / width)
    return [column in counts ? column : -1, edges.findLastIndex((edge) => y(edge) >= top)]
  }
  const point = (event: MouseEvent) => {
    const [column] = under(event)
    if (column >= 0 && column !== chosen) choose(column)
  }
  const press = (event: MouseEvent) => {
    const [column, bin] = under(event)
    if (column >= 0 && counts[column]![bin]) open(column, bin)
  }
  const keys = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    choose(Math.max(0, Math.min(counts.length - 1, (chosen < 0 ? counts.length : chosen) + step)))
    event.preventDefault()
  }
  return (
    <>
      <svg
        viewBox={`0 0 ${W} ${H}`}
        class="drawing heatmap"
        role="group"
        tabindex={0}
        onKeyDown={keys}
        onMouseMove={point}
        onClick={press}
        aria-label={`${label}, over rounds; arrow keys choose a round`}
      >
        <rect x={LEFT} y={4} width={W - LEFT - 4} height={H - BOTTOM - 4} class="ground" />
        {counts.map((bins, c) => {
          const all = Math.max(1, Math.max(...bins))
          return (
            <g key={from[c]}>
              {bins.map(
                (each, b) =>
                  each > 0 && (
                    <rect
                      key={edges[b]}
                      x={LEFT + c * width}
                      width={width + 0.3}
                      y={y(edges[b + 1]!)}
                      height={y(edges[b]!) - y(edges[b + 1]!)}
                      fill={color}
                      fill-opacity={0.12 + 0.88 * (each / all)}
                    >
                      <title>{name(c, b)}</title>
                    </rect>
                  ),
              )}
            </g>
          )
        })}
        {band &&
          [band.low, Math.min(band.high, high)].map((end) => (
            <line key={end} x1={LEFT} x2={W - 4} y1={y(end)} y2={y(end)} class="band-edge" />
          ))}
        {marked.map(
          (within, c) =>
            within.length > 0 && (
              <line
                key={from[c]}
                x1={LEFT + (c + 0.5) * width}
                x2={LEFT + (c + 0.5) * width}
                y1={4}
                y2={H - BOTTOM}
                class={`mark-line mark-${gravest(within)}`}
              >
                <title>{markTitle(within)}</title>
              </line>
            ),
        )}
        {chosen >= 0 && (
          <rect
            x={LEFT + chosen * width}
            width={Math.max(2, width)}
            y={3}
            height={H - BOTTOM - 2}
            class="chosen"
          />
        )}
        {marks(edges).map((value) => (
          <text key={value} x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {number(value)}
          </text>
        ))}
        {ticks(counts.length).map((c) => (
          <text
            key={c}
            x={LEFT + (c + 0.5) * width}
            y={H - 6}
            text-anchor={c === 0 ? 'start' : c === counts.length - 1 ? 'end' : 'middle'}
          >
            {to[c]}
          </text>
        ))}
      </svg>
      <TextAlternative
        summary={`${label}, over rounds`}
        head={[
          'rounds',
          ...edges.slice(0, -1).map((edge, i) => `${number(edge)}–${number(edges[i + 1])}`),
          ...(isMarked ? ['marked'] : []),
        ]}
        rows={counts.map((bins, c) => [
          from[c] === to[c] ? from[c]! : `${from[c]}–${to[c]}`,
          ...bins,
          ...(isMarked ? [textOf(marked[c]!)] : []),
        ])}
      />
    </>
  )
}

/** Middles of the first bin, of one halfway, and of the last. */
function marks(edges: readonly number[]): number[] {
  const last = edges.length - 2
  return [0, Math.round(last / 2), last].map((i) => (edges[i]! + edges[i + 1]!) / 2)
}

function ticks(columns: number): number[] {
  const step = Math.max(1, Math.ceil(columns / 7))
  return Array.from({ length: Math.ceil(columns / step) }, (_, i) => i * step)
}
