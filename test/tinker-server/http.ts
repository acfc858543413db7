/** Bytes in and out: bodies with their encodings, answers in JSON or protobuf, and answers that went wrong. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { compressors } from 'hyparquet-compressors'
import { protobufType } from '../../src/tinker/wire.js'
import { Refusal } from './errors.js'

export interface Reply {
  status: number
  headers?: Record<string, string>
  /** JSON, unless it is bytes. */
  body?: unknown
  /** Told as an exception is: see `sendCrash`. */
  crash?: boolean
}

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export function isProtobuf(type: string | undefined): boolean {
  return (type ?? '').toLowerCase().includes(protobufType)
}

/** Undoes zstd. Throws a Refusal where it is not allowed, too large or broken. */
export function decompressed(
  bytes: Buffer,
  request: IncomingMessage,
  allowed: boolean,
  limit: number,
): Buffer {
  const encoding = request.headers['content-encoding']?.toLowerCase().trim()
  if (!encoding) return bytes
  if (encoding !== 'zstd' || !allowed || !isProtobuf(request.headers['content-type']))
    throw new Refusal(415, `Unsupported content encoding: ${encoding}`)
  const size = zstdContentSize(bytes)
  if (size !== undefined && size > limit)
    throw new Refusal(413, 'Decompressed forward_backward body is too large')
  let out: Uint8Array
  try {
    out = compressors.ZSTD!(bytes, size ?? 0)
  } catch (error) {
    throw new Refusal(422, `Invalid zstd forward_backward body: ${(error as Error).message}`)
  }
  if (out.length > limit) throw new Refusal(413, 'Decompressed forward_backward body is too large')
  return Buffer.from(out)
}

/** Content size that the frame header declares (RFC 8878, section 3.1.1.1). */
function zstdContentSize(frame: Buffer): number | undefined {
  if (frame.length < 14 || frame.readUInt32LE(0) !== 0xfd2fb528) return undefined
  const descriptor = frame[4]!
  const single = (descriptor & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3]!
  const at = 5 + (single ? 0 : 1) + dictionaryBytes
  switch (descriptor >> 6) {
    case 0:
      return single ? frame[at] : undefined
    case 1:
      return frame.readUInt16LE(at) + 256
    case 2:
      return frame.readUInt32LE(at)
    default:
      return Number(frame.readBigUInt64LE(at))
  }
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.length > 0 ? bytes.toString('utf8') : 'null')
  } catch (error) {
    throw new Refusal(422, [{ type: 'json_invalid', loc: ['body'], msg: (error as Error).message }])
  }
}

/** The answer's bytes and their type. */
export function encoded(body: unknown): { bytes: Buffer; type: string } {
  if (body instanceof Uint8Array) return { bytes: Buffer.from(body), type: protobufType }
  return { bytes: Buffer.from(JSON.stringify(body ?? null)), type: 'application/json' }
}

export function send(response: ServerResponse, { status, headers = {}, body, crash }: Reply): void {
  if (response.destroyed) return
  if (crash) {
    sendCrash(response)
    return
  }
  if (status === 204 || (body === undefined && status >= 300 && status < 400)) {
    response.writeHead(status, headers).end()
    return
  }
  const { bytes, type } = encoded(body)
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, ...headers })
  response.end(bytes)
}

/** Connections that end with the next request on them. */
const ending = new WeakSet<Socket>()

/** What uvicorn makes of an exception: a 500 as text that says nothing of the connection's end. */
export function sendCrash(response: ServerResponse): void {
  if (response.socket) ending.add(response.socket)
  response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end('Internal Server Error')
}

/** Resets the connection where it has ended for the server. */
export function isOver({ socket }: IncomingMessage): boolean {
  if (!ending.has(socket)) return false
  socket.resetAndDestroy()
  return true
}

/** A web page where an answer belongs. */
export function sendPage(response: ServerResponse, status: number): void {
  const page = '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>Starting up</body></html>'
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(page)
}

/** The first half of an answer, as if it were all of it. */
export function sendHalf(response: ServerResponse, { status, headers = {}, body }: Reply): void {
  const { bytes, type } = encoded(body)
  const half = bytes.subarray(0, Math.floor(bytes.length / 2))
  response.writeHead(status, { 'content-type': type, ...headers }).end(half)
}

/** Ends the connection while the body is on its way. */
export function hangUpInBody(response: ServerResponse, { status, body }: Reply): void {
  const { bytes, type } = encoded(body)
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length + 1 })
  response.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => response.destroy())
}
