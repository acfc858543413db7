/** The views of a run. */
import type { Route, Tab } from '../../view/route.js'
import { useKeys } from '../hooks.js'
import { go, Link } from '../ui.js'

const names: Record<Tab, string> = {
  overview: 'Overview',
  metrics: 'Metrics',
  game: 'Game',
  arena: 'Cross-play',
  settings: 'Settings',
}

export function Tabs({ run, tab, hasArena }: { run: string; tab: Tab | 'rollouts'; hasArena: boolean }) {
  const tabs = (Object.keys(names) as Tab[]).filter((each) => each !== 'arena' || hasArena)
  const places: Route[] = [
    ...tabs.slice(0, 3).map((each): Route => ({ page: 'run', run, tab: each })),
    { page: 'rollouts', run, query: {} },
    ...tabs.slice(3).map((each): Route => ({ page: 'run', run, tab: each })),
  ]
  useKeys(Object.fromEntries(places.map((place, i) => [String(i + 1), () => go(place)])))
  return (
    <nav class="tabs" aria-label="Views of the run">
      {places.map((place, i) => (
        <Link
          key={i}
          to={place}
          {...(tab === (place.page === 'run' ? place.tab : 'rollouts') && { class: 'here' })}
        >
          {place.page === 'run' ? names[place.tab] : 'Rollouts'}
        </Link>
      ))}
    </nav>
  )
}
