/** Reads a benchmark's problems from a data folder, the Hub, a JSONL file or the arithmetic world. */
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ConfigError, DataError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import { hubFiles } from '../../hub/datasets.js'
import type { EvalProblem } from '../evaluate.js'
import { readLiveCodeBench } from './livecodebench.js'
import { type BenchmarkProblem, readProblems } from './problems.js'
import { type Benchmark, benchmarkNames, benchmarks, type Kind, ownColumns } from './registry.js'
import { sha256Of } from './rows.js'

export interface LoadedBenchmark {
  name: string
  kind: Kind
  problems: BenchmarkProblem[]
  data: DataRecord
  /** Whether results may hold the problems' text. */
  restricted: boolean
  /** What is worth saying about the data, one sentence each. */
  notes: string[]
}

/** Where problems came from, as a results file records it. */
export interface DataRecord {
  /** A file name, a data set of the Hub, or the world. */
  source: string
  /** Commit of the Hub. */
  revision?: string
  files: { name: string; sha256: string }[]
  /** Rows with no answer, which are left out. */
  unfit: number
  /** Problems whose text an earlier one has already. */
  repeated: number
  /** Seed that choices were shuffled with. */
  choiceSeed?: number
  /** SHA-256 of the problems that are put, as JSON: the same problems in the same order have the same. */
  sha256: string
}

export interface LoadOptions {
  /** Data folder; the Hub where absent. */
  data?: string | undefined
  /** Problems to take from the front. */
  limit?: number | undefined
  offline?: boolean | undefined
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal
  note?: (text: string) => void
  /** Problems of the arithmetic world. */
  heldoutProblems(world: 'arithmetic', n: number): Promise<(EvalProblem & { kind?: string })[]>
}

/** Problems of the arithmetic world where no limit is given: as many as a run's anchors take. */
const ARITHMETIC = 512

/** Orders the choices of every problem alike in every evaluation. */
const CHOICE_SEED = 0

/** Throws ConfigError for a name that is none, DataError or ServiceError where the data cannot be had. */
export async function loadBenchmark(name: string, options: LoadOptions): Promise<LoadedBenchmark> {
  if (name === 'arithmetic') return arithmetic(options)
  const known = benchmarks.find((benchmark) => benchmark.name === name)
  if (known) return fromRegistry(known, options)
  if (/[/\\.]/.test(name) || existsSync(name)) return fromFile(name, options)
  const guess = nearest(name, benchmarkNames)
  throw new ConfigError(`There is no benchmark ${name}.`, {
    hint: guess
      ? `Did you mean ${guess}?`
      : `Name one of ${benchmarkNames.join(', ')}, or a JSONL file of {problem, answer}.`,
  })
}

async function arithmetic({ limit, heldoutProblems }: LoadOptions): Promise<LoadedBenchmark> {
  const drawn = await heldoutProblems('arithmetic', limit ?? ARITHMETIC)
  const problems = drawn.map(({ problem, answer, kind }, i) => ({
    id: `${i}`,
    kind: 'maths' as const,
    problem,
    answer,
    ...(kind !== undefined && { subject: kind }),
  }))
  const data = { source: 'arithmetic world', files: [], unfit: 0, repeated: 0, sha256: hashOf(problems) }
  return { name: 'arithmetic', kind: 'maths', problems, data, restricted: false, notes: [] }
}

async function fromFile(path: string, { limit }: LoadOptions): Promise<LoadedBenchmark> {
  const read = await readProblems({ paths: [path], columns: ownColumns, kind: 'maths', name: path })
  const kind = read.problems.some(({ kind }) => kind === 'choice') ? 'choice' : 'maths'
  return finish(
    path,
    kind,
    read,
    { source: basename(path), paths: [path], names: [basename(path)] },
    { limit },
  )
}

