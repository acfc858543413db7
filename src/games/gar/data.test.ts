import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { projectRoot } from '../../core/paths.js'
import { randomStream } from '../../core/random.js'
import { config } from './config.js'
import { loadSolutions, loadTracedProblems } from './data.js'

function file(rows: readonly unknown[]): string {
  const path = join(temporaryFolder(), 'problems.jsonl')
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

function load(rows: readonly unknown[], data: object = {}, task: 'maths' | 'code' = 'maths', seed = 1) {
  const settings = config.parse({ data: { path: file(rows), ...data } })
  return loadTracedProblems(settings.data, task, (path) => path, randomStream(seed, 'rows'))
}

describe('loadTracedProblems', () => {
  it('reads what OpenR1-Math-220k holds, right solutions alone', async () => {
    const row = {
      problem: 'What is 1+1?',
      answer: 2,
      generations: ['<think>one</think>2', '<think>two</think>3', ' '],
      correctness_math_verify: [true, false, true],
    }
    expect(await load([row])).toEqual([
      { problem: 'What is 1+1?', answer: '2', traces: ['<think>one</think>2'], tests: [] },
    ])
  })

  it('reads lists of a Parquet file, and all files of a folder', async () => {
    const fixtures = join(projectRoot(), 'src', 'games', 'gar', 'fixtures')
    for (const path of [fixtures, join(fixtures, 'traced.parquet')]) {
      const { data } = config.parse({ data: { path } })
      const problems = await loadTracedProblems(data, 'maths', (given) => given, randomStream(0))
      expect(problems).toEqual([
        { problem: 'What is 1+1?', answer: '2', traces: ['<think>\n1+1=2\nso</think>\\boxed{2}'], tests: [] },
        { problem: 'What is 2+2?', answer: '4', traces: ['a'], tests: [] },
        { problem: 'Third?', answer: 'x', traces: [], tests: [] },
      ])
    }
  })

  it('takes a single text for a list, unknown verdicts for right ones, and problems without solutions', async () => {
    const rows = [
      { problem: 'p', answer: 'a', generations: 'one' },
      { problem: 'q', answer: 'b', generations: ['one', 'two'], correctness_math_verify: [null] },
      { problem: 'r', answer: 'c' },
    ]
    expect((await load(rows)).map(({ traces }) => traces)).toEqual([['one'], ['one', 'two'], []])
  })

  it('reads other columns', async () => {
    const rows = [{ question: 'p', solution: 'a', text: 't' }]
    const data = { problem: 'question', answer: 'solution', traces: 'text' }
    expect(await load(rows, data)).toMatchObject([{ problem: 'p', answer: 'a', traces: ['t'] }])
  })

  it('draws rows with equal chances, the same for the same seed', async () => {
    const rows = Array.from({ length: 20 }, (_, i) => ({ problem: `${i}`, answer: '1' }))
    const counts = new Map<string, number>()
    for (let seed = 0; seed < 400; seed++) {
      const drawn = (await load(rows, { rows: 5 }, 'maths', seed)).map(({ problem }) => problem)
      expect(new Set(drawn).size).toBe(5)
      for (const problem of drawn) counts.set(problem, (counts.get(problem) ?? 0) + 1)
    }
    for (const row of rows) expect(counts.get(row.problem)! / 400).toBeCloseTo(0.25, 0)
    expect(Math.min(...counts.values())).toBeGreaterThan(60)
    expect(await load(rows, { rows: 5 })).toEqual(await load(rows, { rows: 5 }))
    expect(await load(rows, { rows: 50 })).toHaveLength(20)
  })

  it('reads tests of code, and asks for them', async () => {
    const tests = [{ input: '1', output: '2' }]
    expect(await load([{ problem: 'p', examples: tests }], {}, 'code')).toMatchObject([{ tests, answer: '' }])
    await expect(load([{ problem: 'p' }], {}, 'code')).rejects.toMatchObject({ code: 'data' })
  })

  it.each<[string, unknown[]]>([
    ['no problem', [{ answer: '1' }]],
    ['no answer', [{ problem: 'p' }]],
    ['no rows', []],
  ])('refuses %s', async (_, rows) => {
    await expect(load(rows)).rejects.toMatchObject({ code: 'data', exitStatus: 2 })
  })

  it('names a file that is not there, and a folder without problems', async () => {
    for (const path of ['/no/such/file.jsonl', temporaryFolder()]) {
      const { data } = config.parse({ data: { path } })
      const read = loadTracedProblems(data, 'maths', (given) => given, randomStream(0))
      await expect(read).rejects.toMatchObject({ code: 'data', message: expect.stringContaining(path) })
    }
  })

  it('asks for a file', async () => {
    const settings = config.parse({})
    const read = loadTracedProblems(settings.data, 'maths', (path) => path, randomStream(0))
    await expect(read).rejects.toMatchObject({ code: 'config', message: 'settings.data.path names no file.' })
  })
})

describe('loadSolutions', () => {
  it('reads texts and lists with their problems', async () => {
    const rows = [
      { problem: 'p', text: 'one' },
      { problem: 'q', text: ['two', '', 'three'] },
    ]
    const solutions = await loadSolutions(file(rows), { column: 'text', problem: 'problem' })
    expect(solutions.map(({ question, text }) => question + text)).toEqual(['pone', 'qtwo', 'qthree'])
  })

  it('refuses a file without any', async () => {
    const read = loadSolutions(file([{ problem: 'p' }]), { column: 'text', problem: 'problem' })
    await expect(read).rejects.toMatchObject({ code: 'data' })
  })
})
