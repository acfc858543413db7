/** One run: what it is, whether it is healthy, what it measured. */

import { useMemo } from 'preact/hooks'
import type { RunDetail } from '../../../api/run.js'
import { ago, bytes, count, duration } from '../../view/format.js'
import { marksOf } from '../../view/marks.js'
import type { Route } from '../../view/route.js'
import { plain } from '../../view/text.js'
import { MarksContext } from '../charts/marks.js'
import { useData, useSource } from '../hooks.js'
import { Change } from '../runs.js'
import { Await, Meter, Section, Stat, Status } from '../ui.js'
import { ArenaTab } from './arena.js'
import { GameTab } from './game.js'
import { MetricsTab } from './metrics.js'
import { Overview } from './overview.js'
import { Tabs } from './tabs.js'

export type RunRoute = Extract<Route, { page: 'run' }>

export function RunPage({ route, version }: { route: RunRoute; version: number }) {
  const source = useSource()
  const { run, tab } = route
  const asked = useData(`run ${run} ${version}`, () => source.run(run))
  const arena = useData(`arena ${run}`, () => source.arena(run))
  const marks = useMemo(() => (asked.data ? marksOf(asked.data) : []), [asked.data])
  return (
    <Await asked={asked}>
      {(detail) => (
        <MarksContext.Provider value={marks}>
          <Head detail={detail} />
          <Tabs run={run} tab={tab} hasArena={Boolean(arena.data ?? arena.error)} />
          {tab === 'overview' && <Overview detail={detail} version={version} />}
          {tab === 'metrics' && <MetricsTab detail={detail} route={route} version={version} />}
          {tab === 'game' && <GameTab detail={detail} version={version} />}
          {tab === 'arena' && <ArenaTab detail={detail} arena={arena} />}
          {tab === 'settings' && <Settings detail={detail} />}
        </MarksContext.Provider>
      )}
    </Await>
  )
}

function Head({ detail }: { detail: RunDetail }) {
  const { id, status, game, seed, round, rounds, anchor, seconds, updated, fault, damaged } = detail
  return (
    <div class="run-head">
      <div class="bar">
        <h1>
          <bdi>{plain(id)}</bdi>
        </h1>
        <Status status={status} />
      </div>
      <Damage damaged={damaged} />
      {fault && <p class="fault">{plain(fault)}</p>}
      <dl class="stats">
        <Stat label="game">
          {game ?? '–'} <small>seed {seed ?? '–'}</small>
        </Stat>
        <Stat label="round">
          {count(round)} {rounds !== null && <small>of {count(rounds)}</small>}
          <Meter share={rounds ? round / rounds : 0} label={`${round} of ${rounds} rounds`} />
        </Stat>
        <Stat label="held-out, before → after">
          <span class="inline">
            <Change anchor={anchor} />
          </span>
        </Stat>
        <Stat label="played for">{duration(seconds)}</Stat>
        <Stat label="last written">{ago(updated, Date.now())}</Stat>
      </dl>
    </div>
  )
}

/** Files that are named; the others are counted. */
const NAMED = 3

/** What of the run's files could not be read, and is missing from everything below. */
function Damage({ damaged }: { damaged: RunDetail['damaged'] }) {
  if (damaged.length === 0) return null
  const lines = damaged.reduce((sum, each) => sum + each.lines, 0)
  const rest = damaged.length - NAMED
  return (
    <p class="fault">
      {lines === 1 ? '1 line' : `${count(lines)} lines`} could not be read and {lines === 1 ? 'is' : 'are'}{' '}
      left out:{' '}
      {damaged
        .slice(0, NAMED)
        .map(({ file, lines: own }) => `${plain(file)} (${own})`)
        .join(', ')}
      {rest > 0 && ` and ${rest} more ${rest === 1 ? 'file' : 'files'}`}
    </p>
  )
}

function Settings({ detail }: { detail: RunDetail }) {
  const { config, checkpoints, parts } = detail
  return (
    <div class="grid pair">
      <Section title="Run file" note="With every default filled in; itself a run file.">
        <pre class="scroll tall">{plain(JSON.stringify(config, null, 2))}</pre>
      </Section>
      <div>
        <Section title="Roles">
          <table>
            <thead>
              <tr>
                <th>role</th>
                <th>part</th>
                <th>model</th>
              </tr>
            </thead>
            <tbody>
              {parts.map(({ name, part, model }) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td>{part ?? '–'}</td>
                  <td class="wrap">{plain(model)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
        <Section title="Checkpoints">
          <div class="scroll tall">
            <table>
              <thead>
                <tr>
                  <th>after round</th>
                  <th>size</th>
                  <th>path</th>
                </tr>
              </thead>
              <tbody>
                {checkpoints.map(({ round, bytes: size, path }) => (
                  <tr key={round}>
                    <td>{round}</td>
                    <td>{bytes(size)}</td>
                    <td class="wrap">
                      {path !== null ? plain(path) : <span class="note">replaced by newer ones</span>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      </div>
    </div>
  )
}
