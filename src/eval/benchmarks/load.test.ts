import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { hubServer } from '../../../test/support/hub-server.js'
import { ConfigError, DataError, type SparringError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import { heldoutProblems } from '../../worlds/arithmetic/index.js'
import { type LoadOptions, loadBenchmark } from './load.js'
import { benchmarks } from './registry.js'

const commit = 'c'.repeat(40)
const fixture = (name: string) => readFileSync(join(projectRoot(), 'src/eval/benchmarks/fixtures', name))

const gpqa = `\uFEFFRecord ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,High-level domain
rec1,"Which is a metal, of these?
One only.",Iron,Sulfur,"Neon, a gas",Iodine,Chemistry
rec2,What is light?,A wave,"A ""ray""",A fluid,A sound,Physics
`

/** Loads from a Hub that holds the given files of the benchmark's data set. */
async function fromHub(name: string, files: Record<string, Buffer | string>, token?: string) {
  const { repo } = benchmarks.find((each) => each.name === name)!.hub
  const hub = await hubServer({ [repo]: { commit, files, ...(token && { token }) } })
  const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: temporaryFolder(), ...(token && { HF_TOKEN: token }) }
  return load(name, { env })
}

function load(name: string, options: Partial<LoadOptions> = {}) {
  return loadBenchmark(name, { heldoutProblems: async (_, n) => heldoutProblems(n, 0), ...options })
}

