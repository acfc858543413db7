/** A histogram whose bars can be opened, with a band of values that count. */
import type { Band } from '../../../api/run.js'
import { count, number } from '../../view/format.js'
import { TextAlternative } from '../ui.js'

export interface BarsProps {
  label: string
  /** Bar i stands from edges[i] to edges[i + 1]. */
  edges: number[]
  counts: number[]
  color: string
  band?: Band | null
  open(bin: number): void
}

const [W, H, LEFT, BOTTOM] = [460, 180, 44, 22]

export function Bars({ label, edges, counts, color, band, open }: BarsProps) {
  const most = Math.max(1, ...counts)
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 1]
  const x = (value: number) => LEFT + ((value - low) / (high - low || 1)) * (W - LEFT - 4)
  const y = (value: number) => 8 + (1 - value / most) * (H - BOTTOM - 8)
  const all = counts.reduce((sum, each) => sum + each, 0)
  const name = (i: number) =>
    `${number(edges[i])} to ${number(edges[i + 1])}: ${counts[i]} (${Math.round((100 * counts[i]!) / Math.max(1, all))} %)`
  return (
    <>
      <svg
        viewBox={`0 0 ${W} ${H}`}
        class="drawing"
        role="group"
        aria-label={`${label}, ${count(all)} in all`}
      >
        {band && (
          <g>
            <rect
              x={x(Math.max(low, band.low))}
              width={x(Math.min(high, band.high)) - x(Math.max(low, band.low))}
              y={4}
              height={H - BOTTOM - 4}
              class="band"
            />
            <title>{bandText(band)}</title>
          </g>
        )}
        {[0.5, 1].map((share) => (
          <g key={share}>
            <line x1={LEFT} x2={W - 4} y1={y(share * most)} y2={y(share * most)} class="grid" />
            <text x={LEFT - 6} y={y(share * most) + 4} text-anchor="end">
              {number(share * most)}
            </text>
          </g>
        ))}
        {counts.map((each, i) => (
          <g
            key={edges[i]}
            role="button"
            tabindex={0}
            aria-label={`${name(i)}. Open its rollouts`}
            class="bar-of"
            onClick={() => open(i)}
            onKeyDown={(event) => event.key === 'Enter' && open(i)}
          >
            <title>{name(i)}</title>
            <rect
              x={x(edges[i]!)}
              width={Math.max(1, x(edges[i + 1]!) - x(edges[i]!))}
              y={4}
              height={H - BOTTOM - 4}
              class="hit"
            />
            <rect
              x={x(edges[i]!) + 1}
              width={Math.max(1, x(edges[i + 1]!) - x(edges[i]!) - 2)}
              y={each === 0 ? H - BOTTOM : Math.min(y(each), H - BOTTOM - 1.5)}
              height={each === 0 ? 0 : Math.max(1.5, H - BOTTOM - y(each))}
              fill={color}
            />
          </g>
        ))}
        <line x1={LEFT} x2={W - 4} y1={H - BOTTOM} y2={H - BOTTOM} class="axis" />
        {ticks(edges).map((value) => (
          <text key={value} x={x(value)} y={H - 6} text-anchor="middle">
            {number(value)}
          </text>
        ))}
      </svg>
      <TextAlternative
        summary={label}
        head={['from', 'to', 'count']}
        rows={counts.map((each, i) => [number(edges[i]), number(edges[i + 1]), each])}
      />
    </>
  )
}

export function bandText({ low, high, closed }: Band): string {
  return closed
    ? `learned from: ${number(low)} to ${number(high)}`
    : `learned from: above ${number(low)}, below ${number(high)}`
}

/** The middles of some five bins, the first among them. */
function ticks(edges: readonly number[]): number[] {
  const middles = edges.slice(1).map((edge, i) => (edge + edges[i]!) / 2)
  const step = Math.max(1, Math.ceil((middles.length - 1) / 6))
  return middles.filter((_, i) => i % step === 0)
}
