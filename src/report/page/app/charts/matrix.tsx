/** The cross-play matrix: every snapshot of one role against every snapshot of the other. */
import type { ArenaAnswer } from '../../../api/arena.js'
import { number } from '../../view/format.js'

export function Matrix({ arena }: { arena: ArenaAnswer }) {
  const { setter, taker, rounds, cells } = arena
  return (
    <div class="scroll">
      <table class="matrix">
        <caption>
          rows: {taker} after a round · columns: tasks of the {setter} after a round
        </caption>
        <thead>
          <tr>
            <td />
            {rounds.map((round) => (
              <th key={round} scope="col">
                {round}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rounds.map((row, i) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {rounds.map((column, j) => {
                const { score, low, high, n } = cells[i]?.[j] ?? { score: null, low: null, high: null, n: 0 }
                return (
                  <td
                    key={column}
                    style={score === null ? {} : { '--share': `${Math.round(100 * score)}%` }}
                    class={score === null ? 'none' : 'score'}
                    title={`${taker} of round ${row}, tasks of the ${setter} of round ${column}: ${number(score)} [${number(low)}, ${number(high)}] over ${n} tasks`}
                  >
                    {score === null ? '–' : score.toFixed(2)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
