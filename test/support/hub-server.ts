/**
 * A server that answers as the Hugging Face Hub answers its own client: what a revision stands for, what a path holds,
 * and files in parts, large ones (Git LFS) from another address, with permission where a data set is gated.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface HubRepo {
  commit: string
  files: Record<string, Buffer | string>
  /** Token that the data set asks for. */
  token?: string
  /** Files that are sent with a byte changed. */
  damaged?: string[]
}

export interface HubServer {
  url: string
  /** Requests so far, as `METHOD /path`. */
  asked: string[]
  repos: Record<string, HubRepo>
  /** Statuses that the next requests are answered with instead. */
  failures: number[]
  close(): Promise<void>
}

export async function hubServer(repos: Record<string, HubRepo>): Promise<HubServer> {
  const server = createServer((request, response) => {
    hub.asked.push(`${request.method} ${request.url}`)
    const failure = hub.failures.shift()
    if (failure === undefined) void answer(hub, request, response)
    else reply(response, failure, 'not now')
  })
  const hub: HubServer = {
    url: '',
    asked: [],
    repos,
    failures: [],
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => hub.close())
  return hub
}

const routes = {
  info: /^\/api\/datasets\/([^/]+\/[^/]+)\/revision\/([^/]+)$/,
  paths: /^\/api\/datasets\/([^/]+\/[^/]+)\/paths-info\/([^/]+)$/,
  resolve: /^\/datasets\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/,
  store: /^\/store\/([^/]+\/[^/]+)\/(.+)$/,
}

async function answer({ repos }: HubServer, request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url!, 'http://hub')
  const [route, match] = Object.entries(routes)
    .map(([name, pattern]) => [name, pattern.exec(pathname)] as const)
    .find(([, found]) => found) ?? ['none', null]
  const [, name = '', revision = '', file = ''] = match ?? []
  const repo = repos[name]
  const allowed = repo?.token === undefined || request.headers.authorization === `Bearer ${repo.token}`
  if (route === 'store')
    return sendPart(request, response, content(repo!, revision), damaged(repo!, revision))
  if (!repo || !allowed) return reply(response, 401, { error: 'Invalid credentials in Authorization header' })
  if (!['main', 'refs/convert/parquet', repo.commit].includes(decodeURIComponent(revision))) {
    return reply(
      response,
      404,
      { error: `Invalid rev id: ${revision}` },
      { 'X-Error-Code': 'RevisionNotFound' },
    )
  }
  if (route === 'info') {
    const sha = searchParams.getAll('expand').includes('sha') ? { sha: repo.commit } : {}
    return reply(response, 200, {
      _id: 'x',
      id: name,
      private: false,
      gated: false,
      likes: 0,
      downloads: 0,
      ...sha,
    })
  }
  if (route === 'paths') {
    const { paths } = JSON.parse(await text(request)) as { paths: string[] }
    return reply(
      response,
      200,
      paths.flatMap((path) => (path in repo.files ? [describe(repo, path)] : [])),
    )
  }
  const path = decodeURIComponent(file)
  if (!(path in repo.files)) {
    return reply(response, 404, 'Entry not found', { 'X-Error-Code': 'EntryNotFound' })
  }
  if (!isLarge(path)) return sendPart(request, response, content(repo, path), damaged(repo, path))
  const { oid, size } = describe(repo, path).lfs!
  response.writeHead(302, {
    Location: `/store/${name}/${file}`,
    'X-Linked-Size': size,
    'X-Linked-ETag': `"${oid}"`,
  })
  response.end()
}

/** On the Hub, Parquet files lie in Git LFS. */
function isLarge(path: string): boolean {
  return path.endsWith('.parquet')
}

function describe(repo: HubRepo, path: string) {
  const bytes = content(repo, path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const blob = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
  const lfs = isLarge(path) ? { lfs: { oid: sha256, size: bytes.length, pointerSize: 133 } } : {}
  return { type: 'file', path, oid: blob, size: bytes.length, ...lfs }
}

function content(repo: HubRepo, path: string): Buffer {
  return Buffer.from(repo.files[decodeURIComponent(path)]!)
}

function damaged(repo: HubRepo, path: string): boolean {
  return repo.damaged?.includes(decodeURIComponent(path)) ?? false
}

function sendPart(request: IncomingMessage, response: ServerResponse, bytes: Buffer, broken: boolean): void {
  const sent = Buffer.from(bytes)
  if (broken) sent[sent.length - 1]! ^= 1
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const tag = { ETag: '"tag"' }
  if (from === undefined) {
    response.writeHead(200, { ...tag, 'Content-Length': sent.length })
    response.end(sent)
    return
  }
  const end = Math.min(Number(to), sent.length - 1)
  response.writeHead(206, { ...tag, 'Content-Range': `bytes ${from}-${end}/${sent.length}` })
  response.end(sent.subarray(Number(from), end + 1))
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  const json = typeof body !== 'string'
  response.writeHead(status, { 'Content-Type': json ? 'application/json' : 'text/plain', ...headers })
  response.end(json ? JSON.stringify(body) : body)
}
