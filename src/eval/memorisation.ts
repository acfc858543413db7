/**
 * Memorisation probe (PasoDoble, arXiv 2511.11881, methods 7): a model is given the beginning of a question and goes on
 * greedily, without a chat template. Where it writes the rest, the question may come from its training data rather than
 * from the proposer.
 */
import type { FrozenPolicy, SampleRequest } from '../engine/engine.js'
import { accuracyInterval, type Interval } from './interval.js'

export interface Continuation {
  question: string
  /** Share of the question's tokens that was given, as asked for. */
  prefix: number
  /** The rest of the question. */
  rest: string
  /** What the model wrote instead, at most as many tokens as the rest has. */
  continuation: string
  /** Whether they are equal, white space at both ends apart. */
  exact: boolean
  /** See `rougeL`; of the rest and the continuation. */
  rougeL: number
}

export interface MemorisationOptions {
  /** Shares of a question's tokens to give, each in (0, 1). */
  prefixes: readonly number[]
  signal?: AbortSignal
  progress?: (done: number, total: number) => void
}

/** Continuations asked for at once: those of like length, since the longest says how far all may go. */
const BATCH = 256

/**
 * Continuations of every question for every prefix, in that order of prefixes; questions of a single token, which cannot be
 * cut, are left out. A question of T tokens is cut behind round(prefix T) of them, at least one and at most T - 1.
 */
export async function continueQuestions(
  policy: FrozenPolicy,
  questions: readonly string[],
  { prefixes, signal, progress }: MemorisationOptions,
): Promise<Continuation[]> {
  const { tokenizer } = policy
  const encoded = questions.map((question) => ({ question, tokens: tokenizer.encode(question) }))
  const cuts = prefixes.flatMap((prefix) =>
    encoded
      .filter(({ tokens }) => tokens.length > 1)
      .map(({ question, tokens }) => ({ question, prefix, ...cut(tokens, prefix) })),
  )
  const order = cuts.map((_, i) => i).sort((a, b) => cuts[a]!.rest.length - cuts[b]!.rest.length || a - b)
  const out: Continuation[] = Array(cuts.length)
  for (let from = 0; from < order.length; from += BATCH) {
    const batch = order.slice(from, from + BATCH)
    const written = await greedy(
      policy,
      batch.map((i) => cuts[i]!),
      signal,
    )
    batch.forEach((i, j) => {
      const { question, prefix, rest: tokens } = cuts[i]!
      const rest = tokenizer.decode(tokens)
      const continuation = tokenizer.decode(written[j]!.subarray(0, tokens.length))
      const exact = continuation.trim() === rest.trim()
      out[i] = { question, prefix, rest, continuation, exact, rougeL: rougeL(rest, continuation) }
    })
    progress?.(Math.min(from + BATCH, order.length), order.length)
  }
  return out
}

interface Cut {
  given: Int32Array
  rest: Int32Array
}

function cut(tokens: Int32Array, prefix: number): Cut {
  const at = Math.min(Math.max(Math.round(prefix * tokens.length), 1), tokens.length - 1)
  return { given: tokens.slice(0, at), rest: tokens.slice(at) }
}

async function greedy(
  policy: FrozenPolicy,
  cuts: readonly Cut[],
  signal?: AbortSignal,
): Promise<Int32Array[]> {
  const requests: SampleRequest[] = cuts.map(({ given }) => ({ prompt: given, n: 1, seed: 0 }))
  const maxTokens = Math.max(...cuts.map(({ rest }) => rest.length))
  const params = { maxTokens, temperature: 0, topP: 1, topK: 0, stop: [] }
  const written: Int32Array[] = Array(cuts.length)
  for await (const { request, tokens } of policy.sample(requests, params, signal)) written[request] = tokens
  return written
}

export interface MemorisationRow {
  prefix: number
  /** Questions. */
  n: number
  /** Share of exact matches, with Wilson's 95 % interval. */
  exact: Interval
  /** Mean, with its 95 % interval of 1.96 s / sqrt(n) to both sides. */
  rougeL: Interval
}

/** A row for every prefix, in the order in which they come. */
export function memorisationRows(continuations: readonly Continuation[]): MemorisationRow[] {
  const prefixes = [...new Set(continuations.map(({ prefix }) => prefix))]
  return prefixes.map((prefix) => {
    const of = continuations.filter((each) => each.prefix === prefix)
    return {
      prefix,
      n: of.length,
      exact: accuracyInterval(
        of.map(({ exact }) => Number(exact)),
        1,
      ),
      rougeL: accuracyInterval(
        of.map((each) => each.rougeL),
        2,
      ),
    }
  })
}

/**
 * ROUGE-L (Lin, 2004) of two texts, in [0, 1], with L the length of the longest common subsequence of their words:
 *
 *     R = L / words of the reference,   P = L / words of the candidate,   F = 2 P R / (P + R)
 *
 * A word is a run of letters and digits of any script, in lower case, or any other single sign but white space: in
 * mathematics signs matter as much as words. Two texts without words give 1, one without gives 0.
 */
export function rougeL(reference: string, candidate: string): number {
  const [a, b] = [wordsOf(reference), wordsOf(candidate)]
  if (a.length === 0 || b.length === 0) return Number(a.length === b.length)
  // 2 P R / (P + R) with P = L / |b| and R = L / |a|.
  return (2 * commonSubsequence(a, b)) / (a.length + b.length)
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+|\S/gu) ?? []
}

/** Length of the longest common subsequence. */
function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  let row = new Uint32Array(b.length + 1)
  for (const word of a) {
    const next = new Uint32Array(b.length + 1)
    for (let j = 1; j <= b.length; j++) {
      next[j] = word === b[j - 1] ? row[j - 1]! + 1 : Math.max(row[j]!, next[j - 1]!)
    }
    row = next
  }
  return row[b.length]!
}
