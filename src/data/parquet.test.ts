import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DataError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import { readParquetColumn } from './parquet.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-parquet-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Written by pyarrow: 20 rows in groups of 8, columns title, text, tokens. */
const fixture = (compression: string) =>
  join(projectRoot(), 'src/data/fixtures', `texts-${compression}.parquet`)

async function column(path: string, name: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of readParquetColumn(path, name)) values.push(value)
  return values
}

async function errorOf(path: string, name = 'text'): Promise<DataError> {
  const error: unknown = await column(path, name).catch((cause) => cause)
  expect(error).toBeInstanceOf(DataError)
  return error as DataError
}

describe('readParquetColumn', () => {
  it.each(['snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'none'])(
    'reads all row groups: %s',
    async (compression) => {
      const texts = await column(fixture(compression), 'text')
      expect(texts.slice(0, 5)).toEqual([
        "Fermat's little theorem",
        null,
        'Größen und Maße: 3 € 日本 😀',
        '',
        'x'.repeat(400),
      ])
      expect(texts.slice(5)).toEqual(Array.from({ length: 15 }, (_, i) => `text number ${i}`))
    },
  )

  it('reads columns that are no text', async () => {
    expect((await column(fixture('snappy'), 'tokens')).map(Number)).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    )
  })

  it('names the nearest column', async () => {
    const error = await errorOf(fixture('snappy'), 'Texts')
    expect(error.message).toContain('has no column "Texts"')
    expect(error.hint).toBe('Did you mean "text"? Its columns are: title, text, tokens.')
  })

  it('tells what is no Parquet file, damaged or missing', async () => {
    const page = join(folder, 'page.parquet')
    writeFileSync(page, '<html>not found</html>')
    expect((await errorOf(page)).message).toContain(`${page} is not a Parquet file`)

    const empty = join(folder, 'empty.parquet')
    writeFileSync(empty, '')
    expect((await errorOf(empty)).message).toContain(`${empty} is not a Parquet file`)

    const damaged = join(folder, 'damaged.parquet')
    const bytes = readFileSync(fixture('zstd'))
    writeFileSync(damaged, bytes.fill(0xff, 4, 1200))
    expect((await errorOf(damaged)).message).toContain(`${damaged} is damaged`)

    expect((await errorOf(join(folder, 'absent.parquet'))).message).toContain('absent.parquet does not exist')
  })
})
