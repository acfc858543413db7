/** All runs: what each is, how far it is and whether it helped. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RunSummary } from '../../api/run.js'
import { ago, baseName, percent, signed } from '../view/format.js'
import { plain } from '../view/text.js'
import { useData, useKeys, useSource } from './hooks.js'
import { Await, go, Link, Meter, Status } from './ui.js'
import { Virtual } from './virtual.js'

export function RunsPage({ version }: { version: number }) {
  const source = useSource()
  const asked = useData(`runs ${version}`, () => source.runs())
  return (
    <Await asked={asked}>
      {({ runs, skipped }) => (
        <>
          <RunsList runs={runs} />
          {skipped > 0 && (
            <p class="note">
              {skipped} folders lie outside the runs folder by way of a link and are not read.
            </p>
          )}
        </>
      )}
    </Await>
  )
}

function RunsList({ runs }: { runs: RunSummary[] }) {
  const [wanted, setWanted] = useState('')
  const [chosen, setChosen] = useState<string[]>([])
  const [current, setCurrent] = useState(-1)
  const search = useRef<HTMLInputElement>(null)
  const shown = runs.filter((run) => isWanted(run, wanted))
  useEffect(() => setCurrent(-1), [wanted])

  const toggle = (id: string) =>
    setChosen((before) =>
      before.includes(id) ? before.filter((each) => each !== id) : [...before, id].slice(-4),
    )
  const at = shown[current]
  useKeys({
    j: () => setCurrent(Math.min(shown.length - 1, current + 1)),
    k: () => setCurrent(Math.max(0, current - 1)),
    '/': () => search.current?.focus(),
    ...(at && {
      Enter: () => go({ page: 'run', run: at.id, tab: 'overview' }),
      x: () => toggle(at.id),
    }),
    ...(chosen.length > 1 && { c: () => go({ page: 'compare', runs: chosen }) }),
  })

  if (runs.length === 0) {
    return (
      <div class="empty">
        <h1>No runs yet</h1>
        <p>
          Start one with <code>sparring train pasodoble-tiny</code>: it appears here while it plays.
        </p>
      </div>
    )
  }
  return (
    <>
      <div class="bar">
        <h1>Runs</h1>
        <input
          ref={search}
          type="search"
          placeholder="Name, game, model, status"
          aria-label="Search runs"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        <span class="note">
          {shown.length} of {runs.length}
        </span>
        <span class="grow" />
        {chosen.length > 0 && (
          <button
            type="button"
            class="primary"
            disabled={chosen.length < 2}
            onClick={() => go({ page: 'compare', runs: chosen })}
          >
            {chosen.length < 2 ? 'Choose another to compare' : `Compare ${chosen.length} runs`}
          </button>
        )}
      </div>
      <Virtual
        label="Runs"
        count={shown.length}
        height={56}
        current={current}
        head={<Head />}
        row={(i) => (
          <Row run={shown[i]!} chosen={chosen.includes(shown[i]!.id)} toggle={() => toggle(shown[i]!.id)} />
        )}
      />
    </>
  )
}

function Head() {
  return (
    <div class="runs-grid" role="row" tabIndex={-1}>
      {['', 'run', 'status', 'models', 'round', 'held-out: before → after', 'alarms'].map((name) => (
        <span key={name} role="columnheader" tabIndex={-1}>
          {name}
        </span>
      ))}
    </div>
  )
}

function Row({ run, chosen, toggle }: { run: RunSummary; chosen: boolean; toggle(): void }) {
  const { id, game, status, roles, round, rounds, alarms, updated, fault, seed } = run
  const models = [...new Set(roles.map(({ model }) => baseName(model)))]
  return (
    <div class="runs-grid">
      <span role="cell">
        <input type="checkbox" checked={chosen} onChange={toggle} aria-label={`Compare ${plain(id)}`} />
      </span>
      <span role="cell" class="stack">
        <Link to={{ page: 'run', run: id, tab: 'overview' }} class="strong">
          <bdi>{plain(id)}</bdi>
        </Link>
        <small>{fault ? plain(fault) : `${game ?? 'game unknown'} · seed ${seed ?? '–'}`}</small>
      </span>
      <span role="cell" class="stack">
        <Status status={status} />
        <small>{ago(updated, Date.now())}</small>
      </span>
      <span
        role="cell"
        class="stack wide"
        title={roles.map(({ name, model }) => `${name}: ${plain(model)}`).join('\n')}
      >
        <bdi class="line">{plain(models.join(', '))}</bdi>
        <small class="line">{roles.map(({ name }) => name).join(', ')}</small>
      </span>
      <span role="cell" class="stack">
        <span>
          {round}
          {rounds !== null && <small> of {rounds}</small>}
        </span>
        <Meter share={rounds ? round / rounds : 0} label={`${round} of ${rounds} rounds`} />
      </span>
      <span role="cell" class="stack">
        <Change anchor={run.anchor} />
      </span>
      <span role="cell">
        {alarms.length > 0 && (
          <span
            class="alarm-count"
            title={alarms.map(({ name, round: at }) => `${plain(name)}, round ${at}`).join('\n')}
          >
            {alarms.length} <small class="line">{plain(alarms.at(-1)!.name)}</small>
          </span>
        )}
      </span>
    </div>
  )
}

export function Change({ anchor }: { anchor: RunSummary['anchor'] }) {
  if (anchor === null) return <span class="note">–</span>
  const { before, after, n, name } = anchor
  const difference = after - before
  return (
    <>
      <span title={`${name} over ${n} problems`}>
        {percent(before)} → <b>{percent(after)}</b>
      </span>
      <small class={difference > 0 ? 'good' : difference < 0 ? 'bad' : ''}>
        {signed(Number((100 * difference).toFixed(1)))} points
      </small>
    </>
  )
}

function isWanted(run: RunSummary, wanted: string): boolean {
  const text = [run.id, run.game, run.status, ...run.roles.flatMap(({ name, model }) => [name, model])]
    .join(' ')
    .toLowerCase()
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
