/** Columns of a Parquet file, row group by row group. The reader is loaded when it is first needed. */
import { DataError, messageOf } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { unreadable } from './jsonl.js'

/**
 * Yields the values of a top-level column in order; nulls stay null. Snappy, gzip, zstd, brotli and lz4 are decoded.
 * Throws DataError where the file is no Parquet file, is damaged or has no such column.
 */
export async function* readParquetColumn(path: string, column: string): AsyncGenerator<unknown> {
  for await (const row of readParquetRows(path, [column])) yield row[column]
}

/** Yields the rows in order, each with these top-level columns. Throws as `readParquetColumn` does. */
export async function* readParquetRows(
  path: string,
  wanted: readonly string[],
): AsyncGenerator<Record<string, unknown>> {
  const { parquetReadObjects } = await import('hyparquet')
  const { compressors } = await import('hyparquet-compressors')
  const { file, metadata, columns } = await openParquet(path)
  const missing = wanted.find((column) => !columns.includes(column))
  if (missing !== undefined) throw noColumn(path, missing, columns)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const options = { file, metadata, compressors, columns: [...wanted], rowStart, rowEnd }
    const rows = await parquetReadObjects(options).catch((cause) => {
      throw new DataError(`${path} is damaged: ${messageOf(cause)}.`, {
        hint: 'Fetch the file again.',
        cause,
      })
    })
    yield* rows
    rowStart = rowEnd
  }
}

/** Names of the top-level columns. Throws as `readParquetColumn` does. */
export async function parquetColumns(path: string): Promise<string[]> {
  return (await openParquet(path)).columns
}

async function openParquet(path: string) {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetSchema } = await import('hyparquet')
  const file = await asyncBufferFromFile(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  const metadata = await parquetMetadataAsync(file).catch((cause) => {
    throw new DataError(`${path} is not a Parquet file: ${messageOf(cause)}.`, {
      hint: 'Fetch the file again; a Git LFS pointer or a saved web page are often mistaken for it.',
      cause,
    })
  })
  return { file, metadata, columns: parquetSchema(metadata).children.map((child) => child.element.name) }
}

function noColumn(path: string, column: string, columns: string[]): DataError {
  const near = nearest(column, columns)
  return new DataError(`${path} has no column "${column}".`, {
    hint: `${near ? `Did you mean "${near}"? ` : ''}Its columns are: ${columns.join(', ')}.`,
  })
}
