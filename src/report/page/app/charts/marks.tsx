/** Alarms, rollbacks and resumes over a chart: a thin line with a sign at its top. */
import { createContext } from 'preact'
import type uPlot from 'uplot'
import { gravest, grouped, type Mark, markSigns, markTitle } from '../../view/marks.js'

/** Of the run that is shown. */
export const MarksContext = createContext<readonly Mark[]>([])

/** Pixels below which marks are drawn as one. */
const ROOM = 9

/** Elements over the plot, anew whenever it is drawn: uPlot moves its scales and sizes without the renderer. */
export function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  for (const old of plot.over.querySelectorAll('.mark')) old.remove()
  const { min, max } = plot.scales.x!
  if (min == null || max == null) return
  const within = marks.filter(({ round }) => round >= min && round <= max)
  for (const { at, marks: own } of grouped(within, (round) => plot.valToPos(round, 'x'), ROOM)) {
    const kind = gravest(own)
    const line = document.createElement('i')
    line.className = `mark mark-${kind}`
    line.style.left = `${Math.round(at)}px`
    const sign = document.createElement('b')
    sign.textContent = markSigns[kind]
    sign.title = markTitle(own)
    line.append(sign)
    plot.over.append(line)
  }
}

/** What the signs mean, where the run has any. */
export function MarkKey({ marks }: { marks: readonly Mark[] }) {
  const kinds = (Object.keys(markSigns) as Mark['kind'][]).filter((kind) =>
    marks.some((mark) => mark.kind === kind),
  )
  if (kinds.length === 0) return null
  return (
    <span class="mark-key">
      {kinds.map((kind) => (
        <span key={kind} class={`mark-of mark-${kind}`}>
          <b aria-hidden="true">{markSigns[kind]}</b> {kind}
        </span>
      ))}
    </span>
  )
}
