/**
 * The results file of a finished evaluation: one JSON object, written so that its head (settings, report, problems) can
 * be read without its samples, which may be gigabytes. Every problem and every sample has a line of its own.
 */
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ZodError } from 'zod'
import { DataError, messageOf } from '../core/errors.js'
import { syncFolder } from '../core/folders.js'
import { byteLines } from './byte-lines.js'
import { Recount } from './recount.js'
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

/**
 * Head of the file, its report taken anew from the samples, which are read one by one. Undefined where there is no file;
 * throws DataError where it is no results file or contradicts itself.
 */
export async function readResults(path: string): Promise<ResultsHead | undefined> {
  if (!existsSync(path)) return undefined
  const recount = new Recount()
  let result: ResultsHead | string
  try {
    const { format, samples, ...head } = await readParts(path, recount)
    for (const sample of samples) recount.add(sample)
    if (format !== FORMAT) throw new Error(`its format is not ${FORMAT}`)
    result = await recount.check(head)
  } catch (cause) {
    throw new DataError(`${path} is no results file of sparring eval: ${reasonOf(cause)}.`, {
      hint: 'Name a file that it wrote, or another one to write.',
      cause,
    })
  }
  if (typeof result !== 'string') return result
  throw new DataError(`${path} contradicts itself: ${result}.`, {
    hint: 'It was changed after it was written; delete it and evaluate anew.',
  })
}

type Parts = ResultsHead & { format?: unknown; samples: unknown[] }

/** Samples on lines of their own go to the recount; those of a file that a tool wrote in another shape are returned. */
async function readParts(path: string, recount: Recount): Promise<Parts> {
  const lines: string[] = []
  let within = false
  for await (const { line } of byteLines(path)) {
    const text = line.toString('utf8')
    if (within && text === ']') within = false
    if (within) recount.add(JSON.parse(text.replace(/,$/, '')))
    else lines.push(text)
    if (text === SAMPLES) within = true
  }
  return JSON.parse(lines.join('\n'))
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof ZodError)) return messageOf(cause)
  const { path, message } = cause.issues[0]!
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
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
