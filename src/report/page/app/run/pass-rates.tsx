/** How hard the questions are: a histogram of pass rates, and the same over rounds. Every bar leads to its questions. */
import { useContext, useState } from 'preact/hooks'
import type { HistogramAnswer, HistogramQuery } from '../../../api/histogram.js'
import type { RolloutsQuery } from '../../../api/rollouts.js'
import type { RunDetail } from '../../../api/run.js'
import { rounds, words } from '../../view/format.js'
import { Bars, bandText } from '../charts/bars.js'
import { Heatmap } from '../charts/heatmap.js'
import { roleColor } from '../colors.js'
import { DarkContext, unread, useData, useSource } from '../hooks.js'
import { Await, Choice, Covered, go, Section } from '../ui.js'

export function PassRates({ detail, version }: { detail: RunDetail; version: number }) {
  return (
    <Section
      title={`Pass rates of the ${detail.parts.some(({ part }) => part === 'author') ? 'questions' : 'problems'}`}
      note={detail.band ? bandText(detail.band) : undefined}
    >
      <OverRounds detail={detail} version={version} query={{ of: 'pass_rate' }} />
    </Section>
  )
}

type Spread = 'reward' | 'advantage' | 'tokens'

const kinds: readonly (readonly [Spread, string])[] = [
  ['reward', 'reward'],
  ['advantage', 'advantage'],
  ['tokens', 'length'],
]

/** Rewards, advantages and lengths of a role. */
export function Distributions({ detail, version }: { detail: RunDetail; version: number }) {
  const roles = detail.parts.map(({ name }) => name)
  const played = roles.filter((name) =>
    detail.metrics.some((metric) => metric.name === `${name}/reward/mean`),
  )
  const [role, setRole] = useState(played.at(-1) ?? roles.at(-1) ?? '')
  const [of, setOf] = useState<Spread>('reward')
  return (
    <Section
      title="Distributions of rollouts"
      actions={
        <>
          <Choice
            label="Role"
            value={role}
            options={roles.map((name) => [name, name] as const)}
            choose={setRole}
          />
          <Choice label="What" value={of} options={kinds} choose={(kind) => setOf(kind)} />
        </>
      }
    >
      <OverRounds detail={detail} version={version} query={{ of, role }} />
    </Section>
  )
}

function OverRounds(props: { detail: RunDetail; version: number; query: HistogramQuery }) {
  const { detail, version, query } = props
  const source = useSource()
  const key = `histogram ${detail.id} ${query.of} ${query.role} ${version}`
  const asked = useData(key, () => source.histogram(detail.id, query), unread)
  return (
    <Await asked={asked}>
      {(answer) =>
        answer.counts.length === 0 ? (
          <p class="note">Nothing to count so far.</p>
        ) : (
          <Pair detail={detail} answer={answer} of={query.of} />
        )
      }
    </Await>
  )
}

function Pair({ detail, answer, of }: { detail: RunDetail; answer: HistogramAnswer; of: string }) {
  const { from, to, edges, counts, role, filter, band, coverage } = answer
  const dark = useContext(DarkContext)
  const [chosen, choose] = useState(-1)
  const color = roleColor(role, detail.parts, dark)
  const column = chosen >= 0 && chosen < counts.length ? chosen : -1
  const shown = column < 0 ? sums(counts) : counts[column]!
  const [first, last] = column < 0 ? [from[0]!, to.at(-1)!] : [from[column]!, to[column]!]
  const open = (start: number, end: number, bin: number) => {
    const query: RolloutsQuery = { from: start, to: end, role, [filter]: [edges[bin]!, edges[bin + 1]!] }
    go({ page: 'rollouts', run: detail.id, query })
  }
  const label = `${words(of)} of ${role}`
  return (
    <>
      <div class="grid narrow-wide">
        <figure>
          <figcaption>
            {rounds(first, last)}{' '}
            {column >= 0 && (
              <button type="button" class="quiet" onClick={() => choose(-1)}>
                all rounds
              </button>
            )}
          </figcaption>
          <Bars
            label={label}
            edges={edges}
            counts={shown}
            color={color}
            band={band}
            open={(bin) => open(first, last, bin)}
          />
        </figure>
        <figure>
          <figcaption>over rounds</figcaption>
          <Heatmap
            {...{ label, from, to, edges, counts, color, band, choose }}
            chosen={column}
            open={(c, bin) => open(from[c]!, to[c]!, bin)}
          />
        </figure>
      </div>
      <Covered coverage={coverage} />
    </>
  )
}

function sums(counts: readonly number[][]): number[] {
  return counts[0]!.map((_, bin) => counts.reduce((sum, column) => sum + column[bin]!, 0))
}
