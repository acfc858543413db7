/** Metrics as CSV (RFC 4180 with line feeds): a row a round, a column a metric. */
import { stageFile } from '../../engine/hf/files.js'
import type { Source } from './source.js'

/** Rows that are written at once. */
const BATCH = 256

/** A metric that a round does not tell is an empty field, one that was not finite NaN. Rows written. */
export async function writeCsv({ metrics }: Source, path: string): Promise<number> {
  const { names, rows } = metrics
  const cell = (name: string, row: number) => {
    const value = metrics.written(name, row)
    return value === undefined ? '' : String(value ?? Number.NaN)
  }
  const line = (row: number) => [metrics.round(row), ...names.map((name) => cell(name, row))].join()
  const file = await stageFile(path, async (write) => {
    await write(Buffer.from(`${['step', ...names].map(quoted).join()}\n`))
    for (let from = 0; from < rows; from += BATCH) {
      const count = Math.min(BATCH, rows - from)
      const lines = Array.from({ length: count }, (_, i) => `${line(from + i)}\n`)
      await write(Buffer.from(lines.join('')))
    }
  })
  await file.publish()
  return rows
}

function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}
