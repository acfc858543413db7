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
import { guard } from './guard.js'
import { live } from './live.js'
import type { PageFile } from './page-files.js'
import {
  histogramQuery,
  metricsQuery,
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
  /** What the server listens on. */
  host: string
  /** Ends the streams of events. */
  signal: AbortSignal
}

export function createApp({ library, page, host, signal }: AppOptions): Hono {
  const app = new Hono()
  app.use(guard(host))
  app.use(compress())
  app.use('/api/*', async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
  })

  app.get('/api/runs', async (c) => c.json(await library.list()))
  app.get('/api/runs/:run', (c) => answer(c, (run) => run.detail()))
  app.get('/api/runs/:run/metrics', (c) => answer(c, (run, query) => run.columns(metricsQuery(query))))
  app.get('/api/runs/:run/anchors', (c) => answer(c, (run) => run.anchors()))
  app.get('/api/runs/:run/histogram', (c) => answer(c, (run, query) => run.histogram(histogramQuery(query))))
  app.get('/api/runs/:run/judging', (c) => answer(c, (run, query) => run.judging(rangeQuery(query))))
  app.get('/api/runs/:run/rollouts', (c) => answer(c, (run, query) => run.rollouts(rolloutsQuery(query))))
  app.get('/api/runs/:run/rollout', (c) => answer(c, (run, query) => run.rollout(rolloutRef(query))))
  app.get('/api/runs/:run/match', (c) => answer(c, (run, query) => run.match(rolloutRef(query))))
  app.get('/api/runs/:run/arena', (c) => answer(c, (run) => readArena(run.root)))
  app.get('/api/compare', async (c) => {
    const ids = new Query(c.req.url).list('runs')
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

  async function answer(c: Context, of: (run: RunReader, query: Query) => unknown): Promise<Response> {
    const run = await library.open(c.req.param('run') ?? '')
    if (run === undefined) return fault(c, 404, 'There is no such run in the folder.')
    const found = await of(run, new Query(c.req.url))
    return found === undefined ? fault(c, 404, 'The run has no such thing.') : c.json(found as object)
  }
}

function fault(
  c: Context,
  status: ContentfulStatusCode,
  error: string,
  hint: string | null = null,
): Response {
  return c.json({ error, hint } satisfies ApiError, status)
}
