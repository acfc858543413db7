/** One evaluation from beginning to end: asks, keeps, grades, reports, and goes on where an earlier process stopped. */
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CheckpointError, EngineError, messageOf, SparringError } from '../core/errors.js'
import { makeFolders } from '../core/folders.js'
import type { Answer, Answerer, AnswerRequest } from './answerer.js'
import type { LoadedBenchmark } from './benchmarks/load.js'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import { GRADING, problemSeed } from './evaluate.js'
import type { Judge } from './judge.js'
import { type KeptAnswer, type KeptSample, keyOf, PartialResults, removePartial } from './partial.js'
import { promptFor } from './protocols.js'
import { countProblems, makeReport, type SampleRow } from './report.js'
import { type ResultsHead, readResults, type SampleLine, writeResults } from './results.js'
import { checkSame, type EvalSettings } from './settings.js'
import { mapUnordered } from './unordered.js'

export interface Evaluation {
  benchmark: LoadedBenchmark
  settings: EvalSettings
  /** Version of Sparring. */
  version: string
  /** Results file. */
  out: string
}

export interface Means {
  answerer: Answerer
  judge: Judge
  signal?: AbortSignal
  /** Samples graded, those of earlier sittings included, and all samples. */
  progress?: (done: number, total: number) => void
  /** Called where it ends early and something is kept: samples that were answered and are kept, and all samples. */
  ended?: (kept: number, total: number) => void
}

/** File of the samples while the evaluation is not finished. */
export function partialPath(out: string): string {
  return `${out.replace(/\.json$/, '')}.partial.jsonl`
}

/** The results where they are finished already. Throws ConfigError where the file belongs to another evaluation. */
export async function finished({ out, settings }: Evaluation): Promise<ResultsHead | undefined> {
  const head = await readResults(out)
  if (head === undefined) return undefined
  checkSame(out, settings, head.settings)
  // A process may have ended between its last two steps.
  await removePartial(partialPath(out))
  return head
}

/**
 * Asks for every sample that is not kept yet, one request a sample, and writes the results file. When it ends early, by
 * an error or by the signal, what was answered is kept, and the next call with the same settings goes on from there.
 */
export async function measure(evaluation: Evaluation, means: Means): Promise<ResultsHead> {
  const { out, settings, version } = evaluation
  const path = partialPath(out)
  return keeping(path, async () => {
    await makeFolders(dirname(out))
    const check = (there: unknown) => checkSame(path, settings, there)
    const partial = await PartialResults.open({ path, settings, version, check })
    try {
      await fill(evaluation, means, partial)
      const head = await report(evaluation, means, partial)
      await writeResults(out, head, linesOf(evaluation.benchmark.problems, partial))
      await rm(path)
      return head
    } catch (error) {
      const { settings, benchmark } = evaluation
      const kept = partial.samples.size
      if (kept > 0) means.ended?.(kept, benchmark.problems.length * settings.protocol.samples)
      else await rm(path, { force: true })
      throw error
    } finally {
      await partial.close()
    }
  })
}

async function fill(
  { benchmark, settings }: Evaluation,
  means: Means,
  partial: PartialResults,
): Promise<void> {
  const { problems } = benchmark
  const { answerer, judge, signal, progress } = means
  const { samples, maxTokens, temperature, topP, stop } = settings.protocol
  const total = problems.length * samples
  const ungraded = [...partial.samples.values()].filter(({ verdict }) => verdict === undefined)
  let done = partial.samples.size - ungraded.length
  progress?.(done, total)
  const asks = missing(problems, samples, partial)
  const requests = requestsOf(problems, asks, settings)

  async function* answers(ending: AbortSignal): AsyncGenerator<KeptAnswer | Answer> {
    yield* partial.texts(ungraded)
    if (requests.length > 0) yield* answerer.answer(requests, { maxTokens, temperature, topP, stop }, ending)
  }
  const grade = async (given: KeptAnswer | Answer, ending: AbortSignal) => {
    const kept = 'request' in given ? toKept(given, asks) : given
    if (kept !== given) await partial.addAnswer(kept)
    const { problem, sample, text } = kept
    await partial.addVerdict({ problem, sample, ...(await judge.judge(problems[problem]!, text, ending)) })
  }
  for await (const _ of mapUnordered(answers, GRADING, grade, signal)) {
    done++
    progress?.(done, total)
  }
  signal?.throwIfAborted()
  if (done < total) {
    throw new EngineError(`${answerer.name} gave ${done} of ${total} answers and no more.`, {
      hint: 'Run the same command again: it asks for those that are missing.',
    })
  }
}

interface Ask {
  problem: number
  sample: number
}

function missing(problems: BenchmarkProblem[], samples: number, { samples: kept }: PartialResults): Ask[] {
  return problems.flatMap((_, problem) =>
    Array.from({ length: samples }, (_, sample) => ({ problem, sample })).filter(
      (ask) => !kept.has(keyOf(ask)),
    ),
  )
}

/** Samples of one problem share their prompt, which need not be encoded more than once. */
function requestsOf(problems: BenchmarkProblem[], asks: Ask[], { protocol }: EvalSettings): AnswerRequest[] {
  const prompts = problems.map(({ kind, problem }) => promptFor(protocol, kind, problem))
  return asks.map(({ problem, sample }) => ({
    prompt: prompts[problem]!,
    n: 1,
    seed: problemSeed(protocol.seed, problem, sample),
  }))
}

function toKept({ request, text, tokens, stop }: Answer, asks: Ask[]): KeptAnswer {
  return { ...asks[request]!, text, tokens, stop }
}

async function report(
  { benchmark, settings, version }: Evaluation,
  { judge, answerer }: Means,
  partial: PartialResults,
): Promise<ResultsHead> {
  const { problems, restricted } = benchmark
  const rows = [...partial.samples.values()].map(rowOf)
  const counted = countProblems(problems, rows)
  return {
    sparring: version,
    settings,
    date: new Date().toISOString(),
    notes: [...benchmark.notes, ...(answerer.notes ?? [])],
    report: await makeReport(problems, rows, Number(partial.seconds.toFixed(1)), judge.same),
    problems: counted.map((row, i) => (restricted ? row : { ...row, problem: problems[i]!.problem })),
  }
}

function rowOf({ place: _, verdict, ...sample }: KeptSample): SampleRow {
  return { ...sample, ...verdict! }
}

/** Samples with their texts, by problem, then by number. */
async function* linesOf(problems: BenchmarkProblem[], partial: PartialResults): AsyncGenerator<SampleLine> {
  const sorted = [...partial.samples.values()].sort((a, b) => a.problem - b.problem || a.sample - b.sample)
  let i = 0
  for await (const { text } of partial.texts(sorted)) {
    const { problem, sample, right, extracted, reason, tokens, stop } = rowOf(sorted[i++]!)
    yield { problem: problems[problem]!.id, sample, right, extracted, reason, tokens, stop, text }
  }
}

/** Says in the user's words that a file cannot be written; other errors pass. */
async function keeping<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (SparringError.isInstance(error) || code === undefined || syscall === undefined) throw error
    const full = ['ENOSPC', 'EDQUOT'].includes(code)
    throw new CheckpointError(`${path} cannot be written: ${full ? 'the disk is full' : messageOf(error)}.`, {
      hint: `${full ? 'Free some space' : 'Mend that'}, then run the same command: it goes on from what is kept.`,
      cause: error,
    })
  }
}
