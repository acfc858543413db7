/** Where the question comes from: the text it was proposed from, the proposal, and what it was compared with. */
import type { Birth } from '../../../api/match.js'
import { number, signed } from '../../view/format.js'
import { Block, Completion, Line } from '../texts.js'
import { Link } from '../ui.js'
import { Facts } from './answers.js'
import { type MatchProps, Step } from './match.js'

export function BirthStep({ run, match, heat, color, birth }: MatchProps & { birth: Birth }) {
  const { proposal, knowledge, rivals } = birth
  return (
    <>
      <Step title="Knowledge" note={knowledge === null ? 'the prompt shows no text' : undefined}>
        {knowledge !== null ? (
          <Block text={knowledge} />
        ) : (
          <details>
            <summary>Prompt of the {proposal.role}</summary>
            <Block text={proposal.prompt} />
          </details>
        )}
      </Step>
      <Step
        title={`Proposal of the ${proposal.role}`}
        color={color(proposal.role)}
        note={birth.round !== match.round ? `proposed in round ${birth.round}` : undefined}
      >
        <Facts rollout={proposal} />
        <Completion run={run} rollout={proposal} heat={heat} />
        {rivals.length > 0 && (
          <details>
            <summary>{rivals.length} other proposals from the same text</summary>
            <table class="rivals">
              <thead>
                <tr>
                  <th>question</th>
                  <th>fate</th>
                  <th>reward</th>
                  <th>advantage</th>
                </tr>
              </thead>
              <tbody>
                {rivals.map((rival) => (
                  <tr key={rival.line}>
                    <td>
                      <Link
                        to={{
                          page: 'match',
                          run,
                          ref: { round: rival.round, role: rival.role, line: rival.line },
                        }}
                      >
                        <Line text={rival.question ?? rival.text} />
                      </Link>
                    </td>
                    <td>{rival.outcome ?? '–'}</td>
                    <td>{number(rival.reward)}</td>
                    <td>{signed(rival.advantage)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </details>
        )}
      </Step>
    </>
  )
}
