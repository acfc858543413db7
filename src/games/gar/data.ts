/** Problems with worked solutions, of JSONL and Parquet files and folders of them: OpenR1-Math-220k and what looks like it. */
import { readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { z } from 'zod'
import { ConfigError, DataError } from '../../core/errors.js'
import type { RandomStream } from '../../core/random.js'
import { checkRecord, readJsonl, unreadable } from '../../data/jsonl.js'
import { parquetColumns, readParquetRows } from '../../data/parquet.js'
import type { NeededFile } from '../game.js'
import type { Config } from './config.js'
import type { Solution } from './references.js'

export interface TracedProblem {
  problem: string
  /** True answer; empty for code. */
  answer: string
  /** Worked solutions that are not known to be wrong. */
  traces: string[]
  /** Public tests of code. */
  tests: Test[]
}

/** What a program reads and what it must write. */
export interface Test {
  input: string
  output: string
}

const texts = z
  .union([z.string(), z.array(z.string().nullable())])
  .nullish()
  .transform((value) => [value ?? []].flat().map((text) => text ?? ''))
const flags = z
  .union([z.boolean(), z.array(z.boolean().nullable())])
  .nullish()
  .transform((value) => (value === undefined || value === null ? [] : [value].flat()))
const tests = z
  .array(z.object({ input: z.string(), output: z.string() }))
  .nullish()
  .transform((value) => value ?? [])
const answer = z.union([z.string().min(1), z.number()]).transform(String)

/** The file of `settings.data`, where one is named. */
export function tracedFiles(
  { path, problem, answer, traces, tests }: Config['data'],
  task: Config['task'],
): NeededFile[] {
  if (path === '') return []
  const columns = [problem, task === 'maths' ? answer : tests, traces].join(', ')
  return [{ key: 'settings.data.path', path, what: `problems, JSONL or Parquet with the columns ${columns}` }]
}

/**
 * Reads the file of `settings.data`. A problem without worked solutions stays; solutions that `correct` calls false, and
 * blank ones, do not. Throws ConfigError where no file is named, DataError where it cannot be read, a row lacks its
 * problem, its answer (maths) or its tests (code), or there is none.
 */
export async function loadTracedProblems(
  data: Config['data'],
  task: Config['task'],
  path: (relative: string) => string,
  stream: RandomStream,
): Promise<TracedProblem[]> {
  if (data.path === '') {
    throw new ConfigError('settings.data.path names no file.', {
      hint: 'Give a JSONL or Parquet file of problems with answers and worked solutions.',
    })
  }
  const schema = z.looseObject({
    [data.problem]: z.string().min(1),
    ...(task === 'maths' ? { [data.answer]: answer } : { [data.tests]: tests }),
    [data.traces]: texts,
    [data.correct]: flags,
  })
  const file = path(data.path)
  const problems: TracedProblem[] = []
  let seen = 0
  for await (const { row, where } of readRows(file, Object.keys(schema.shape))) {
    const record = checkRecord(row, schema, where) as Record<string, unknown>
    const all = record[data.traces] as string[]
    const right = record[data.correct] as (boolean | null)[]
    const problem: TracedProblem = {
      problem: record[data.problem] as string,
      answer: task === 'maths' ? (record[data.answer] as string) : '',
      traces: all.filter((trace, i) => trace.trim() !== '' && right[i] !== false),
      tests: task === 'code' ? (record[data.tests] as Test[]) : [],
    }
    if (task === 'code' && problem.tests.length === 0) {
      throw new DataError(`${where}: the problem has no tests in "${data.tests}".`, {
        hint: 'Give every problem at least one {input, output}, or name another column in data.tests.',
      })
    }
    // Every row is kept with the same chance, however many there are (reservoir sampling).
    const place = data.rows === 0 || seen < data.rows ? seen : stream.int(seen + 1)
    if (data.rows === 0 || place < data.rows) problems[place] = problem
    seen++
  }
  if (problems.length > 0) return problems
  throw new DataError(`${file} holds no problems.`, { hint: 'Each row must hold one problem.' })
}

/** Worked solutions of a file by themselves. Throws DataError where it cannot be read or holds none. */
export async function loadSolutions(
  file: string,
  columns: { column: string; problem: string },
): Promise<Solution[]> {
  const { column, problem } = columns
  const schema = z.looseObject({ [problem]: z.string().min(1), [column]: texts })
  const solutions: Solution[] = []
  for await (const { row, where } of readRows(file, [problem, column])) {
    const record = checkRecord(row, schema, where) as Record<string, unknown>
    const question = record[problem] as string
    for (const text of record[column] as string[]) if (text.trim() !== '') solutions.push({ question, text })
  }
  if (solutions.length > 0) return solutions
  throw new DataError(`${file} holds no worked solutions in "${column}".`, { hint: 'Name another column.' })
}

/** Rows with the columns that a Parquet file has of those wanted; of JSONL, whole lines. A folder stands for its files. */
async function* readRows(
  path: string,
  wanted: readonly string[],
): AsyncGenerator<{ row: unknown; where: string }> {
  for (const file of await filesOf(path)) {
    let number = 0
    if (extname(file) === '.parquet') {
      const known = await parquetColumns(file)
      const columns = wanted.filter((column) => known.includes(column))
      for await (const row of readParquetRows(file, columns)) yield { row, where: `${file}, row ${++number}` }
    } else {
      for await (const row of readJsonl(file, z.unknown()))
        yield { row, where: `${file}, record ${++number}` }
    }
  }
}

/** The file, or those of a folder by name: large sets come in pieces. */
async function filesOf(path: string): Promise<string[]> {
  const status = await stat(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  if (!status.isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => ['.parquet', '.jsonl'].includes(extname(name)))
  if (names.length > 0) return names.sort().map((name) => join(path, name))
  throw new DataError(`The folder ${path} holds no problems.`, {
    hint: 'Problems are read from files that end in .parquet or .jsonl.',
  })
}
