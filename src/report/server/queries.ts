/** Queries as the page writes them (api/), read from an address. */
import type { HistogramQuery } from '../api/histogram.js'
import type { JudgingQuery } from '../api/judging.js'
import type { MetricsQuery } from '../api/metrics.js'
import type { RolloutRef, RolloutsQuery } from '../api/rollouts.js'
import { MOST_COLUMNS } from '../reader/histogram.js'
import { isCursor, MOST_ROWS } from '../reader/list.js'
import { MOST_POINTS } from '../reader/metrics.js'

/** What is wrong with a query: one sentence. */
export class QueryError extends Error {}

/**
 * The part of an address behind the question mark. A value may be a list, its parts encoded each for itself. It remembers
 * which parameters were asked for, so that those that nobody knows can be refused.
 */
export class Query {
  readonly #values = new Map<string, string[]>()
  readonly #known: string[] = []

  constructor(url: string) {
    const [, search = ''] = url.split(/\?(.*)/s)
    for (const pair of search.split('&')) {
      if (pair === '') continue
      const [key = '', value = ''] = pair.split(/=(.*)/s)
      const name = decoded(key)
      if (this.#values.has(name)) throw new QueryError(`${shown(name)} is given twice; once is allowed.`)
      this.#values.set(name, value.split(',').map(decoded))
    }
  }

  /** Throws where a parameter was given that was never asked for. */
  requireKnown(): void {
    const unknown = [...this.#values.keys()].find((key) => !this.#known.includes(key))
    if (unknown === undefined) return
    const known = this.#known.length === 0 ? 'none' : this.#known.join(', ')
    throw new QueryError(`${shown(unknown)} is no parameter here; allowed: ${known}.`)
  }

  text(key: string): string | undefined {
    const text = this.#get(key)?.join(',')
    if (text === '') throw new QueryError(`${key} is empty; give it a value, or leave it out.`)
    return text
  }

  list(key: string): string[] {
    return this.text(key) === undefined ? [] : this.#get(key)!
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined {
    const text = this.#get(key)?.join(',')
    const found = allowed.find((each) => each === text)
    if (text === undefined || found) return found
    throw new QueryError(`${key} must be one of ${allowed.join(', ')}.`)
  }

  /** A whole number from `least` to `most`. */
  count(key: string, least = 0, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = this.#get(key)?.join(',')
    if (text === undefined) return undefined
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    const range = most === Number.MAX_SAFE_INTEGER ? `>= ${least}` : `from ${least} to ${most}`
    throw new QueryError(`${key} must be a whole number ${range}.`)
  }

  range(key: string): [number, number] | undefined {
    const ends = this.#get(key)
    if (ends === undefined) return undefined
    const [low, high] = ends.map((end) => (end.trim() === '' ? Number.NaN : Number(end)))
    if (ends.length === 2 && Number.isFinite(low) && Number.isFinite(high)) return [low!, high!]
    throw new QueryError(`${key} must be two numbers, LOW,HIGH.`)
  }

  truth(key: string): boolean | undefined {
    const text = this.oneOf(key, ['true', 'false'])
    return text === undefined ? undefined : text === 'true'
  }

  #get(key: string): string[] | undefined {
    if (!this.#known.includes(key)) this.#known.push(key)
    return this.#values.get(key)
  }
}

/** For addresses that take no parameters. */
export function noQuery(): Record<never, never> {
  return {}
}

export function rangeQuery(query: Query): JudgingQuery {
  return present({ from: query.count('from'), to: query.count('to') })
}

export function metricsQuery(query: Query): MetricsQuery {
  const names = query.list('names')
  const rest = { ...rangeQuery(query), ...present({ points: query.count('points', 1, MOST_POINTS) }) }
  if (names.length === 0) throw new QueryError('names is missing: the metrics that are wanted, NAME,NAME.')
  return { names, ...rest }
}

export function histogramQuery(query: Query): HistogramQuery {
  const of = query.oneOf('of', ['pass_rate', 'reward', 'advantage', 'tokens'])
  const role = query.text('role')
  const rest = {
    ...rangeQuery(query),
    ...present({ role, columns: query.count('columns', 1, MOST_COLUMNS) }),
  }
  if (of === undefined) throw new QueryError('of is missing: pass_rate, reward, advantage or tokens.')
  if (of !== 'pass_rate' && role === undefined)
    throw new QueryError(`role is missing: ${of} is that of a role.`)
  return { of, ...rest }
}

export function rolloutsQuery(query: Query): RolloutsQuery {
  return {
    ...rangeQuery(query),
    ...present({
      role: query.text('role'),
      reward: query.range('reward'),
      rate: query.range('rate'),
      advantage: query.range('advantage'),
      tokens: query.range('tokens'),
      trained: query.truth('trained'),
      outcome: query.text('outcome'),
      stop: query.text('stop'),
      text: query.text('text'),
      order: query.oneOf('order', ['new', 'old', 'best', 'worst', 'random']),
      seed: query.count('seed'),
      limit: query.count('limit', 1, MOST_ROWS),
      cursor: cursorIn(query),
    }),
  }
}

function cursorIn(query: Query): string | undefined {
  const cursor = query.text('cursor')
  if (cursor === undefined || isCursor(cursor)) return cursor
  throw new QueryError('cursor must be that of the answer before.')
}

export function rolloutRef(query: Query): RolloutRef {
  const [round, role, line] = [query.count('round'), query.text('role'), query.count('line')]
  if (round === undefined || role === undefined || line === undefined) {
    throw new QueryError('A rollout is named by round, role and line.')
  }
  return { round, role, line }
}

/** Names of parameters that a sentence repeats may be anything. */
function shown(name: string): string {
  return name === '' ? 'A parameter without a name' : name.slice(0, 40)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new QueryError('The address is not encoded as addresses are.')
  }
}

function present<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
