/** Pictures on the unit square: reliability of scores, and how well they tell right from wrong. */
import type { Reliability, Roc } from '../../../api/judging.js'
import { count, number } from '../../view/format.js'
import { TextAlternative } from '../ui.js'

const [SIZE, LEFT, BOTTOM] = [240, 34, 30]
const x = (value: number) => LEFT + value * (SIZE - LEFT - 6)
const y = (value: number) => 6 + (1 - value) * (SIZE - BOTTOM - 6)

function Frame({ across, up }: { across: string; up: string }) {
  return (
    <>
      <rect x={x(0)} y={y(1)} width={x(1) - x(0)} height={y(0) - y(1)} class="ground" />
      <line x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} class="chance" />
      {[0, 0.5, 1].map((tick) => (
        <g key={tick}>
          <text x={x(tick)} y={SIZE - 18} text-anchor="middle">
            {tick}
          </text>
          <text x={LEFT - 5} y={y(tick) + 4} text-anchor="end">
            {tick}
          </text>
        </g>
      ))}
      <text x={x(0.5)} y={SIZE - 3} text-anchor="middle">
        {across}
      </text>
      <text transform={`translate(9 ${y(0.5)}) rotate(-90)`} text-anchor="middle">
        {up}
      </text>
    </>
  )
}

const wordsOf = { reference: 'a reference', right: 'right' }

export function ReliabilityDiagram({ reliability, color }: { reliability: Reliability; color: string }) {
  const { of, n, bins } = reliability
  const most = Math.max(1, ...bins.map((bin) => bin.n))
  const known = bins.filter(({ score, outcome }) => score !== null && outcome !== null)
  return (
    <figure class="square">
      <figcaption>
        Reliability for “{wordsOf[of]}”<span class="note">{count(n)} verdicts</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        class="drawing"
        role="img"
        aria-label={`Reliability diagram: mean score against the share that is ${wordsOf[of]}`}
      >
        <Frame across="mean score" up={`share that is ${wordsOf[of]}`} />
        <polyline
          points={known.map(({ score, outcome }) => `${x(score!)},${y(outcome!)}`).join(' ')}
          class="curve"
          stroke={color}
        />
        {known.map(({ n: size, score, outcome }) => (
          <circle
            key={score}
            cx={x(score!)}
            cy={y(outcome!)}
            r={2 + 6 * Math.sqrt(size / most)}
            fill={color}
            fill-opacity="0.75"
          >
            <title>{`score ${number(score)}: ${number(outcome)} of ${size}`}</title>
          </circle>
        ))}
      </svg>
      <TextAlternative
        summary="Reliability"
        head={['mean score', 'share', 'verdicts']}
        rows={bins.map((bin) => [number(bin.score), number(bin.outcome), bin.n])}
      />
    </figure>
  )
}

export function RocCurve({ roc, color }: { roc: Roc; color: string }) {
  const { of, auc, positives, negatives, points } = roc
  return (
    <figure class="square">
      <figcaption>
        ROC for “{wordsOf[of]}”<span class="note">AUC {number(auc)}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        class="drawing"
        role="img"
        aria-label={`ROC curve, area ${number(auc)}, ${positives} positives, ${negatives} negatives`}
      >
        <Frame across="false positives" up="true positives" />
        <polygon
          points={[
            ...points.map(({ fpr, tpr }) => `${x(fpr)},${y(tpr)}`),
            `${x(1)},${y(0)}`,
            `${x(0)},${y(0)}`,
          ].join(' ')}
          fill={color}
          fill-opacity="0.12"
        />
        <polyline
          points={points.map(({ fpr, tpr }) => `${x(fpr)},${y(tpr)}`).join(' ')}
          class="curve"
          stroke={color}
        />
      </svg>
      <TextAlternative
        summary="ROC"
        head={['false positives', 'true positives']}
        rows={points.map(({ fpr, tpr }) => [number(fpr), number(tpr)])}
      />
    </figure>
  )
}
