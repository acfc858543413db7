/** Every text of the files that a model learns from, one after another. */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { DataError, messageOf } from '../core/errors.js'
import { unreadable } from '../data/jsonl.js'
import { parquetColumns } from '../data/parquet.js'
import { readRows } from './benchmarks/rows.js'
import type { TextPiece } from './contamination.js'

type Reader = (path: string) => AsyncIterable<TextPiece>

const readers: Record<string, Reader> = {
  '.jsonl': textsOfRows,
  '.parquet': textsOfRows,
  '.csv': textsOfRows,
  '.json': textsOfJson,
  '.txt': textsOfPlain,
  '.md': textsOfPlain,
  '.tex': textsOfPlain,
}

/**
 * The files of a folder and its subfolders by name, or the file itself. Throws DataError where there is none that can
 * be read.
 */
export async function textFiles(path: string): Promise<string[]> {
  const status = await stat(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  const kinds = Object.keys(readers).join(', ')
  if (status.isDirectory()) {
    const names = (await readdir(path, { recursive: true })).filter((name) => extname(name) in readers)
    if (names.length > 0) return names.sort().map((name) => join(path, name))
    throw new DataError(`The folder ${path} holds no texts.`, { hint: `Texts end in ${kinds}.` })
  }
  if (extname(path) in readers) return [path]
  throw new DataError(`${path} is of no kind that texts can be read from.`, {
    hint: `Texts end in ${kinds}.`,
  })
}

/**
 * Of a record or row, every string in it is a text: conversations, solutions and knowledge alike. A plain file is one
 * text, in pieces of a line.
 */
export function readTexts(path: string): AsyncIterable<TextPiece> {
  return readers[extname(path)]!(path)
}

async function* textsOfRows(path: string): AsyncGenerator<TextPiece> {
  const columns = extname(path) === '.parquet' ? await parquetColumns(path) : []
  let record = 0
  for await (const row of readRows(path, columns)) yield* pieces(row, path, ++record)
}

async function* textsOfJson(path: string): AsyncGenerator<TextPiece> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw unreadable(path, cause)
  })
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    throw new DataError(`${path} is not JSON: ${messageOf(cause)}.`, {
      hint: 'One object a line belongs into a .jsonl file.',
      cause,
    })
  }
  for (const [i, record] of (Array.isArray(value) ? value : [value]).entries())
    yield* pieces(record, path, i + 1)
}

function* pieces(value: unknown, path: string, record: number): Generator<TextPiece> {
  const id = (value as { id?: unknown } | null)?.id
  const place = { path, record, ...((typeof id === 'string' || typeof id === 'number') && { id: `${id}` }) }
  for (const text of stringsIn(value)) yield { text, place }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* stringsIn(inner)
  }
}

/** Longest stretch without a space that is waited for, in characters. */
const LONGEST_WORD = 2 ** 16

async function* textsOfPlain(path: string): AsyncGenerator<TextPiece> {
  let line = 1
  let rest = ''
  let continues = false
  const piecesOf = function* (text: string): Generator<TextPiece> {
    for (const [i, each] of text.split('\n').entries()) {
      if (i > 0) line++
      yield { text: each, place: { path, line }, continues }
      continues = true
    }
  }
  try {
    for await (const chunk of createReadStream(path, 'utf8')) {
      const text: string = rest + chunk
      const space = Math.max(...[' ', '\n', '\t'].map((each) => text.lastIndexOf(each)))
      const cut = space < 0 && text.length > LONGEST_WORD ? text.length : space + 1
      rest = text.slice(cut)
      yield* piecesOf(text.slice(0, cut))
    }
  } catch (cause) {
    throw unreadable(path, cause)
  }
  yield* piecesOf(rest)
}
