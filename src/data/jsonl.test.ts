import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { DataError } from '../core/errors.js'
import { loadJsonl, readJsonl } from './jsonl.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-jsonl-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function file(content: string): string {
  const path = join(folder, `${files++}.jsonl`)
  writeFileSync(path, content)
  return path
}

const anything = z.unknown()
const record = z.strictObject({ name: z.string(), turns: z.array(z.object({ n: z.number() })) })

async function errorOf(path: string, schema: z.ZodType = record): Promise<DataError> {
  const error: unknown = await loadJsonl(path, schema, 'records').catch((cause) => cause)
  expect(error).toBeInstanceOf(DataError)
  return error as DataError
}

describe('readJsonl', () => {
  it('reads back whatever JSON was written, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { minLength: 1 }),
        fc.constantFrom('\n', '\r\n'),
        async (values, end) => {
          const path = file(values.map((value) => JSON.stringify(value)).join(end))
          expect(await loadJsonl(path, anything, 'values')).toEqual(JSON.parse(JSON.stringify(values)))
        },
      ),
      { numRuns: 50 },
    )
  })

  it('passes over a byte-order mark and blank lines, and keeps other separators of Unicode', async () => {
    const path = file('\uFEFF{"a":1}\r\n\r\n  \n{"a":"x\u2028y"}\n\n')
    expect(await loadJsonl(path, anything, 'values')).toEqual([{ a: 1 }, { a: 'x\u2028y' }])
  })

  it('reads lines longer than a chunk of the file, and characters across chunks', async () => {
    const long = '日'.repeat(100_000)
    const path = file(`{"a":"${long}"}\n{"a":1}`)
    expect(await loadJsonl(path, anything, 'values')).toEqual([{ a: long }, { a: 1 }])
  })

  it('yields good records before it meets a bad one', async () => {
    const seen: unknown[] = []
    const read = async () => {
      for await (const value of readJsonl(file('1\n2\n{'), anything)) seen.push(value)
    }
    await expect(read()).rejects.toThrow(DataError)
    expect(seen).toEqual([1, 2])
  })

  it('names file and line of what is no JSON', async () => {
    const path = file('{"name":"a","turns":[]}\n\n{"name": "cut o')
    expect((await errorOf(path)).message).toContain(`${path}:3: the line is not JSON`)
  })

  it('names file, line and key of what the schema refuses, and the keys that are there', async () => {
    const path = file('{"name":"a","turns":[{"n":1},{"n":"two"}]}')
    const error = await errorOf(path)
    expect(error.message).toContain(`${path}:1: key "turns.1.n": `)
    expect(error.hint).toBe('The keys found there are: name, turns.')
    expect((await errorOf(file('[1]'))).hint).toBe('Each line must hold one JSON object.')
  })

  it.each([
    ['empty', ''],
    ['blank', '\n \r\n'],
  ])('needs records: %s file', async (_, content) => {
    const path = file(content)
    expect((await errorOf(path)).message).toBe(`${path} holds no records.`)
  })

  it('names what is missing or no file', async () => {
    expect((await errorOf(join(folder, 'absent.jsonl'))).message).toContain('absent.jsonl does not exist')
    expect((await errorOf(folder)).message).toContain(`${folder} cannot be read`)
  })
})
