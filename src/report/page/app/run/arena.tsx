/** The tournament of the run's snapshots: who beats whom, and how strong each is. */
import { useContext } from 'preact/hooks'
import type { ArenaAnswer } from '../../../api/arena.js'
import type { RunDetail } from '../../../api/run.js'
import { LineChart } from '../charts/line.js'
import { Matrix } from '../charts/matrix.js'
import { roleColor } from '../colors.js'
import { type Asked, DarkContext } from '../hooks.js'
import { Await, Section } from '../ui.js'

export function ArenaTab({ detail, arena }: { detail: RunDetail; arena: Asked<ArenaAnswer | null> }) {
  return (
    <Await asked={arena}>
      {(answer) =>
        answer === null ? (
          <p class="empty">
            No tournament was played. <code>sparring arena RUN</code> plays the run's snapshots against each
            other.
          </p>
        ) : (
          <div class="grid pair">
            <Section title="Cross-play" note={`A point of the ${answer.taker}: ${answer.point}.`}>
              <Matrix arena={answer} />
            </Section>
            <Section title="Elo" note="95 % intervals; the first has 1000 by definition.">
              <Ratings detail={detail} arena={answer} />
            </Section>
          </div>
        )
      }
    </Await>
  )
}

function Ratings({ detail, arena }: { detail: RunDetail; arena: ArenaAnswer }) {
  const dark = useContext(DarkContext)
  const { rounds, elo } = arena
  return (
    <LineChart
      title="Elo over rounds"
      from={rounds}
      to={rounds}
      curves={(['taker', 'setter'] as const).map((side) => ({
        label: arena[side],
        color: roleColor(arena[side], detail.parts, dark),
        values: elo[side].map((rating) => Math.round(rating.elo)),
        low: elo[side].map(({ low }) => Math.round(low)),
        high: elo[side].map(({ high }) => Math.round(high)),
        interval: true,
        dots: true,
      }))}
    />
  )
}
