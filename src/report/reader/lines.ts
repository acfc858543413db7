/** Lines of a file that may be large, growing, and written by another process. */
import type { FileHandle } from 'node:fs/promises'

const CHUNK = 1 << 20

/** A longer line is damage: a rollout of 100,000 tokens has a few MB. */
export const LONGEST_LINE = 1 << 25

export interface RawLine {
  /** Valid until the callback returns. Undefined for a line over LONGEST_LINE. */
  bytes: Buffer | undefined
  /** Byte offset in the file. */
  start: number
  /** Without the line's end. */
  length: number
}

/**
 * Calls back for every complete line from byte `from` on, as far as the file reaches now, and returns where the half line at
 * the end begins. Lets other work in between chunks.
 */
export async function eachLine(
  file: FileHandle,
  from: number,
  onLine: (line: RawLine) => void,
): Promise<number> {
  const { size } = await file.stat()
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(0, size - from)))
  /** What earlier chunks hold of the line that begins at `start`; dropped where it gets too long. */
  let held: Buffer[] = []
  let heldBytes = 0
  let start = from
  for (let at = from; at < size; ) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
    if (bytesRead === 0) break
    const bytes = chunk.subarray(0, bytesRead)
    let begin = 0
    for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, begin)) {
      const tail = bytes.subarray(begin, stop)
      const length = heldBytes + tail.length
      const whole = heldBytes === 0 ? tail : Buffer.concat([...held, tail])
      onLine({ bytes: length > LONGEST_LINE ? undefined : whole, start, length })
      start += length + 1
      begin = stop + 1
      held = []
      heldBytes = 0
    }
    heldBytes += bytesRead - begin
    if (heldBytes > LONGEST_LINE) held = []
    else if (begin < bytesRead) held.push(Buffer.from(bytes.subarray(begin)))
    at += bytesRead
  }
  return start
}

/** The object that a line holds, or undefined where it is damaged. */
export function parseObject(bytes: Buffer | string | undefined): Record<string, unknown> | undefined {
  if (bytes === undefined) return undefined
  try {
    const value = JSON.parse(typeof bytes === 'string' ? bytes : bytes.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

const LENGTHS = Buffer.from(',"token_lengths":[')
const LOGPROBS = Buffer.from('],"token_logprobs":[')
const CLOSE = 0x5d

/**
 * As `parseObject`, without the numbers of each token: they are most of a rollout's line, and an index has no use for them. A
 * text cannot be taken for them, since quotes in a text have backslashes before them.
 */
export function parseWithoutTokens(bytes: Buffer | undefined): Record<string, unknown> | undefined {
  const start = bytes?.indexOf(LENGTHS) ?? -1
  if (bytes === undefined || start < 0) return parseObject(bytes)
  const between = bytes.indexOf(CLOSE, start)
  const next = between + LOGPROBS.length
  if (between < 0 || !bytes.subarray(between, next).equals(LOGPROBS)) return parseObject(bytes)
  const end = bytes.indexOf(CLOSE, next)
  if (end < 0) return undefined
  return parseObject(bytes.toString('utf8', 0, start) + bytes.toString('utf8', end + 1))
}
