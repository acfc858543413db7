/**
 * A server that answers as the Hugging Face Hub answers its own client: what a revision stands for, what a path holds,
 * which files there are, and files in parts, large ones (Git LFS) from another address, with permission where a repository
 * is private or gated.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface HubRepo {
  /** @default 'dataset' */
  kind?: 'dataset' | 'model'
  commit: string
  files: Record<string, Buffer | string>
  /** Token that the repository asks for. */
  token?: string
  /** Everybody may see what there is, but content needs the token. */
  gated?: boolean
  /** Files that are sent with a byte changed. */
  damaged?: string[]
  /** Bytes after which the connections that carry large files break, in turn. */
  breaks?: number[]
  /** Bytes that a file is said to have, by path. */
  claims?: Record<string, number>
  /** Host that large files lie with. @default this one */
  store?: string
  /** The answer to a request for the rest of a file is the whole of it. */
  wholeOnly?: boolean
}

export interface HubServer {
  url: string
  /** Requests so far, as `METHOD /path`. */
  asked: string[]
  /** Those of them that brought a token. */
  tokens: string[]
  repos: Record<string, HubRepo>
  /** Statuses that the next requests are answered with instead. */
  failures: number[]
  close(): Promise<void>
}

export async function hubServer(repos: Record<string, HubRepo>): Promise<HubServer> {
  const server = createServer((request, response) => {
    hub.asked.push(`${request.method} ${request.url}`)
    if (request.headers.authorization) hub.tokens.push(request.headers.authorization)
    const failure = hub.failures.shift()
    if (failure === undefined) void answer(hub, request, response)
    else reply(response, failure, 'not now')
  })
  const hub: HubServer = {
    url: '',
    asked: [],
    tokens: [],
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
  info: /^\/api\/(dataset|model)s\/([^/]+\/[^/]+)\/revision\/([^/]+)$/,
  tree: /^\/api\/(dataset|model)s\/([^/]+\/[^/]+)\/tree\/([^/]+)$/,
  paths: /^\/api\/(dataset|model)s\/([^/]+\/[^/]+)\/paths-info\/([^/]+)$/,
  store: /^\/(store)\/([^/]+\/[^/]+)\/([^/]+)\/(.+)$/,
  resolve: /^\/(?:(dataset)s\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/,
}

async function answer({ repos }: HubServer, request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url!, 'http://hub')
  const [route, match] = Object.entries(routes)
    .map(([name, pattern]) => [name, pattern.exec(pathname)] as const)
    .find(([, found]) => found) ?? ['none', null]
  const [, kind = 'model', name = '', revision = '', file = ''] = match ?? []
  const repo = repos[name]
  if (route === 'store') return send(request, response, repo!, file)
  const allowed = repo?.token === undefined || request.headers.authorization === `Bearer ${repo.token}`
  if (!repo || (repo.kind ?? 'dataset') !== kind || (!allowed && !repo.gated)) {
    const error = { error: 'Invalid credentials in Authorization header' }
    return reply(response, 401, error, { 'X-Error-Code': 'RepoNotFound' })
  }
  if (!['main', 'refs/convert/parquet', repo.commit].includes(decodeURIComponent(revision))) {
    const error = { error: `Invalid rev id: ${revision}` }
    return reply(response, 404, error, { 'X-Error-Code': 'RevisionNotFound' })
  }
  if (route === 'info') {
    const sha = searchParams.getAll('expand').includes('sha') ? { sha: repo.commit } : {}
    const info = { _id: 'x', id: name, private: false, gated: false, likes: 0, downloads: 0 }
    return reply(response, 200, { ...info, ...sha })
  }
  if (route === 'tree') {
    const all = searchParams.get('recursive') === 'true'
    const files = Object.keys(repo.files).filter((path) => all || !path.includes('/'))
    const folder = { type: 'directory', path: 'original', oid: repo.commit, size: 0 }
    return reply(response, 200, [folder, ...files.map((path) => describe(repo, path))])
  }
  if (route === 'paths') {
    const { paths } = JSON.parse(await text(request)) as { paths: string[] }
    const found = paths.filter((path) => path in repo.files)
    return reply(
      response,
      200,
      found.map((path) => describe(repo, path)),
    )
  }
  if (!allowed) return reply(response, 403, 'Access is restricted', { 'X-Error-Code': 'GatedRepo' })
  const path = decodeURIComponent(file)
  if (!(path in repo.files)) {
    return reply(response, 404, 'Entry not found', { 'X-Error-Code': 'EntryNotFound' })
  }
  if (!isLarge(path)) return send(request, response, repo, file)
  const { oid, size } = describe(repo, path).lfs!
  response.writeHead(302, {
    Location: `${repo.store ?? ''}/store/${name}/${revision}/${file}`,
    'X-Linked-Size': size,
    'X-Linked-ETag': `"${oid}"`,
  })
  response.end()
}

/** On the Hub, these lie in Git LFS. */
function isLarge(path: string): boolean {
  return /\.(parquet|safetensors)$/.test(path)
}

function describe(repo: HubRepo, path: string) {
  const bytes = content(repo, path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const blob = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
  const lfs = isLarge(path) ? { lfs: { oid: sha256, size: bytes.length, pointerSize: 133 } } : {}
  return { type: 'file', path, oid: blob, size: repo.claims?.[path] ?? bytes.length, ...lfs }
}

function content(repo: HubRepo, path: string): Buffer {
  return Buffer.from(repo.files[path]!)
}

function send(request: IncomingMessage, response: ServerResponse, repo: HubRepo, file: string): void {
  const path = decodeURIComponent(file)
  const sent = content(repo, path)
  if (repo.damaged?.includes(path)) sent[sent.length - 1]! ^= 1
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
  const tag = { ETag: '"tag"' }
  const rest = from !== undefined && !(repo.wholeOnly && Number(from) > 0)
  const start = rest ? Number(from) : 0
  const end = rest && to ? Math.min(Number(to), sent.length - 1) : sent.length - 1
  const part = sent.subarray(start, end + 1)
  const range = rest ? { 'Content-Range': `bytes ${start}-${end}/${sent.length}` } : {}
  response.writeHead(rest ? 206 : 200, { ...tag, ...range, 'Content-Length': part.length })
  const breaks = isLarge(path) && part.length > 1 ? repo.breaks?.shift() : undefined
  if (breaks === undefined) response.end(part)
  else response.write(part.subarray(0, breaks), () => setTimeout(() => response.destroy(), 20))
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
