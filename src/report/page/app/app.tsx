/** The frame around every view: where one is, the theme, the keys. */
import { useEffect, useState } from 'preact/hooks'
import type { LiveEvent } from '../../api/live.js'
import { plain } from '../view/text.js'
import { ComparePage } from './compare.js'
import { Help } from './help.js'
import { DarkContext, SourceContext, useKeys, useRoute, useTheme } from './hooks.js'
import { MatchPage } from './match/match.js'
import { RolloutsPage } from './rollouts/rollouts.js'
import { RunPage } from './run/run.js'
import { RunsPage } from './runs.js'
import type { Source } from './source.js'
import { Choice, go, Link } from './ui.js'

export function App({ source }: { source: Source }) {
  const { theme, dark, choose } = useTheme()
  const [help, setHelp] = useState(false)
  const asked = useRoute()
  const route =
    asked.page === 'runs' && source.only !== null
      ? ({ page: 'run', run: source.only, tab: 'overview' } as const)
      : asked
  const run = 'run' in route ? route.run : undefined
  const version = useLive(source, run, route.page === 'compare' ? route.runs : undefined)

  useKeys({
    '?': () => setHelp(!help),
    Escape: () => (help ? setHelp(false) : (document.activeElement as HTMLElement | null)?.blur()),
    t: () => choose(dark ? 'light' : 'dark'),
    u: () =>
      go(
        run !== undefined && route.page !== 'run' ? { page: 'run', run, tab: 'overview' } : { page: 'runs' },
      ),
  })
  useEffect(() => {
    document.title = run === undefined ? 'Sparring' : `${plain(run)} · Sparring`
  }, [run])

  return (
    <SourceContext.Provider value={source}>
      <DarkContext.Provider value={dark}>
        <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
          To the content
        </button>
        <header class="top">
          <Link to={{ page: 'runs' }} class="brand">
            sparring
          </Link>
          {run !== undefined && (
            <Link to={{ page: 'run', run, tab: 'overview' }} class="crumb">
              <bdi>{plain(run)}</bdi>
            </Link>
          )}
          <span class="grow" />
          <Choice
            label="Theme"
            value={theme}
            options={[
              ['auto', 'auto'],
              ['light', 'light'],
              ['dark', 'dark'],
            ]}
            choose={choose}
          />
          <button type="button" onClick={() => setHelp(true)} title="Keys">
            ?
          </button>
        </header>
        {source.note && <p class="notice">{source.note}</p>}
        <main
          id="main"
          tabIndex={-1}
          class={route.page === 'runs' || route.page === 'rollouts' ? 'fill' : ''}
        >
          {route.page === 'runs' && <RunsPage version={version} />}
          {route.page === 'run' && <RunPage key={route.run} route={route} version={version} />}
          {route.page === 'rollouts' && <RolloutsPage key={route.run} route={route} version={version} />}
          {route.page === 'match' && <MatchPage key={route.run} run={route.run} at={route.ref} />}
          {route.page === 'compare' && <ComparePage runs={route.runs} version={version} />}
        </main>
        {help && <Help close={() => setHelp(false)} />}
      </DarkContext.Provider>
    </SourceContext.Provider>
  )
}

/**
 * Counts up when something new is on the disk, of one run or of some, else of any; at most once in two seconds.
 */
function useLive(source: Source, run: string | undefined, some: readonly string[] | undefined): number {
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    // The first thing said of the runs is how they are, not what changed.
    let first = true
    const hear = (event: LiveEvent) => {
      const isOthers = event.kind === 'runs' && (run !== undefined || first || !isOf(event, some))
      if (event.kind === 'runs') first = false
      if (isOthers) return
      timer ??= setTimeout(() => {
        timer = undefined
        setVersion((before) => before + 1)
      }, 2000)
    }
    const end = source.listen(run, hear)
    return () => {
      clearTimeout(timer)
      end()
    }
  }, [source, run, some?.join(' ')])
  return version
}

function isOf({ runs, gone }: Extract<LiveEvent, { kind: 'runs' }>, some: readonly string[] | undefined) {
  return some === undefined || [...runs.map(({ id }) => id), ...gone].some((id) => some.includes(id))
}