function jsonl(...rows: object[]): string {
  const path = join(temporaryFolder(), 'mine.jsonl')
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

async function errorOf(work: Promise<unknown>): Promise<SparringError> {
  return (await work.then(
    () => undefined,
    (cause) => cause,
  )) as SparringError
}

describe('a benchmark of the Hub', () => {
  it('gsm8k: takes the answer behind the hashes, and counts rows without one', async () => {
    const { problems, data, notes } = await fromHub('gsm8k', {
      'main/test-00000-of-00001.parquet': fixture('gsm8k.parquet'),
    })
    expect(problems.map(({ id, kind, answer }) => [id, kind, answer])).toEqual([
      ['0', 'maths', '7'],
      ['1', 'maths', '200'],
    ])
    expect(data).toMatchObject({ source: 'openai/gsm8k', revision: commit, unfit: 1, repeated: 0 })
    expect(data.files).toEqual([
      { name: 'main/test-00000-of-00001.parquet', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ])
    expect(notes).toEqual([
      'gsm8k: 1 of 3 rows have no answer and are left out.',
      'gsm8k: 2 problems are there, where the set is known to have 1319.',
    ])
  })

  it('olympiadbench: reads lists of answers, and ids that are numbers', async () => {
    const file = 'OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet'
    const { problems, notes } = await fromHub('olympiadbench', { [file]: fixture('olympiadbench.parquet') })
    expect(problems.map(({ id, answer, subject }) => [id, answer, subject])).toEqual([
      ['1606', '-2, 2', 'Algebra'],
      ['2498', '4', 'Number Theory'],
    ])
    expect(notes).toEqual(['olympiadbench: 2 problems are there, where the set is known to have 674.'])
  })

  it('math500: keeps level and subject', async () => {
    const row = {
      problem: 'x?',
      solution: '',
      answer: '\\frac12',
      subject: 'Algebra',
      level: 3,
      unique_id: 'a/1',
    }
    const { problems } = await fromHub('math500', { 'test.jsonl': JSON.stringify(row) })
    expect(problems).toEqual([
      { id: 'a/1', kind: 'maths', problem: 'x?', answer: '\\frac12', level: '3', subject: 'Algebra' },
    ])
  })

  it('gpqa: shuffles the choices by a seed that is recorded, the same every time', async () => {
    const read = () => fromHub('gpqa', { 'gpqa_diamond.csv': gpqa }, 'hf_secret')
    const { problems, data, kind, restricted } = await read()
    expect({ kind, restricted, seed: data.choiceSeed }).toEqual({ kind: 'choice', restricted: true, seed: 0 })
    for (const { problem, answer, choices } of problems) {
      const place = answer.charCodeAt(0) - 65
      expect(['Iron', 'A wave']).toContain(choices![place])
      expect(problem).toContain(`\n${answer}. ${choices![place]}`)
    }
    expect([...problems[0]!.choices!].sort()).toEqual(['Iodine', 'Iron', 'Neon, a gas', 'Sulfur'])
    expect(problems[0]!.problem).toMatch(/^Which is a metal, of these\?\nOne only\.\n\nA\. /)
    expect((await read()).problems).toEqual(problems)
  })

  it('humaneval: makes a program to be tested of each row', async () => {
    const { problems } = await fromHub('humaneval', {
      'openai_humaneval/test-00000-of-00001.parquet': fixture('humaneval.parquet'),
    })
    expect(await problems[0]!.task!()).toEqual({
      kind: 'program',
      language: 'python',
      prompt: 'def double(x):\n    """Twice x."""\n',
      tests: 'def check(candidate):\n    assert candidate(3) == 6\n',
      entryPoint: 'double',
    })
    expect(problems[0]!.problem).toContain('```python\ndef double(x):\n    """Twice x."""\n```')
  })

  it('that is gated says how to get it', async () => {
    const { repo } = benchmarks.find(({ name }) => name === 'gpqa')!.hub
    const hub = await hubServer({ [repo]: { commit, files: {}, token: 'hf_x' } })
    const error = await errorOf(
      load('gpqa', { env: { HF_ENDPOINT: hub.url, HF_HUB_CACHE: temporaryFolder() } }),
    )
    expect(error).toBeInstanceOf(DataError)
    expect(error.hint).toContain('set HF_TOKEN')
  })
})

describe('a benchmark of a data folder', () => {
  it("may be the Hub's own file, in a folder of the benchmark's name", async () => {
    const data = temporaryFolder()
    const error = await errorOf(load('gpqa', { data }))
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toBe(`${join(data, 'gpqa/gpqa_diamond.csv')} does not exist.`)
    expect(error.hint).toContain(
      `hf download Idavidrein/gpqa gpqa_diamond.csv --repo-type dataset --local-dir`,
    )
    mkdirSync(join(data, 'gpqa'))
    writeFileSync(join(data, 'gpqa/gpqa_diamond.csv'), gpqa)
    expect((await load('gpqa', { data })).problems).toHaveLength(2)
  })

  it('that is missing is named with both ways to get it', async () => {
    const data = temporaryFolder()
    const error = await errorOf(load('gsm8k', { data }))
    expect(error.message).toBe(`${join(data, 'gsm8k_test.jsonl')} does not exist.`)
    expect(error.hint).toContain('Leave --data out to fetch gsm8k from the Hub (openai/gsm8k)')
  })
})

describe('a JSONL file', () => {
  it('is read by its path, with numbers as answers, levels and subjects', async () => {
    const path = jsonl({ problem: ' 1+1 ', answer: 2, level: 1 }, { id: 7, problem: '2+2', answer: '4' })
    const { problems, data } = await load(path)
    expect(problems).toEqual([
      { id: '0', kind: 'maths', problem: ' 1+1 ', answer: '2', level: '1' },
      { id: '7', kind: 'maths', problem: '2+2', answer: '4' },
    ])
    expect(data).toMatchObject({ source: 'mine.jsonl', files: [{ name: 'mine.jsonl' }] })
  })

  it('may have choices of its own, whose order stays', async () => {
    const { problems, kind } = await load(jsonl({ problem: 'Which?', answer: 'B', choices: ['one', 'two'] }))
    expect(kind).toBe('choice')
    expect(problems[0]).toMatchObject({
      problem: 'Which?\n\nA. one\nB. two',
      answer: 'B',
      choices: ['one', 'two'],
    })
  })

  it('counts rows that have no answer, and problems that are there twice', async () => {
    const rows = [
      { problem: 'a', answer: '1' },
      { problem: 'a', answer: '1' },
      { problem: 'b', answer: null },
      { problem: 'c', answer: '' },
    ]
    const { data, notes } = await load(jsonl(...rows))
    expect(data).toMatchObject({ unfit: 2, repeated: 1 })
    expect(notes.join('\n')).toContain('2 of 4 rows have no answer and are left out.')
    expect(notes.join('\n')).toContain('1 of 2 problems repeat the text of another.')
  })

  it('has the same sum when its problems are the same, and another when one of them is not', async () => {
    const [a, b] = [
      { problem: 'a', answer: '1' },
      { problem: 'b', answer: '2' },
    ]
    const sum = async (path: string, limit?: number) => (await load(path, { limit })).data.sha256
    expect(await sum(jsonl(a, b))).toBe(await sum(jsonl(a, { ...b, note: 'x' })))
    expect(await sum(jsonl(a, b))).not.toBe(await sum(jsonl(a, { ...b, answer: '3' })))
    expect(await sum(jsonl(a, b), 1)).toBe(await sum(jsonl(a)))
  })

  it.each<[object[], RegExp]>([
    [[{ question: 'a', answer: '1' }], /row 1: key "problem" holds no text\.$/],
    [[{ problem: 'a' }], /holds no problem with an answer\.$/],
    [
      [
        { id: 1, problem: 'a', answer: '1' },
        { id: 1, problem: 'b', answer: '1' },
      ],
      /row 2: the id 1 is that of \S+, row 1 as well\.$/,
    ],
    [
      [{ problem: 'a', answer: 'Z', choices: ['one', 'two'] }],
      /row 1: key "answer" holds Z, which is none of 2 choices\.$/,
    ],
    [[{ problem: 'a', answer: 'three', choices: ['one', 'two'] }], /row 1: key "answer" holds three, which/],
    [[{ problem: 'a', answer: '(C)', choices: ['one', 'two'] }], /row 1: key "answer" holds \(C\), which/],
  ])('is refused: %j', async (rows, message) => {
    const error = await errorOf(load(jsonl(...rows)))
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toMatch(message)
    expect(error.hint).toBeTruthy()
  })
})

describe('a name', () => {
  it('that is none gets the nearest', async () => {
    const error = await errorOf(load('gms8k'))
    expect(error).toBeInstanceOf(ConfigError)
    expect([error.message, error.hint]).toEqual(['There is no benchmark gms8k.', 'Did you mean gsm8k?'])
    expect((await errorOf(load('zzzzzzzzzz'))).hint).toContain('arithmetic, gsm8k, math500')
  })

  it('arithmetic: as many problems of the world as a run measures', async () => {
    const { problems } = await load('arithmetic')
    expect(problems).toHaveLength(512)
    expect((await load('arithmetic', { limit: 16 })).problems.map(({ problem }) => problem)).toEqual(
      heldoutProblems(16, 0).map(({ problem }) => problem),
    )
  })
})

const shared = join(projectRoot(), '..', 'shared', 'data')

describe.skipIf(!existsSync(shared))(`the sets in ${shared} (skipped where it is absent)`, () => {
  const here = benchmarks.filter(({ file }) => file !== undefined)

  it.each(here)('$name has its $size problems, each with an answer', async ({ name, size, kind }) => {
    const { problems, data, notes } = await load(name, { data: shared })
    expect(problems).toHaveLength(size)
    expect(problems.every((problem) => problem.kind === kind && problem.answer !== '')).toBe(true)
    expect(data.unfit).toBe(0)
    const repeats =
      name === 'livemathbench' ? ['livemathbench: 19 of 140 problems repeat the text of another.'] : []
    expect(notes).toEqual(repeats)
  })

  it.each(['gpqa', 'livecodebench'])('%s is not there, and is said to be fetched', async (name) => {
    expect((await errorOf(load(name, { data: shared }))).hint).toContain('hf download')
  })
})
