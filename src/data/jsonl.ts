/** JSON Lines: one JSON object a line. */
import { createReadStream } from 'node:fs'
import type { z } from 'zod'
import { DataError, messageOf } from '../core/errors.js'

/**
 * Yields the records of a file one by one. A byte-order mark, CRLF line ends and blank lines are passed over. Throws
 * DataError naming file, line and key where the file cannot be read, a line is no JSON or the schema refuses it.
 */
export async function* readJsonl<T>(path: string, schema: z.ZodType<T>): AsyncGenerator<T> {
  let number = 0
  for await (const line of readLines(path)) {
    number++
    if (line.trim() === '') continue
    yield checkRecord(parseLine(line, `${path}:${number}`), schema, `${path}:${number}`)
  }
}

/** All records of a file. Throws DataError where there are none; `what` names them in the plural. */
export async function loadJsonl<T>(path: string, schema: z.ZodType<T>, what: string): Promise<T[]> {
  const records: T[] = []
  for await (const record of readJsonl(path, schema)) records.push(record)
  if (records.length > 0) return records
  throw new DataError(`${path} holds no ${what}.`, { hint: 'Each line must hold one JSON object.' })
}

/** Checks a parsed record; `where` names its place for the error. */
export function checkRecord<T>(record: unknown, schema: z.ZodType<T>, where: string): T {
  const result = schema.safeParse(record)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const key = `key "${path.join('.')}"`
  const value = path.reduce<unknown>((at, name) => (at as Record<PropertyKey, unknown>)?.[name], record)
  const fault = path.length === 0 ? message : value === undefined ? `${key} is missing` : `${key}: ${message}`
  throw new DataError(`${where}: ${fault}.`, { hint: keysFound(record), cause: result.error })
}

/** The error of a file or folder that cannot be read. */
export function unreadable(path: string, cause: unknown): DataError {
  const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
  return new DataError(missing ? `${path} does not exist.` : `${path} cannot be read: ${messageOf(cause)}.`, {
    hint: 'Check the path: one on the command line starts from the working folder, one in a run file from the folder of that file.',
    cause,
  })
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new DataError(`${where}: the line is not JSON: ${messageOf(cause)}.`, {
      hint: 'Each line must hold one JSON object and nothing else.',
      cause,
    })
  }
}

function keysFound(record: unknown): string {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return 'Each line must hold one JSON object.'
  }
  return `The keys found there are: ${Object.keys(record).join(', ') || 'none'}.`
}

/** Splits on line feeds alone: JSON strings may hold every other separator that Unicode knows. */
async function* readLines(path: string): AsyncGenerator<string> {
  let begun: string[] = []
  let first = true
  try {
    for await (const chunk of createReadStream(path, 'utf8')) {
      const text: string = first ? chunk.replace(/^\uFEFF/, '') : chunk
      first = false
      const [head = '', ...lines] = text.split('\n')
      begun.push(head)
      for (const line of lines) {
        yield begun.join('')
        begun = [line]
      }
    }
  } catch (cause) {
    throw unreadable(path, cause)
  }
  if (begun.length > 0) yield begun.join('')
}
