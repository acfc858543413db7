/** A line of a rollouts file, whatever game wrote it: what is shown of it, and the numbers that it is found by. */
import type { Heat, Part, Rollout, RolloutRef, RolloutRow } from '../api/rollouts.js'
import { numberOf } from './journal.js'

export type RawRecord = Record<string, unknown>

/** Characters of a completion in a list, and in a match. */
const EXCERPT = 300
const SHOWN = 20_000

export function partsOf({ parts }: RawRecord): Record<string, Part> {
  return typeof parts === 'object' && parts !== null ? (parts as Record<string, Part>) : {}
}

/** The question or problem that a record is about. */
export function questionOf(record: RawRecord): string | null {
  const parts = partsOf(record)
  return textOf(parts.question) ?? textOf(parts.problem) ?? textOf(record.problem)
}

/** What became of it, in the record's own word: fate of a question, verdict on an answer, what a critique is of. */
export function outcomeOf(record: RawRecord): string | null {
  const { fate, kind, verdict, right } = partsOf(record)
  const own = textOf(fate) ?? textOf(kind) ?? textOf(verdict) ?? textOf(record.reason)
  return own ?? (typeof right === 'boolean' ? (right ? 'right' : 'wrong') : null)
}

/** Answers to held-out problems have no reward; 1 stands for right. */
export function rewardOf(record: RawRecord): number | null {
  return numberOf(record.reward) ?? (typeof record.right === 'boolean' ? Number(record.right) : null)
}

/** Pass rate of the question, or the share of its majority. */
export function rateOf(record: RawRecord): number | null {
  const { pass_rate, share } = partsOf(record)
  return numberOf(pass_rate) ?? numberOf(share)
}

export function rowOf(record: RawRecord, ref: RolloutRef): RolloutRow {
  const question = questionOf(record)
  return {
    ...ref,
    group: numberOf(record.group),
    index: numberOf(record.index) ?? numberOf(record.sample),
    text: (textOf(record.text) ?? '').slice(0, EXCERPT),
    question: question === null ? null : question.slice(0, EXCERPT),
    tokens: numberOf(record.tokens),
    stop: textOf(record.stop),
    logprob: numberOf(record.logprob),
    reward: rewardOf(record),
    advantage: numberOf(record.advantage),
    rate: rateOf(record),
    outcome: outcomeOf(record),
    trained: typeof record.trained === 'boolean' ? record.trained : null,
  }
}

/** @param whole gives texts to their ends. */
export function rolloutOf(record: RawRecord, ref: RolloutRef, whole = false): Rollout {
  const most = whole ? Number.POSITIVE_INFINITY : SHOWN
  const text = textOf(record.text) ?? ''
  const prompt = textOf(record.prompt) ?? ''
  const parts = { ...evalParts(record), ...partsOf(record) }
  return {
    ...rowOf(record, ref),
    prompt: prompt.slice(0, most),
    promptCut: prompt.length > most ? prompt.length : null,
    text: text.slice(0, most),
    cut: text.length > most ? text.length : null,
    parts: Object.fromEntries(
      Object.entries(parts).map(([name, part]) => [
        name,
        typeof part === 'string' ? part.slice(0, most) : part,
      ]),
    ),
    heat: heatOf(record, most),
  }
}

/** What a held-out answer says beside its text. */
function evalParts({ problem, answer, extracted, right, reason, sampling }: RawRecord): Record<string, Part> {
  if (problem === undefined) return {}
  return { problem, answer, extracted, right, reason, sampling } as Record<string, Part>
}

/** Tokens up to the last that begins within the text shown. */
function heatOf({ token_lengths: lengths, token_logprobs: logprobs }: RawRecord, shown: number): Heat | null {
  if (!Array.isArray(lengths) || !Array.isArray(logprobs) || lengths.length !== logprobs.length) return null
  let characters = 0
  let tokens = 0
  while (tokens < lengths.length && characters < shown) characters += lengths[tokens++]
  return { lengths: lengths.slice(0, tokens), logprobs: logprobs.slice(0, tokens) }
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
