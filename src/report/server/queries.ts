/** Queries as the page writes them (api/), read from an address. */
import type { HistogramQuery } from '../api/histogram.js'
import type { JudgingQuery } from '../api/judging.js'
import type { MetricsQuery } from '../api/metrics.js'
import type { RolloutRef, RolloutsQuery } from '../api/rollouts.js'

/** What is wrong with a query: one sentence. */
export class QueryError extends Error {}

/** The part of an address behind the question mark. A value may be a list, its parts encoded each for itself. */
export class Query {
  readonly #values = new Map<string, string[]>()

  constructor(url: string) {
    const [, search = ''] = url.split(/\?(.*)/s)
    for (const pair of search.split('&')) {
      const [key = '', value] = pair.split(/=(.*)/s)
      if (value !== undefined) this.#values.set(decoded(key), value.split(',').map(decoded))
    }
  }

  text(key: string): string | undefined {
    return this.#values.get(key)?.join(',')
  }

  list(key: string): string[] {
    return this.#values.get(key) ?? []
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined {
    const text = this.text(key)
    const found = allowed.find((each) => each === text)
    if (text === undefined || found) return found
    throw new QueryError(`${key} must be one of ${allowed.join(', ')}.`)
  }

  /** A whole number >= 0. */
  count(key: string): number | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
    throw new QueryError(`${key} must be a whole number >= 0.`)
  }

  range(key: string): [number, number] | undefined {
    const ends = this.#values.get(key)
    if (ends === undefined) return undefined
    const [low, high] = ends.map(Number)
    if (ends.length === 2 && Number.isFinite(low) && Number.isFinite(high)) return [low!, high!]
    throw new QueryError(`${key} must be two numbers, LOW,HIGH.`)
  }

  truth(key: string): boolean | undefined {
    const text = this.oneOf(key, ['true', 'false'])
    return text === undefined ? undefined : text === 'true'
  }
}

export function rangeQuery(query: Query): JudgingQuery {
  return present({ from: query.count('from'), to: query.count('to') })
}

export function metricsQuery(query: Query): MetricsQuery {
  return { names: query.list('names'), ...rangeQuery(query), ...present({ points: query.count('points') }) }
}

export function histogramQuery(query: Query): HistogramQuery {
  const of = query.oneOf('of', ['pass_rate', 'reward', 'advantage', 'tokens'])
  const role = query.text('role')
  if (of === undefined) throw new QueryError('of is missing.')
  if (of !== 'pass_rate' && role === undefined)
    throw new QueryError(`role is missing: ${of} is that of a role.`)
  return { of, ...rangeQuery(query), ...present({ role, columns: query.count('columns') }) }
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
      limit: query.count('limit'),
      cursor: query.text('cursor'),
    }),
  }
}

export function rolloutRef(query: Query): RolloutRef {
  const [round, role, line] = [query.count('round'), query.text('role'), query.count('line')]
  if (round === undefined || role === undefined || line === undefined) {
    throw new QueryError('A rollout is named by round, role and line.')
  }
  return { round, role, line }
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
