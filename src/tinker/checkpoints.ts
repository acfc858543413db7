/** Checkpoints that a server keeps: listed, fetched, deleted. */
import { createWriteStream } from 'node:fs'
import { copyFile, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { messageOf } from '../core/errors.js'
import { rest } from './abort.js'
import type { Checkpoint } from './client.js'
import type { Connection } from './connection.js'
import { ServerError, UserError } from './errors.js'
import { Passing, Persistence } from './persistence.js'
import { accept, jsonOf } from './reply.js'
import { shaped } from './shape.js'
import type { Reply } from './transport.js'
import { answers } from './wire/endpoints.js'

/** An archive is built on demand: milliseconds between two looks, and looks. */
const buildPauseMs = 30_000
const buildLooks = 40
const downloadMs = 3600_000

const signedUrl = z.object({ url: z.string() })

export async function listCheckpoints(
  connection: Connection,
  modelId: string,
  signal: AbortSignal,
): Promise<Checkpoint[]> {
  if (!connection.profile.checkpoints) throw unlisted(connection)
  const path = `training_runs/${encodeURIComponent(modelId)}/checkpoints`
  const what = `the checkpoints of model ${modelId}`
  const { checkpoints } = await connection.get(path, answers.checkpoints, { what, signal })
  return checkpoints.map(({ checkpoint_id, checkpoint_type, time, tinker_path, size_bytes }) => ({
    modelId,
    id: checkpoint_id,
    type: checkpoint_type,
    time,
    path: tinker_path,
    ...(size_bytes != null && { bytes: size_bytes }),
  }))
}

/** The file is there whole or not at all. */
export async function downloadArchive(
  connection: Connection,
  checkpoint: Checkpoint,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  if (!connection.profile.checkpoints) throw unlisted(connection)
  const what = `the archive of ${checkpoint.path}`
  const persistence = new Persistence(what, connection.hearing)
  const wait = connection.waits.begin(what)
  const partial = `${file}.part`
  try {
    for (let looks = 1; ; ) {
      try {
        const reply = await connection.transport.exchange({
          method: 'GET',
          path: `${routeOf(checkpoint)}/archive`,
          signal,
        })
        if (reply.status === 503 && looks++ < buildLooks) {
          wait.what = `${what} to be built`
          await rest(Math.min(buildPauseMs, 30 * connection.hearing.patience.backoffMs), signal)
          continue
        }
        await fetchTo(connection, locationOf(connection, reply, what), partial, what, signal)
        await rename(partial, file)
        return
      } catch (error) {
        if (!(error instanceof Passing)) throw error
        await persistence.failed(error, signal)
      }
    }
  } finally {
    wait.end()
    await rm(partial, { force: true })
  }
}

export async function deleteCheckpoint(
  connection: Connection,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<void> {
  if (!connection.profile.checkpoints) throw unlisted(connection)
  const folder = checkpoint.type === 'training' ? 'weights' : 'sampler_weights'
  const name = checkpoint.id.split('/').at(-1)!
  const path = `training_runs/${encodeURIComponent(checkpoint.modelId)}/checkpoints/${folder}/${encodeURIComponent(name)}`
  await connection.fetch({ method: 'DELETE', path, signal }, `the deletion of ${checkpoint.path}`)
}

function routeOf({ modelId, id }: Checkpoint): string {
  const name = id.split('/').map(encodeURIComponent).join('/')
  return `training_runs/${encodeURIComponent(modelId)}/checkpoints/${name}`
}

/** Where the archive lies; signed addresses of other hosts among them. */
function locationOf(connection: Connection, reply: Reply, what: string): URL {
  const base = `${connection.transport.base}/`
  const redirect = reply.headers.location
  if (reply.status >= 300 && reply.status < 400 && redirect) return new URL(String(redirect), base)
  accept(reply, { what, transport: connection.transport })
  return new URL(shaped(signedUrl, jsonOf(reply)).url, base)
}

async function fetchTo(
  connection: Connection,
  url: URL,
  file: string,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  if (url.protocol === 'file:') {
    await copyFile(fileURLToPath(url), file).catch((cause) => {
      throw new ServerError(`${what} lies on the server's own disk, at ${fileURLToPath(url)}.`, {
        hint: 'Copy it from there.',
        cause,
      })
    })
    return
  }
  const own = url.origin === new URL(connection.transport.base).origin
  const request = { method: 'GET', path: url.href, signal, timeoutMs: downloadMs, own } as const
  const reply = await connection.transport.stream(request, async (_, body) => {
    await pipeline(body, createWriteStream(file), { signal }).catch((cause) => {
      if (cause.code === 'ENOSPC' || cause.code === 'EACCES' || cause.code === 'ENOENT')
        throw new UserError(`${file} cannot be written: ${messageOf(cause)}.`, { cause })
      throw cause
    })
  })
  accept(reply, { what, transport: connection.transport })
}

function unlisted({ transport, profile }: Connection): UserError {
  return new UserError(
    `${transport.url} does not give checkpoints out: ${profile.dialect} servers keep them.`,
  )
}
