/** What each rollout earned, part by part, and what became of it. */
import type { Update } from '../../../api/match.js'
import type { Rollout } from '../../../api/rollouts.js'
import { number, signed, words } from '../../view/format.js'
import { sameRef } from '../../view/inlined.js'
import { plain } from '../../view/text.js'
import { AdvantageBar, numbersOf } from './answers.js'
import { type MatchProps, Step } from './match.js'

export function Rewards({ match, color }: MatchProps) {
  const { birth, answers, revisions, critiques, chains, references, at } = match
  const groups: [string, Rollout[]][] = [
    ['proposal', birth ? [birth.proposal] : []],
    ['answers', answers],
    ['second answers', revisions],
    ['critiques', critiques.map(({ rollout }) => rollout)],
    [
      'judgments',
      [...chains.flatMap(({ slices }) => slices), ...references].flatMap(({ verdicts }) =>
        verdicts.map(({ rollout }) => rollout),
      ),
    ],
  ]
  return (
    <Step title="Rewards and advantages">
      {groups.map(
        ([name, rollouts]) =>
          rollouts.length > 0 && (
            <RewardTable key={name} {...{ name, rollouts, at }} color={color(rollouts[0]!.role)} />
          ),
      )}
    </Step>
  )
}

function RewardTable(props: {
  name: string
  rollouts: Rollout[]
  color: string
  at: MatchProps['match']['at']
}) {
  const { name, rollouts, color, at } = props
  const columns = [...new Set(rollouts.flatMap(({ parts }) => numbersOf(parts).map(([part]) => part)))]
  const table = (
    <div class="scroll">
      <table class="rewards">
        <thead>
          <tr>
            <th>#</th>
            {columns.map((column) => (
              <th key={column}>{words(column)}</th>
            ))}
            <th>reward</th>
            <th>advantage</th>
            <th>trained</th>
          </tr>
        </thead>
        <tbody>
          {rollouts.map((rollout) => (
            <tr key={rollout.line} class={sameRef(rollout, at) ? 'here' : ''}>
              <td>{rollout.index ?? rollout.line}</td>
              {columns.map((column) => (
                <td key={column}>{shown(rollout.parts[column])}</td>
              ))}
              <td>
                <b>{number(rollout.reward)}</b>
              </td>
              <td>
                {signed(rollout.advantage)} <AdvantageBar advantage={rollout.advantage} />
              </td>
              <td>{rollout.trained ? 'yes' : 'no'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
  return (
    <details open={rollouts.length <= 16} class="reward-group" style={{ '--role': color }}>
      <summary>
        {rollouts[0]!.role}: {name} <span class="note">{rollouts.length}</span>
      </summary>
      {table}
    </details>
  )
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number') return number(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return plain(words(String(value).slice(0, 60)))
}

/** Numbers of a step that say most, where they were written. */
const telling = [
  'optim/steps',
  'loss',
  'optim/grad_norm',
  'optim/lr',
  'ratio/max',
  'clip/high_frac',
  'policy/kl_reference',
  'policy/entropy',
]

export function Updates({ match, color }: MatchProps) {
  return (
    <Step title="Update">
      {match.updates.length === 0 && <p class="note">The journal says nothing of an update.</p>}
      <div class="cards">
        {match.updates.map((update) => (
          <UpdateCard key={`${update.role} ${update.round}`} update={update} color={color(update.role)} />
        ))}
      </div>
    </Step>
  )
}

function UpdateCard({ update, color }: { update: Update; color: string }) {
  const { role, round, used, before, after, metrics, skipped } = update
  const steps = before !== null && after !== null ? after - before : null
  return (
    <section class="card" style={{ '--role': color }} aria-label={`Update of the ${role}`}>
      <header>
        <b class="role">{role}</b>
        <span class={used ? 'good' : 'note'}>
          {used ? 'learned from this match' : 'did not learn from this match'}
        </span>
      </header>
      <p>
        Round {round}
        {steps !== null && (
          <>
            : version {before} → <b>{after}</b> ({steps} {steps === 1 ? 'step' : 'steps'})
          </>
        )}
      </p>
      {skipped && <p class="note">No update: {plain(skipped)}</p>}
      <dl class="facts">
        {telling.map(
          (name) =>
            typeof metrics[name] === 'number' && (
              <div key={name}>
                <dt>{words(name.replace('optim/', '').replace('policy/', '').replace('/', ' '))}</dt>
                <dd>{number(metrics[name])}</dd>
              </div>
            ),
        )}
      </dl>
    </section>
  )
}
