import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, DataError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import { randomStream } from '../core/random.js'
import { type KnowledgeOptions, loadKnowledge } from './knowledge.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-knowledge-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const lines = (...texts: (string | null)[]) => texts.map((text) => JSON.stringify({ text, id: 1 })).join('\n')
const countTokens = (text: string) => text.split(' ').length

async function errorOf(path: string, options?: KnowledgeOptions): Promise<DataError> {
  const error: unknown = await loadKnowledge(path, options).catch((cause) => cause)
  expect(error).toBeInstanceOf(DataError)
  return error as DataError
}

describe('loadKnowledge', () => {
  it('reads JSONL, JSON and Parquet', async () => {
    const jsonl = await loadKnowledge(file('a.jsonl', lines('one', 'two')))
    expect(jsonl.texts).toEqual(['one', 'two'])
    const json = await loadKnowledge(file('a.json', '[{"body":"three"},{"body":"four"}]'), { column: 'body' })
    expect(json.texts).toEqual(['three', 'four'])
    const parquet = await loadKnowledge(join(projectRoot(), 'src/data/fixtures/texts-snappy.parquet'))
    expect(parquet.texts.length).toBe(18)
    expect(parquet.dropped).toEqual({ blank: 2, tooLong: 0 })
  })

  it('reads all files of a folder by name and nothing else', async () => {
    const base = join(folder, 'base')
    mkdirSync(join(base, 'deeper'), { recursive: true })
    writeFileSync(join(base, 'b.jsonl'), lines('second'))
    writeFileSync(join(base, 'a.json'), '[{"text":"first"}]')
    writeFileSync(join(base, 'README.md'), 'none')
    copyFileSync(
      join(projectRoot(), 'src/data/fixtures/texts-none.parquet'),
      join(base, 'deeper', 'c.parquet'),
    )
    const { texts } = await loadKnowledge(base)
    expect(texts.slice(0, 3)).toEqual(['first', 'second', "Fermat's little theorem"])
    expect(texts.length).toBe(20)
  })

  it('drops texts that are blank or beyond the token limit, and counts them', async () => {
    const path = file('limit.jsonl', lines('a b', 'a b c', '', null, '  ', 'a b c d'))
    const { texts, dropped } = await loadKnowledge(path, { maxTokens: 3, countTokens })
    expect(texts).toEqual(['a b', 'a b c'])
    expect(dropped).toEqual({ blank: 3, tooLong: 1 })
  })

  it('refuses an empty result with the counts', async () => {
    const path = file('none.jsonl', lines('a b c', 'a b', ''))
    const { message } = await errorOf(path, { maxTokens: 1, countTokens })
    expect(message).toBe(`${path} holds no usable knowledge text: 1 blank and 2 longer than 1 tokens.`)
    expect((await errorOf(file('empty.jsonl', ''))).message).toContain('0 blank')
    expect((await errorOf(file('empty.json', '[]'))).message).toContain('0 blank')
  })

  it('refuses what holds no texts, and says where', async () => {
    const other = file('other.jsonl', '{"content":"x"}')
    expect((await errorOf(other)).message).toContain(`${other}:1: key "text"`)
    expect((await errorOf(other)).hint).toContain('content')
    expect((await errorOf(file('bad.json', '[{"text":1}]'))).message).toContain(
      'bad.json, record 1: key "text"',
    )
    expect((await errorOf(file('object.json', '{}'))).message).toContain('does not hold an array')
    expect((await errorOf(file('broken.json', '[{'))).message).toContain('is not JSON')
    expect((await errorOf(file('texts.csv', 'x'))).message).toContain('of no kind')
    expect((await errorOf(join(folder, 'absent'))).message).toContain('does not exist')
    const parquet = join(projectRoot(), 'src/data/fixtures/texts-none.parquet')
    expect((await errorOf(parquet, { column: 'tokens' })).message).toContain(
      'row 1: column "tokens" holds no text',
    )
    mkdirSync(join(folder, 'bare'))
    expect((await errorOf(join(folder, 'bare'))).message).toContain('holds no knowledge files')
  })

  it('cannot limit tokens without a way to count them', async () => {
    await expect(loadKnowledge(file('b.jsonl', lines('x')), { maxTokens: 3 })).rejects.toThrow(ConfigError)
  })

  it('draws uniformly with replacement, the same for the same stream', async () => {
    const base = await loadKnowledge(file('draw.jsonl', lines('a', 'b', 'c', 'd')))
    const draws = (seed: number) => {
      const stream = randomStream(seed, 'knowledge')
      return Array.from({ length: 2000 }, () => base.draw(stream))
    }
    expect(draws(1)).toEqual(draws(1))
    expect(draws(1)).not.toEqual(draws(2))
    for (const text of base.texts) {
      const count = draws(1).filter((drawn) => drawn === text).length
      expect(Math.abs(count - 500)).toBeLessThan(100)
    }
  })
})
