/** Append-only files of one JSON object a line. A process that dies while it writes leaves half a line at the end. */
import { readFile } from 'node:fs/promises'
import type { Disk } from './disk.js'

export interface Line {
  text: string
  /** Byte offset where the line starts. */
  start: number
}

/** Complete lines of a file; none where the file does not exist. `end` is where half a line begins, or the file's size. */
export async function readLines(path: string): Promise<{ lines: Line[]; end: number; size: number }> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
  const lines: Line[] = []
  let start = 0
  for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, start)) {
    lines.push({ text: bytes.toString('utf8', start, stop), start })
    start = stop + 1
  }
  return { lines, end: start, size: bytes.length }
}

/** Cuts a file before the first line that is not to be kept, and always the half line at its end. Returns what is left. */
export async function cutLines(disk: Disk, path: string, keep: (text: string) => boolean): Promise<string[]> {
  const { lines, end, size } = await readLines(path)
  const stop = lines.findIndex(({ text }) => !keep(text))
  const cut = stop < 0 ? end : lines[stop]!.start
  if (cut < size) await disk.truncate(path, cut)
  return lines.slice(0, stop < 0 ? lines.length : stop).map(({ text }) => text)
}

/** One line of JSON; NaN and infinities become null. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

/** The object a line holds, or undefined where it is not JSON. */
export function parseLine(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
