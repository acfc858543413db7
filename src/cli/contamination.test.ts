import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { projectRoot } from '../core/paths.js'

const problem = 'A baker sells nine loaves on each of seven days and keeps four loaves for her own family'
const other =
  'How many of the twelve lighthouses on the northern coast were still lit after the storm had passed'
const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('')

function folderWith(files: Record<string, string>): string {
  const folder = temporaryFolder()
  const all = {
    'set.jsonl': lines({ id: 'a', problem, answer: '59' }, { id: 'b', problem: other, answer: '5' }),
    ...files,
  }
  for (const [name, content] of Object.entries(all)) writeFileSync(join(folder, name), content)
  return folder
}

const run = (cwd: string, ...args: string[]) => sparring(['contamination', ...args], { cwd })
const events = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('sparring contamination', () => {
  const conversation = { id: 'c7', messages: [{ role: 'user', content: `Solve: ${problem}.` }] }

  it('says what is shared, and where', async () => {
    const cwd = folderWith({ 'train.jsonl': lines({ id: 'c6', text: 'Nothing of it.' }, conversation) })
    const { status, stdout, stderr } = await run(cwd, 'train.jsonl', '--benchmark', 'set.jsonl')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'set.jsonl: 2 problems beside 2 texts of 27 words (train.jsonl), runs of 13 words',
      '1 problems share a run with a text, 1 at least half of their runs, 1 all of them',
      '1.00  18 of 18 words  a  train.jsonl, record 2 (c7)',
      `      ${problem.toLowerCase()}`,
      '',
    ])
  })

  it.each([
    ['empty.txt', ''],
    ['empty.jsonl', ''],
    ['blank.md', ' \n\n'],
  ])('refuses a file of no words: %s', async (name, content) => {
    const cwd = folderWith({ 'train.jsonl': lines(conversation), [name]: content })
    const { status, stdout, stderr } = await run(cwd, 'train.jsonl', name, '--benchmark', 'set.jsonl')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(`error: ${name} holds no words.`)
  })

  it('reads folders of every kind of file', async () => {
    const cwd = folderWith({})
    const texts = join(cwd, 'texts')
    mkdirSync(join(texts, 'deeper'), { recursive: true })
    writeFileSync(join(texts, 'a.jsonl'), lines(conversation))
    writeFileSync(join(texts, 'b.json'), JSON.stringify([conversation]))
    writeFileSync(join(texts, 'c.csv'), `id,text\nc7,"${problem}"\n`)
    writeFileSync(join(texts, 'deeper', 'd.md'), `# Notes\n\n${problem.replaceAll(' ', '\n')}\n`)
    writeFileSync(join(texts, 'e.rtf'), problem)
    for (const file of ['a.jsonl', 'b.json', 'c.csv', 'deeper/d.md']) {
      const { stdout } = await run(cwd, join('texts', file), '--benchmark', 'set.jsonl', '--json')
      const [overlap, summary] = events(stdout)
      expect(overlap).toMatchObject({
        event: 'overlap',
        id: 'a',
        share: 1,
        place: { path: join('texts', file) },
      })
      expect(summary).toMatchObject({ event: 'summary', problems: 2, any: 1, texts: 1 })
    }
    const { stdout } = await run(cwd, 'texts', '--benchmark', 'set.jsonl', '--json')
    expect(events(stdout).at(-1)).toMatchObject({
      any: 1,
      texts: 4,
      files: expect.objectContaining({ length: 4 }),
    })
  })

  it('reads Parquet', async () => {
    const parquet = join(projectRoot(), 'src/data/fixtures/texts-zstd.parquet')
    const { stdout } = await run(folderWith({}), parquet, '--benchmark', 'set.jsonl', '--json')
    expect(events(stdout).at(-1)).toMatchObject({ texts: 20, any: 0 })
  })

  it('writes what it found of every problem', async () => {
    const cwd = folderWith({ 'train.txt': problem.split(' ').slice(0, 10).join(' ') })
    const args = ['train.txt', '--benchmark', 'set.jsonl', '--n', '8', '--out', 'found.json']
    expect((await run(cwd, ...args)).status).toBe(0)
    const found = JSON.parse(readFileSync(join(cwd, 'found.json'), 'utf8'))
    expect(found).toMatchObject({ benchmark: 'set.jsonl', n: 8, any: 1 })
    expect(found.overlaps).toMatchObject([
      { id: 'a', words: 18, grams: 11, found: 3, longest: 10, place: { line: 1 } },
      { id: 'b', found: 0, stretch: '' },
    ])
  })

  it('keeps the words of problems that may not be passed on out of what it writes', async () => {
    const cwd = folderWith({ 'train.txt': problem })
    const data = join(cwd, 'data')
    mkdirSync(data)
    writeFileSync(join(data, 'aime24.jsonl'), lines({ id: 'x', problem, answer: '1' }))
    const args = ['train.txt', '--benchmark', 'aime24', '--data', 'data', '--json', '--out', 'found.json']
    const { stdout } = await run(cwd, ...args)
    expect(events(stdout)[0]).toMatchObject({ id: 'x', share: 1 })
    for (const written of [stdout, readFileSync(join(cwd, 'found.json'), 'utf8')]) {
      expect(written).not.toContain('baker')
    }
  })

  it.each<[string[], RegExp]>([
    [['set.jsonl'], /Required option '--benchmark <name>' not specified/],
    [['absent.jsonl', '--benchmark', 'set.jsonl'], /absent\.jsonl does not exist/],
    [['set.jsonl', '--benchmark', 'gsm8kk'], /There is no benchmark gsm8kk/],
    [['set.jsonl', '--benchmark', 'gsm8k', '--data', '.'], /gsm8k_test\.jsonl does not exist/],
    [['bad.rtf', '--benchmark', 'set.jsonl'], /bad\.rtf is of no kind/],
    [['bad.json', '--benchmark', 'set.jsonl'], /bad\.json is not JSON/],
    [['empty', '--benchmark', 'set.jsonl'], /folder empty holds no texts/],
    [['set.jsonl', '--benchmark', 'set.jsonl', '--n', '0'], /whole number >= 1/],
    [['set.jsonl', '--benchmark', 'set.jsonl', '--out', 'bad.json/x'], /bad\.json\/x cannot be written/],
  ])('answers wrong usage with one sentence and status 2: %j', async (args, message) => {
    const cwd = folderWith({ 'bad.rtf': '', 'bad.json': '{' })
    mkdirSync(join(cwd, 'empty'))
    const { status, stderr } = await run(cwd, ...args)
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/^hint: /m)
    expect(status).toBe(2)
  })
})
