/** Rows of JSONL, CSV and Parquet files as objects. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { z } from 'zod'
import { DataError, messageOf } from '../../core/errors.js'
import { readJsonl, unreadable } from '../../data/jsonl.js'
import { readParquetColumn } from '../../data/parquet.js'

export type Row = Record<string, unknown>

/** Yields the rows of a file; of a Parquet file only the named columns. Throws DataError where it cannot be read. */
export function readRows(path: string, columns: string[]): AsyncIterable<Row> {
  const extension = extname(path)
  if (extension === '.parquet') return parquetRows(path, columns)
  if (extension === '.csv') return csvRows(path)
  return readJsonl(path, z.looseObject({}))
}

async function* parquetRows(path: string, columns: string[]): AsyncGenerator<Row> {
  const values = columns.map((column) => readParquetColumn(path, column))
  for (;;) {
    const cells = await Promise.all(values.map((each) => each.next()))
    if (cells.some(({ done }) => done)) return
    yield Object.fromEntries(columns.map((column, i) => [column, cells[i]!.value]))
  }
}

async function* csvRows(path: string): AsyncGenerator<Row> {
  const { parse } = await import('csv-parse/sync')
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw unreadable(path, cause)
  })
  try {
    yield* parse(text, { columns: true, bom: true, skip_empty_lines: true }) as Row[]
  } catch (cause) {
    throw new DataError(`${path} is no CSV file: ${messageOf(cause)}.`, {
      hint: 'Fetch the file again.',
      cause,
    })
  }
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}
