import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { disk } from './disk.js'
import { Journal, type JournalRecord } from './journal.js'

const record = (round: number): JournalRecord => ({
  kind: 'round',
  round,
  versions: { solver: round },
  state: 'é"}',
})

async function written() {
  const path = join(temporaryFolder(), 'journal.jsonl')
  const journal = new Journal(disk, path)
  await journal.append([record(0), record(1)])
  await journal.append([record(2)])
  const lines = () => readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return { path, journal, lines, reopen: () => new Journal(disk, path) }
}

describe('the journal', () => {
  it('gives back what was written', async () => {
    const { reopen } = await written()
    expect(await reopen().read()).toEqual({
      records: [record(0), record(1), record(2)],
      corruptLine: undefined,
    })
  })

  it('is empty before anything was written', async () => {
    const journal = new Journal(disk, join(temporaryFolder(), 'journal.jsonl'))
    expect(await journal.read()).toEqual({ records: [], corruptLine: undefined })
  })

  it('passes over half a line at its end, and cuts it', async () => {
    const { path, lines, reopen } = await written()
    appendFileSync(path, '{"kind":"round","ro')
    const journal = reopen()
    expect((await journal.read()).records).toHaveLength(3)
    await journal.cut(3)
    expect(lines()).toHaveLength(3)
    await journal.append([record(3)])
    expect(await reopen().read()).toMatchObject({ records: { length: 4 }, corruptLine: undefined })
  })

  it('goes on from a cut as if what followed had never been', async () => {
    const { path, lines, reopen } = await written()
    const undisturbed = lines()
    const journal = reopen()
    await journal.cut(1)
    await journal.append([record(1), record(2)])
    expect(lines()).toEqual(undisturbed)
    expect(readFileSync(path, 'utf8').endsWith('}\n')).toBe(true)
  })

  it.each<[string, (lines: string[]) => string[]]>([
    ['a changed record', ([a, b, c]) => [a!, b!.replace('"round":1', '"round":7'), c!]],
    ['a lost record', ([a, , c]) => [a!, c!]],
    ['swapped records', ([a, b, c]) => [a!, c!, b!]],
    ['a record that is no JSON', ([a, , c]) => [a!, 'zzz', c!]],
  ])('finds %s', async (_, damage) => {
    const { path, lines, reopen } = await written()
    writeFileSync(
      path,
      damage(lines())
        .map((line) => `${line}\n`)
        .join(''),
    )
    expect(await reopen().read()).toEqual({ records: [record(0)], corruptLine: 2 })
  })
})
