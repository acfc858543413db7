/**
 * The results file of a finished evaluation: one JSON object, written so that its head (settings, report, problems) can
 * be read without its samples, which may be gigabytes. Every problem and every sample has a line of its own.
 */
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DataError, messageOf } from '../core/errors.js'
import { byteLines } from './byte-lines.js'
import type { ProblemRow, Report } from './report.js'
import type { EvalSettings } from './settings.js'

const FORMAT = 'sparring evaluation 1'

export interface ResultsHead {
  /** Version of Sparring that graded. */
  sparring: string
  settings: EvalSettings
  /** When it was finished, ISO 8601 in UTC; not in files of earlier versions. */
  date?: string
  /** What is worth saying about the data and the asking, one sentence each. */
  notes: string[]
  report: Report
  problems: (ProblemRow & { problem?: string })[]
}

export interface SampleLine {
  /** Id of the problem. */
  problem: string
  sample: number
  right: boolean
  extracted: string | null
  reason: string
  tokens: number
  stop: string
  text: string
}

/** The line that ends the head. */
const SAMPLES = '"samples":['

/** Writes the whole file beside its place, then gives it its name: it is there whole or not at all. */
export async function writeResults(
  path: string,
  { problems, ...head }: ResultsHead,
  samples: AsyncIterable<SampleLine>,
): Promise<void> {
  const part = `${path}.${process.pid}.part`
  try {
    const file = await open(part, 'w')
    try {
      const fields = Object.entries({ format: FORMAT, ...head })
      const lines = fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},\n`)
      await file.appendFile(`{\n${lines.join('')}"problems":[\n`)
      await writeItems(file, problems)
      await file.appendFile(`],\n${SAMPLES}\n`)
      await writeItems(file, samples)
      await file.appendFile(']\n}\n')
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
    await syncFolder(dirname(path))
  } finally {
    await rm(part, { force: true })
  }
}

/** Undefined where there is no file; throws DataError where it is no results file. */
export async function readResults(path: string): Promise<ResultsHead | undefined> {
  if (!existsSync(path)) return undefined
  const notOne = (cause?: unknown) =>
    new DataError(`${path} is no results file of sparring eval${cause ? `: ${messageOf(cause)}` : ''}.`, {
      hint: 'Name a file that it wrote, or another one to write.',
      cause,
    })
  const lines: string[] = []
  try {
    for await (const { line } of byteLines(path)) {
      const text = line.toString('utf8')
      lines.push(text)
      if (text === SAMPLES) return checked(JSON.parse(`${lines.join('\n')}]}`), notOne)
    }
    // A tool may have written it anew in another shape.
    return checked(JSON.parse(lines.join('\n')), notOne)
  } catch (cause) {
    throw cause instanceof DataError ? cause : notOne(cause)
  }
}

function checked(value: unknown, notOne: () => DataError): ResultsHead {
  const { format, samples: _, ...head } = value as ResultsHead & { format?: unknown; samples?: unknown }
  if (format !== FORMAT) throw notOne()
  return head
}

async function writeItems(file: FileHandle, items: AsyncIterable<object> | Iterable<object>): Promise<void> {
  let separator = ''
  let waiting: string[] = []
  let size = 0
  const flush = async () => {
    await file.appendFile(waiting.join(''))
    waiting = []
    size = 0
  }
  for await (const item of items) {
    const text = `${separator}${JSON.stringify(item)}`
    separator = ',\n'
    waiting.push(text)
    size += text.length
    if (size > 2 ** 20) await flush()
  }
  if (separator !== '') waiting.push('\n')
  await flush()
}

/** Windows cannot open a folder, and does not need it synced. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
