/** The tournament of the run's snapshots: who beats whom, and how strong each is. */
import type { ArenaAnswer, Rating } from '../../view/arena.js'
import { Matrix } from '../charts/matrix.js'
import type { Asked } from '../hooks.js'
import { Await, Section } from '../ui.js'

export function ArenaTab({ arena }: { arena: Asked<ArenaAnswer | null> }) {
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
            <Section title="Cross-play">
              <Matrix arena={answer} />
            </Section>
            <Section title="Elo" note="95 % intervals.">
              <Ratings ratings={answer.ratings} />
            </Section>
          </div>
        )
      }
    </Await>
  )
}

function Ratings({ ratings }: { ratings: Rating[] }) {
  const ends = ratings.flatMap(({ low, high }) => [low, high])
  const [least, most] = [Math.min(...ends), Math.max(...ends)]
  const at = (elo: number) => `${(100 * (elo - least)) / (most - least || 1)}%`
  return (
    <table class="ratings">
      <tbody>
        {ratings
          .toSorted((a, b) => b.elo - a.elo)
          .map(({ role, round, elo, low, high }) => (
            <tr key={`${role} ${round}`}>
              <th scope="row">
                {role} <small>round {round}</small>
              </th>
              <td>{Math.round(elo)}</td>
              <td class="interval" title={`${Math.round(low)} to ${Math.round(high)}`}>
                <span style={{ left: at(low), right: `calc(100% - ${at(high)})` }} />
                <b style={{ left: at(elo) }} />
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}
