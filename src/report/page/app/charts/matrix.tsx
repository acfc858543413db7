/** The cross-play matrix: every snapshot of one role against every snapshot of the other. */
import type { ArenaAnswer } from '../../view/arena.js'
import { number } from '../../view/format.js'

export function Matrix({ arena }: { arena: ArenaAnswer }) {
  const { rows, columns, scores, games, meaning } = arena
  return (
    <div class="scroll">
      <table class="matrix">
        <caption>{meaning}</caption>
        <thead>
          <tr>
            <td />
            {columns.map(({ role, round }) => (
              <th key={`${role} ${round}`} scope="col">
                <small>{role}</small> {round}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ role, round }, i) => (
            <tr key={`${role} ${round}`}>
              <th scope="row">
                <small>{role}</small> {round}
              </th>
              {columns.map((column, j) => {
                const score = scores[i]?.[j] ?? null
                return (
                  <td
                    key={`${column.role} ${column.round}`}
                    style={score === null ? {} : { '--share': `${Math.round(100 * score)}%` }}
                    class={score === null ? 'none' : 'score'}
                    title={`${role} of round ${round} against ${column.role} of round ${column.round}: ${number(score)} over ${games[i]?.[j] ?? 0}`}
                  >
                    {score === null ? '' : score.toFixed(2)}
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
