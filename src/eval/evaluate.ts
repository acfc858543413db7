/** Accuracy of a policy on problems with known answers, kept in memory: what the yardsticks of a run need. */
import { randomStream } from '../core/random.js'
import type { ChatPrompt } from '../games/chat.js'
import type { Grader } from '../grader/grader.js'
import type { Answer, Answerer } from './answerer.js'
import { accuracyInterval } from './interval.js'
import { mapUnordered } from './unordered.js'

export interface EvalProblem {
  problem: string
  answer: string
}

/** How a problem is put to the model. */
export type Prompt = (problem: string) => ChatPrompt

export interface EvalOptions {
  grader: Grader
  prompt: Prompt
  /** Samples a problem. */
  samples: number
  /** 0 = greedy. */
  temperature: number
  topP?: number
  maxTokens: number
  /** The same seed draws the same samples: two policies are compared on common random numbers. */
  seed: number
  signal?: AbortSignal
  progress?: (done: number, total: number) => void
}

export interface EvalRecord {
  problem: string
  answer: string
  sample: number
  text: string
  extracted: string | null
  right: boolean
  /** Of the grader. */
  reason: string
  tokens: number
  stop: string
}

export interface EvalReport {
  /** Problems. */
  n: number
  samples: number
  temperature: number
  /** Mean over problems of the share of right samples, with its 95 % interval (see `accuracyInterval`). */
  accuracy: number
  low: number
  high: number
  /** Share of samples that reached the token limit. */
  truncatedFrac: number
  /** Share of samples with no answer to take. */
  unansweredFrac: number
  records: EvalRecord[]
}

/** Problems whose samples are in flight at once, so that progress and Ctrl-C come in steps. */
const BATCH = 64

/** Answers in grading at once: more would only wait in memory. */
export const GRADING = 64

/** Seed of the samples of a problem; `sample` is left out where all samples of the problem are one request. */
export function problemSeed(seed: number, problem: number, sample = 0): number {
  return randomStream(seed, 'eval', problem, ...(sample > 0 ? [sample] : [])).int(2 ** 31)
}

export async function evaluate(
  answerer: Answerer,
  problems: EvalProblem[],
  options: EvalOptions,
): Promise<EvalReport> {
  const records: EvalRecord[] = []
  for (let from = 0; from < problems.length; from += BATCH) {
    options.signal?.throwIfAborted()
    records.push(...(await answerBatch(answerer, problems.slice(from, from + BATCH), from, options)))
    options.progress?.(Math.min(from + BATCH, problems.length), problems.length)
  }
  return summarise(records, problems.length, options)
}

async function answerBatch(
  answerer: Answerer,
  problems: EvalProblem[],
  from: number,
  { grader, prompt, samples, temperature, topP = 1, maxTokens, seed, signal }: EvalOptions,
): Promise<EvalRecord[]> {
  const requests = problems.map(({ problem }, i) => ({
    prompt: prompt(problem),
    n: samples,
    seed: problemSeed(seed, from + i),
  }))
  const params = { maxTokens, temperature, topP, stop: [] }
  const grade = async ({ request, index, text, tokens, stop }: Answer) => {
    const { problem, answer } = problems[request]!
    const [verdict] = await grader.grade([{ gold: answer, prediction: text }])
    const { extracted, equal: right, reason } = verdict!
    const record = { problem, answer, sample: index, text, extracted, right, reason, tokens, stop }
    return { request, record }
  }
  const graded: Awaited<ReturnType<typeof grade>>[] = []
  const ask = (ending: AbortSignal) => answerer.answer(requests, params, ending)
  for await (const each of mapUnordered(ask, GRADING, grade, signal)) graded.push(each)
  graded.sort((a, b) => a.request - b.request || a.record.sample - b.record.sample)
  return graded.map(({ record }) => record)
}

function summarise(records: EvalRecord[], n: number, { samples, temperature }: EvalOptions): EvalReport {
  const shares = Array.from({ length: n }, (_, i) =>
    share(records.slice(i * samples, (i + 1) * samples), ({ right }) => right),
  )
  const { low, high } = accuracyInterval(shares, samples)
  return {
    n,
    samples,
    temperature,
    accuracy: share(records, ({ right }) => right),
    low,
    high,
    truncatedFrac: share(records, ({ stop }) => stop === 'length'),
    unansweredFrac: share(records, ({ extracted }) => extracted === null),
    records,
  }
}

function share(records: EvalRecord[], holds: (record: EvalRecord) => boolean): number {
  return records.filter(holds).length / records.length
}