async function fromRegistry(benchmark: Benchmark, options: LoadOptions): Promise<LoadedBenchmark> {
  const { name, kind, hub } = benchmark
  const place = await locate(benchmark, options)
  const expected = place.own ? benchmark.size : (hub.size ?? benchmark.size)
  const rest = { limit: options.limit, expected, benchmark }
  if (hub.form === 'livecodebench') {
    return finish(name, kind, { problems: await readLiveCodeBench(place.paths), unfit: 0 }, place, rest)
  }
  const read = await readProblems({
    paths: place.paths,
    columns: place.own ? ownColumns : hub.columns,
    kind,
    name,
    ...(!place.own && hub.answerAfter !== undefined && { answerAfter: hub.answerAfter }),
    ...(benchmark.ask !== undefined && { ask: benchmark.ask }),
    choiceSeed: CHOICE_SEED,
  })
  return finish(name, kind, read, place, rest)
}

interface Place {
  source: string
  revision?: string
  paths: string[]
  /** Of the files, without the folder they lie in. */
  names: string[]
  /** Rows have our columns rather than those of the Hub. */
  own?: boolean
}

/** In a data folder: our own file, or the Hub's files in a folder that has the benchmark's name. */
async function locate({ name, file, hub }: Benchmark, options: LoadOptions): Promise<Place> {
  const { data } = options
  const { repo, files } = hub
  if (data === undefined) {
    const { paths, commit } = await hubFiles(hub, options)
    return { source: repo, revision: commit, paths, names: files }
  }
  if (existsSync(data) && !statSync(data).isDirectory()) {
    throw new DataError(`--data ${data} is no folder.`, {
      hint: `Name the folder that holds ${file ?? name}; a file of your own is named in the place of ${name}.`,
    })
  }
  if (file !== undefined && existsSync(join(data, file))) {
    return { source: file, paths: [join(data, file)], names: [file], own: true }
  }
  const paths = files.map((each) => join(data, name, each))
  const missing = paths.find((path) => !existsSync(path))
  if (missing === undefined) return { source: `${repo} (as found in a folder)`, paths, names: files }
  const fetch = `hf download ${repo} ${files.join(' ')} --repo-type dataset --local-dir ${join(data, name)}`
  const lines = file === undefined ? '' : `, or write lines of {"id", "problem", "answer"} there`
  throw new DataError(`${file === undefined ? missing : join(data, file)} does not exist.`, {
    hint: `Leave --data out to fetch ${name} from the Hub (${repo})${lines}; or put the Hub's own files there: ${fetch}`,
  })
}

async function finish(
  name: string,
  kind: Kind,
  { problems: all, unfit }: { problems: BenchmarkProblem[]; unfit: number },
  { source, revision, paths, names }: Place,
  { limit, expected, benchmark }: { limit?: number | undefined; expected?: number; benchmark?: Benchmark },
): Promise<LoadedBenchmark> {
  const problems = all.slice(0, limit)
  const repeated = all.length - new Set(all.map(({ problem }) => problem)).size
  const notes = [
    ...(unfit > 0 ? [`${unfit} of ${all.length + unfit} rows have no answer and are left out.`] : []),
    ...(repeated > 0 ? [`${repeated} of ${all.length} problems repeat the text of another.`] : []),
    ...(expected !== undefined && all.length !== expected
      ? [`${all.length} problems are there, where the set is known to have ${expected}.`]
      : []),
  ].map((sentence) => `${name}: ${sentence}`)
  const sums = await Promise.all(paths.map(sha256Of))
  return {
    name,
    kind,
    problems,
    restricted: benchmark?.restricted !== undefined,
    notes,
    data: {
      source,
      ...(revision !== undefined && { revision }),
      files: names.map((each, i) => ({ name: each, sha256: sums[i]! })),
      unfit,
      repeated,
      ...(kind === 'choice' && benchmark && { choiceSeed: CHOICE_SEED }),
      sha256: hashOf(problems),
    },
  }
}

/** What a problem asks and what is right; a code task's tests are in its file, which has a sum of its own. */
function hashOf(problems: BenchmarkProblem[]): string {
  const lines = problems.map(({ id, problem, answer, choices }) =>
    JSON.stringify([id, problem, answer, choices]),
  )
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}
