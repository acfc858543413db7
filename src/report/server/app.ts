/** The answers of `sparring ui`: the page's own files, and what it asks for (api/). */
import type { Context } from 'hono'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { messageOf, SparringError } from '../../core/errors.js'
import type { ApiError } from '../api/address.js'
import { readArena } from '../reader/arena.js'
import type { Library } from '../reader/library.js'
import type { RunReader } from '../reader/run.js'
import { type Doors, guard } from './guard.js'
import { live } from './live.js'
import type { PageFile } from './page-files.js'
import {
  histogramQuery,
  metricsQuery,
  noQuery,
  Query,
  QueryError,
  rangeQuery,
  rolloutRef,
  rolloutsQuery,
} from './queries.js'

const MOST_COMPARED = 4

export interface AppOptions {
  library: Library
  /** The page's files by their names. */
  page: ReadonlyMap<string, PageFile>
  /** What the server listens on, and what it may be called. */
  doors: Doors
  /** Ends the streams of events. */
  signal: AbortSignal
}

export function createApp({ library, page, doors, signal }: AppOptions): Hono {
  const app = new Hono()
  app.use(guard(doors))
  app.use(compress())
  app.use('/api/*', async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
  })

  app.get('/api/runs', async (c) => {
    read(c, noQuery)
    return c.json(await library.list())
  })
  get('', noQuery, (run) => run.detail())
  get('/metrics', metricsQuery, (run, query) => run.columns(query))
  get('/anchors', noQuery, (run) => run.anchors())
  get('/histogram', histogramQuery, (run, query) => run.histogram(query))
  get('/judging', rangeQuery, (run, query) => run.judging(query))
  get('/rollouts', rolloutsQuery, (run, query) => run.rollouts(query))
  get('/rollout', rolloutRef, (run, query) => run.rollout(query))
  get('/match', rolloutRef, (run, query) => run.match(query))
  get('/arena', noQuery, (run) => readArena(run.root))
  app.get('/api/compare', async (c) => {
    const ids = read(c, (query) => query.list('runs'))
    if (ids.length < 2 || ids.length > MOST_COMPARED) {
      throw new QueryError(`runs must name two to ${MOST_COMPARED} runs.`)
    }
    const comparison = await library.compare(ids)
    return comparison ? c.json(comparison) : fault(c, 404, 'One of these runs is not in the folder.')
  })
  app.get('/api/events', (c) => live(c, library, signal))

  app.get('*', (c) => {
    const file = page.get(c.req.path === '/' ? 'index.html' : c.req.path.slice(1))
    if (file === undefined) return fault(c, 404, 'There is nothing at this address.')
    c.header('Cache-Control', 'no-cache')
    return c.body(file.bytes, 200, { 'Content-Type': file.type })
  })
  app.onError((error, c) => {
    if (error instanceof QueryError) return fault(c, 400, error.message)
    return fault(c, 500, messageOf(error), SparringError.isInstance(error) ? (error.hint ?? null) : null)
  })
  return app

  /** What is asked of a run. */
  function get<T>(path: string, query: (query: Query) => T, of: (run: RunReader, asked: T) => unknown): void {
    app.get(`/api/runs/:run${path}`, async (c) => {
      const run = await library.open(c.req.param('run') ?? '')
      if (run === undefined) return fault(c, 404, 'There is no such run in the folder.')
      const found = await of(run, read(c, query))
      return found === undefined ? fault(c, 404, 'The run has no such thing.') : c.json(found as object)
    })
  }
}

function read<T>(c: Context, of: (query: Query) => T): T {
  const query = new Query(c.req.url)
  const asked = of(query)
  query.requireKnown()
  return asked
}

function fault(
  c: Context,
  status: ContentfulStatusCode,
  error: string,
  hint: string | null = null,
): Response {
  return c.json({ error, hint } satisfies ApiError, status)
}
