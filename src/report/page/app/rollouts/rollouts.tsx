/** All rollouts of a run: searched, filtered, best or worst first; two lists side by side. */
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { RolloutRow, RolloutsQuery } from '../../../api/rollouts.js'
import type { RunDetail } from '../../../api/run.js'
import { count, number, signed, words } from '../../view/format.js'
import type { Route } from '../../view/route.js'
import { plain } from '../../view/text.js'
import { roleColor } from '../colors.js'
import { DarkContext, useData, useKeys, useSource } from '../hooks.js'
import { Tabs } from '../run/tabs.js'
import { Line } from '../texts.js'
import { Await, Covered, go, Link } from '../ui.js'
import { Virtual } from '../virtual.js'
import { Filters } from './filters.js'
import { useRollouts } from './load.js'

export type RolloutsRoute = Extract<Route, { page: 'rollouts' }>

export function RolloutsPage({ route, version }: { route: RolloutsRoute; version: number }) {
  const source = useSource()
  const { run, query, beside } = route
  const asked = useData(`run ${run} ${version}`, () => source.run(run))
  const arena = useData(`arena ${run}`, () => source.arena(run).catch(() => null))
  const show = (next: RolloutsQuery, other = beside) =>
    go({ page: 'rollouts', run, query: next, ...(other && { beside: other }) })
  return (
    <Await asked={asked}>
      {(detail) => (
        <>
          <div class="bar">
            <Tabs run={run} tab="rollouts" hasArena={Boolean(arena.data)} />
            {beside === undefined ? (
              <button type="button" onClick={() => show(...sideBySide(query, detail))}>
                Two rounds side by side
              </button>
            ) : (
              <button type="button" onClick={() => go({ page: 'rollouts', run, query })}>
                One list
              </button>
            )}
          </div>
          <div class={beside ? 'grid pair sides' : 'rollout-list'}>
            <RolloutList {...{ detail, version, query }} keyed change={(next) => show(next)} />
            {beside && (
              <RolloutList
                {...{ detail, version }}
                query={beside}
                keyed={false}
                change={(next) => show(query, next)}
              />
            )}
          </div>
        </>
      )}
    </Await>
  )
}

/** The round looked at and the first one; or the last and the first. */
function sideBySide(query: RolloutsQuery, { rollouts }: RunDetail): [RolloutsQuery, RolloutsQuery] {
  const last = query.to ?? rollouts?.last ?? 1
  const first = Math.max(1, rollouts?.first ?? 1)
  const other = last === first ? (rollouts?.last ?? last) : first
  return [
    { ...query, from: other, to: other },
    { ...query, from: last, to: last },
  ]
}

interface RolloutListProps {
  detail: RunDetail
  version: number
  query: RolloutsQuery
  /** Whether the page's keys are this list's. */
  keyed: boolean
  change(query: RolloutsQuery): void
}

const NARROW = 3

function RolloutList({ detail, version, query, keyed, change }: RolloutListProps) {
  const run = detail.id
  const search = useRef<HTMLInputElement>(null)
  const list = useRollouts(run, query)
  const [current, setCurrent] = useState(-1)
  const loadedAt = useRef(version)
  useEffect(() => {
    loadedAt.current = version
    setCurrent(-1)
  }, [JSON.stringify(query)])
  const { rows } = list
  const shift = (step: number) => {
    const at = step < 0 ? (query.from ?? detail.rollouts?.last ?? 1) : (query.to ?? 0)
    const round = Math.max(0, Math.min(detail.rollouts?.last ?? at, at + step))
    change({ ...query, from: round, to: round })
  }
  const at = rows[current]
  useKeys(
    keyed
      ? {
          j: () => setCurrent(Math.min(rows.length - 1, current + 1)),
          k: () => setCurrent(Math.max(0, current - 1)),
          '/': () => search.current?.focus(),
          '[': () => shift(-1),
          ']': () => shift(1),
          b: () => change({ ...query, order: 'best' }),
          w: () => change({ ...query, order: 'worst' }),
          r: () => change({ ...query, order: 'random', seed: (query.seed ?? 0) + 1 }),
          ...(at && { Enter: () => go({ page: 'match', run, ref: refOf(at) }) }),
        }
      : {},
  )
  return (
    <div class="rollout-list">
      <Filters {...{ detail, query, change, search }} known={list} />
      <p class="note">
        {list.total !== null ? `${count(list.total)} found` : `${count(rows.length)} found so far`}
        {list.loading && ' · reading …'}
        {version !== loadedAt.current && (
          <button type="button" class="quiet" onClick={list.again}>
            rounds were played: read anew
          </button>
        )}
      </p>
      {list.coverage && <Covered coverage={list.coverage} />}
      {list.hasMore && (
        <p class="note cut">Some rounds have more that hold the text: of a file 200 are shown at most.</p>
      )}
      {list.error && <p class="fault">{list.error.message}</p>}
      <Virtual
        label="Rollouts"
        count={rows.length}
        height={48}
        current={current}
        nearEnd={list.more}
        row={(i) => <Row run={run} row={rows[i]!} detail={detail} />}
        head={
          <div class="rollouts-grid" role="row" tabIndex={-1}>
            {['round', 'role', 'question and completion', 'tokens', 'outcome', 'reward', 'advantage'].map(
              (name, i) => (
                <span key={name} role="columnheader" tabIndex={-1} class={i === NARROW ? 'wide' : ''}>
                  {name}
                </span>
              ),
            )}
          </div>
        }
      />
    </div>
  )
}

const refOf = ({ round, role, line }: RolloutRow) => ({ round, role, line })

function Row({ run, row, detail }: { run: string; row: RolloutRow; detail: RunDetail }) {
  const dark = useContext(DarkContext)
  const { round, role, group, index, text, question, tokens, stop, reward, advantage, outcome, trained } = row
  return (
    <div class="rollouts-grid">
      <span role="cell">{round}</span>
      <span role="cell" class="stack">
        <span class="role" style={{ '--role': roleColor(role, detail.parts, dark) }}>
          {role}
        </span>
        <small>{group === null ? '' : `${group}.${index}`}</small>
      </span>
      <span role="cell" class="stack">
        <Link to={{ page: 'match', run, ref: refOf(row) }}>
          <Line text={question ?? (text || '(empty)')} />
        </Link>
        <small class="mono">
          <Line text={text} />
        </small>
      </span>
      <span role="cell" class="stack wide">
        <span>{number(tokens)}</span>
        {stop && stop !== 'eos' && <small class={stop === 'stop' ? '' : 'bad'}>{words(stop)}</small>}
      </span>
      <span role="cell" class="stack">
        <span>{outcome === null ? '–' : plain(words(outcome))}</span>
        {row.rate !== null && <small>rate {number(row.rate)}</small>}
      </span>
      <span role="cell">{number(reward)}</span>
      <span role="cell" class="stack">
        <span class={(advantage ?? 0) > 0 ? 'good' : (advantage ?? 0) < 0 ? 'bad' : ''}>
          {signed(advantage)}
        </span>
        {trained === false && <small>untrained</small>}
      </span>
    </div>
  )
}
