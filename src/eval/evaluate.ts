/** Accuracy of a policy on problems with known answers: pass@1 as the mean over samples, or greedy. */
import { randomStream } from '../core/random.js'
import { collect, type FrozenPolicy } from '../engine/engine.js'
import { type ChatPrompt, encodePrompt } from '../games/chat.js'
import type { Grader } from '../grader/grader.js'
import { accuracyInterval } from './interval.js'

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

export async function evaluate(
  policy: FrozenPolicy,
  problems: EvalProblem[],
  options: EvalOptions,
): Promise<EvalReport> {
  const records: EvalRecord[] = []
  for (let from = 0; from < problems.length; from += BATCH) {
    options.signal?.throwIfAborted()
    const batch = problems.slice(from, from + BATCH)
    records.push(...(await answer(policy, batch, from, options)))
    options.progress?.(Math.min(from + BATCH, problems.length), problems.length)
  }
  return summarise(records, problems.length, options)
}

async function answer(
  policy: FrozenPolicy,
  problems: EvalProblem[],
  from: number,
  options: EvalOptions,
): Promise<EvalRecord[]> {
  const requests = problems.map(({ problem }, i) => {
    const prompt = encodePrompt(policy.tokenizer, options.prompt(problem))
    return { prompt, n: options.samples, seed: randomStream(options.seed, 'eval', from + i).int(2 ** 31) }
  })
  const params = {
    maxTokens: options.maxTokens,
    temperature: options.temperature,
    topP: options.topP ?? 1,
    topK: 0,
    stop: [],
  }
  const rollouts = await collect(policy.sample(requests, params, options.signal))
  const verdicts = await options.grader.grade(
    rollouts.map((rollout) => ({ gold: problems[rollout.request]!.answer, prediction: rollout.text })),
  )
  return rollouts.map((rollout, i) => ({
    problem: problems[rollout.request]!.problem,
    answer: problems[rollout.request]!.answer,
    sample: rollout.index,
    text: rollout.text,
    extracted: verdicts[i]!.extracted,
    right: verdicts[i]!.equal,
    reason: verdicts[i]!.reason,
    tokens: rollout.tokens.length,
    stop: rollout.stop,
  }))
}

function summarise(records: EvalRecord[], n: number, { samples, temperature }: EvalOptions): EvalReport {
  const shares = Array.from({ length: n }, (_, i) =>
    share(records.slice(i * samples, (i + 1) * samples), ({ right }) => right),
  )
  const { mean, low, high } = accuracyInterval(shares, samples)
  return {
    n,
    samples,
    temperature,
    accuracy: mean,
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
