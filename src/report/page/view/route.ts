/** The page's addresses: what stands behind # in the location, so that every view can be kept, shared and gone back to. */
import type { RolloutRef, RolloutsQuery } from '../../api/rollouts.js'

export type Tab = 'overview' | 'metrics' | 'game' | 'arena' | 'settings'

export type Route =
  | { page: 'runs' }
  | { page: 'run'; run: string; tab: Tab; from?: number; to?: number }
  /** `beside` is a second list, shown next to the first. */
  | { page: 'rollouts'; run: string; query: RolloutsQuery; beside?: RolloutsQuery }
  | { page: 'match'; run: string; ref: RolloutRef }
  | { page: 'compare'; runs: string[] }

const tabs: readonly string[] = ['overview', 'metrics', 'game', 'arena', 'settings']

export function formatRoute(route: Route): string {
  if (route.page === 'runs') return '#/'
  if (route.page === 'compare') return `#/compare${search(route.runs.map((run) => ['run', run]))}`
  const run = `#/run/${encodeURIComponent(route.run)}`
  if (route.page === 'match') return `${run}/match${search(Object.entries(route.ref))}`
  if (route.page === 'rollouts') {
    const beside = route.beside ? [['beside', search(entriesOf(route.beside)).slice(1)]] : []
    return `${run}/rollouts${search([...entriesOf(route.query), ...beside])}`
  }
  const tab = route.tab === 'overview' ? '' : `/${route.tab}`
  return `${run}${tab}${search(Object.entries({ from: route.from, to: route.to }))}`
}

/** What an address shows; the list of runs where it makes no sense. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const values = new URLSearchParams(query)
  const [head, run, rest = 'overview'] = path.split('/')
  if (head === 'compare') return { page: 'compare', runs: values.getAll('run').slice(0, 4) }
  if (head !== 'run' || !run) return { page: 'runs' }
  const id = decoded(run)
  if (rest === 'match') {
    const { round, line } = { round: whole(values, 'round'), line: whole(values, 'line') }
    const role = values.get('role')
    if (round !== undefined && line !== undefined && role) {
      return { page: 'match', run: id, ref: { round, role, line } }
    }
  }
  if (rest === 'rollouts') {
    const beside = values.get('beside')
    return {
      page: 'rollouts',
      run: id,
      query: queryOf(values),
      ...(beside !== null && { beside: queryOf(new URLSearchParams(beside)) }),
    }
  }
  const tab = (tabs.includes(rest) ? rest : 'overview') as Tab
  return { page: 'run', run: id, tab, ...present({ from: whole(values, 'from'), to: whole(values, 'to') }) }
}

const ranges = ['reward', 'rate', 'advantage', 'tokens'] as const
const numbers = ['from', 'to', 'seed'] as const
const texts = ['role', 'outcome', 'stop', 'text', 'order'] as const

function entriesOf(query: RolloutsQuery): [string, unknown][] {
  return [...numbers, ...texts, ...ranges, 'trained' as const].map((key) => [key, query[key]])
}

function queryOf(values: URLSearchParams): RolloutsQuery {
  const range = (key: string) => {
    const ends = values.get(key)?.split(',').map(Number)
    return ends?.length === 2 && ends.every(Number.isFinite) ? ends : undefined
  }
  const trained = values.get('trained')
  return present({
    ...Object.fromEntries(numbers.map((key) => [key, whole(values, key)])),
    ...Object.fromEntries(texts.map((key) => [key, values.get(key) ?? undefined])),
    ...Object.fromEntries(ranges.map((key) => [key, range(key)])),
    trained: trained === null ? undefined : trained === 'true',
  }) as RolloutsQuery
}

function search(entries: readonly (readonly unknown[])[]): string {
  const pairs = entries.flatMap(([key, value]) => {
    return value === undefined ? [] : `${key}=${encodeURIComponent(String(value))}`
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function whole(values: URLSearchParams, key: string): number | undefined {
  const text = values.get(key)
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function present<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
