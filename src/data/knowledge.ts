/**
 * The knowledge base K of a game: texts that say what problems may be about (methods: PasoDoble, arXiv 2511.11881,
 * external knowledge). Over-long texts are left out as a whole, never cut.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { z } from 'zod'
import { ConfigError, DataError, messageOf } from '../core/errors.js'
import type { RandomStream } from '../core/random.js'
import { checkRecord, readJsonl, unreadable } from './jsonl.js'
import { readParquetColumn } from './parquet.js'

export interface KnowledgeOptions {
  /** Key or column that holds the text. @default 'text' */
  column?: string | undefined
  /** Texts of more tokens are dropped; needs `countTokens`. No limit where absent. */
  maxTokens?: number | undefined
  countTokens?: ((text: string) => number) | undefined
}

export interface KnowledgeBase {
  /** In the order of the files and of their records. */
  texts: readonly string[]
  /** Texts left out, by reason. */
  dropped: { blank: number; tooLong: number }
  /** One text, uniformly and with replacement. */
  draw(stream: RandomStream): string
}

const extensions = ['.jsonl', '.json', '.parquet']

/**
 * Reads a .jsonl, .json (an array) or .parquet file, or all such files in a folder and its subfolders, by name. Throws
 * DataError where a file cannot be read, a record has no text or no text is left.
 */
export async function loadKnowledge(path: string, options: KnowledgeOptions = {}): Promise<KnowledgeBase> {
  const { column = 'text', maxTokens, countTokens } = options
  if (maxTokens !== undefined && countTokens === undefined) {
    throw new ConfigError('A token limit on knowledge texts needs a way to count tokens.')
  }
  const texts: string[] = []
  const dropped = { blank: 0, tooLong: 0 }
  for (const file of await filesOf(path)) {
    for await (const text of readTexts(file, column)) {
      if (text === null || text.trim() === '') dropped.blank++
      else if (maxTokens !== undefined && countTokens!(text) > maxTokens) dropped.tooLong++
      else texts.push(text)
    }
  }
  if (texts.length === 0) throw nothingLeft(path, dropped, maxTokens)
  return { texts, dropped, draw: (stream) => stream.pick(texts) }
}

async function filesOf(path: string): Promise<string[]> {
  const status = await stat(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  if (!status.isDirectory()) return [path]
  const names = (await readdir(path, { recursive: true })).filter((name) =>
    extensions.includes(extname(name)),
  )
  if (names.length > 0) return names.sort().map((name) => join(path, name))
  throw new DataError(`The folder ${path} holds no knowledge files.`, {
    hint: `Knowledge is read from files that end in ${extensions.join(', ')}.`,
  })
}

function readTexts(path: string, column: string): AsyncIterable<string | null> | Iterable<string | null> {
  const extension = extname(path)
  if (extension === '.jsonl') return textsOfJsonl(path, column)
  if (extension === '.json') return textsOfJson(path, column)
  if (extension === '.parquet') return textsOfParquet(path, column)
  throw new DataError(`${path} is of no kind that knowledge can be read from.`, {
    hint: `Give a file that ends in ${extensions.join(', ')}, or a folder of such files.`,
  })
}

const recordWith = (column: string) => z.looseObject({ [column]: z.string().nullable() })

async function* textsOfJsonl(path: string, column: string): AsyncGenerator<string | null> {
  for await (const record of readJsonl(path, recordWith(column))) yield record[column] as string | null
}

async function* textsOfJson(path: string, column: string): AsyncGenerator<string | null> {
  const schema = recordWith(column)
  for (const [i, record] of (await parseArray(path)).entries()) {
    yield checkRecord(record, schema, `${path}, record ${i + 1}`)[column] as string | null
  }
}

async function* textsOfParquet(path: string, column: string): AsyncGenerator<string | null> {
  let row = 0
  for await (const value of readParquetColumn(path, column)) {
    row++
    if (typeof value !== 'string' && value !== null && value !== undefined) {
      throw new DataError(`${path}, row ${row}: column "${column}" holds no text but a ${typeof value}.`, {
        hint: 'Name a column of strings.',
      })
    }
    yield value ?? null
  }
}

async function parseArray(path: string): Promise<unknown[]> {
  const hint =
    'A .json file of knowledge holds one array of objects; one object a line belongs into a .jsonl file.'
  try {
    const value: unknown = JSON.parse((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''))
    if (Array.isArray(value)) return value
  } catch (cause) {
    throw new DataError(`${path} is not JSON: ${messageOf(cause)}.`, { hint, cause })
  }
  throw new DataError(`${path} does not hold an array.`, { hint })
}

function nothingLeft(path: string, dropped: KnowledgeBase['dropped'], maxTokens?: number): DataError {
  const { blank, tooLong } = dropped
  const limit = maxTokens === undefined ? '' : ` and ${tooLong} longer than ${maxTokens} tokens`
  return new DataError(`${path} holds no usable knowledge text: ${blank} blank${limit}.`, {
    hint: tooLong > 0 ? 'Raise the token limit or give shorter texts.' : 'Give a file that holds texts.',
  })
}
