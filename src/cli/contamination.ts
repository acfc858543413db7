/** sparring contamination: what knowledge or training texts share with a benchmark. */
import { DataError } from '../core/errors.js'
import { writeFileWhole } from '../engine/hf/files.js'
import { loadBenchmark } from '../eval/benchmarks/load.js'
import { benchmarks } from '../eval/benchmarks/registry.js'
import {
  ContaminationIndex,
  type ContaminationSummary,
  type Overlap,
  type Place,
} from '../eval/contamination.js'
import { readTexts, textFiles } from '../eval/contamination-texts.js'
import { parts } from '../runs/parts.js'
import { printable } from './failure.js'
import { claimFile } from './output.js'

export interface ContaminationFlags {
  benchmark: string
  data?: string
  n: number
  json?: boolean
  out?: string
}

/** Problems listed on a terminal; the rest is in --json and --out. */
const LISTED = 20

/** Pieces of text between two lines of progress. */
const STEP = 2000

export async function contamination(texts: string[], flags: ContaminationFlags): Promise<void> {
  if (flags.out !== undefined) await claimFile(flags.out)
  const started = performance.now()
  const given = await Promise.all(texts.map(textFiles))
  const files = given.flat()
  const { heldoutProblems } = parts
  const note = (text: string) => process.stderr.write(`${text}\n`)
  const benchmark = await loadBenchmark(flags.benchmark, { data: flags.data, heldoutProblems, note })
  benchmark.notes.forEach(note)
  const asked = benchmarks.find(({ name }) => name === benchmark.name)?.ask?.split('{problem}') ?? []
  const problems = benchmark.problems.map(({ id, problem }) => ({ id, problem: bare(problem, asked) }))
  const index = new ContaminationIndex(problems, flags.n)
  for (const [i, paths] of given.entries()) {
    const before = index.words
    for (const path of paths) await addFile(index, path)
    if (index.words === before) {
      throw new DataError(`${texts[i]} holds no words.`, { hint: 'Name files with texts in them.' })
    }
  }
  showProgress('')
  const overlaps = index.overlaps()
  const found = overlaps
    .filter(({ found }) => found > 0)
    .sort((a, b) => b.share - a.share || b.longest - a.longest)
  const summary = { benchmark: benchmark.name, files, ...index.summary() }
  const written = (overlap: Overlap) => (benchmark.restricted ? { ...overlap, stretch: undefined } : overlap)
  if (flags.out !== undefined) {
    const report = { ...summary, overlaps: overlaps.map(written) }
    await writeFileWhole(flags.out, `${JSON.stringify(report, null, 2)}\n`)
  }
  const seconds = (performance.now() - started) / 1000
  if (flags.json) {
    for (const overlap of found) say({ event: 'overlap', ...written(overlap) })
    say({ event: 'summary', ...summary, seconds })
  } else {
    process.stdout.write(`${[...describe(summary), ...found.slice(0, LISTED).map(line)].join('\n')}\n`)
    if (found.length > LISTED) {
      process.stdout.write(`... and ${found.length - LISTED} more: --out FILE writes all of them\n`)
    }
  }
}

async function addFile(index: ContaminationIndex, path: string): Promise<void> {
  let pieces = 0
  for await (const piece of readTexts(path)) {
    index.add(piece)
    if (++pieces % STEP === 0) showProgress(where(piece.place))
  }
}

/** A problem without the wanted form that an evaluation says around it: no text of others holds that. */
function bare(problem: string, [before = '', after = '']: string[]): string {
  const fits = problem.startsWith(before) && problem.endsWith(after)
  return fits ? problem.slice(before.length, problem.length - after.length) : problem
}

function describe(summary: ContaminationSummary & { benchmark: string; files: string[] }): string[] {
  const { benchmark, files, problems, n, texts, words, any, half, whole, short, shortFound } = summary
  const count = (value: number) => value.toLocaleString('en')
  const of = files.length === 1 ? files[0] : `${files.length} files`
  return [
    `${benchmark}: ${problems} problems beside ${count(texts)} texts of ${count(words)} words (${of}), runs of ${n} words`,
    `${any} problems share a run with a text, ${half} at least half of their runs, ${whole} all of them`,
    ...(short > 0 ? [`${short} problems are shorter than a run; ${shortFound} of them are found whole`] : []),
  ]
}

function line({ id, share, longest, words, stretch, place }: Overlap): string {
  const shown = stretch.length > 100 ? `${stretch.slice(0, 100)}...` : stretch
  return `${share.toFixed(2)}  ${longest} of ${words} words  ${printable(id)}  ${where(place!)}\n      ${shown}`
}

function where({ path, record, line, id }: Place): string {
  const at = line === undefined ? `record ${record}` : `line ${line}`
  return printable(`${path}, ${at}${id === undefined ? '' : ` (${id})`}`)
}

function say(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

/** One line on a terminal, written over and over. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
