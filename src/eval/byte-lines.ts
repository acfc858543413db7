import { createReadStream } from 'node:fs'

export interface ByteLine {
  /** The line without its line feed. */
  line: Buffer
  /** Offset that it starts at. */
  start: number
  /** False for what stands behind the last line feed. */
  ended: boolean
}

/** Lines of a file as bytes, so that one can be read again where it lies. What stands behind the last line feed is given if there is any. */
export async function* byteLines(path: string): AsyncGenerator<ByteLine> {
  let begun: Buffer[] = []
  let start = 0
  let read = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield { line: Buffer.concat([...begun, chunk.subarray(from, at)]), start, ended: true }
      begun = []
      from = at + 1
      start = read + from
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
    read += chunk.length
  }
  if (begun.length > 0) yield { line: Buffer.concat(begun), start, ended: false }
}
