/** The discriminator's verdict: read from its text, and the probability that it would have said YES. */
import { joinSequence } from '../../core/datum.js'
import type { Rollout } from '../../core/rollout.js'
import type { FrozenPolicy, Tokenizer } from '../../engine/engine.js'

/** v: 1 = YES, 0 = NO. */
export type Verdict = 0 | 1

export interface ReadVerdict {
  verdict: Verdict
  /** Where the word stands in the text. */
  at: number
}

const words: Record<Verdict, string> = { 1: 'YES', 0: 'NO' }

/** The first `**YES**` or `**NO**`, else the first bare YES or NO in capitals; undefined where there is neither. */
export function readVerdict(text: string): ReadVerdict | undefined {
  const match = /\*\*\s*(YES|NO)\s*\*\*/.exec(text) ?? /\b(YES|NO)\b/.exec(text)
  if (!match) return undefined
  return { verdict: match[1] === 'YES' ? 1 : 0, at: match.index + match[0].indexOf(match[1]!) }
}

/** `analysis`, then the verdict on a line of its own, then why. */
export function verdictText(analysis: string, verdict: Verdict, rationale: string): string {
  return [analysis, `**${words[verdict]}**`, rationale].filter((part) => part !== '').join('\n')
}

/** Number of tokens that it takes to write at least the first `length` characters of their text. */
export function tokensForText(tokenizer: Tokenizer, tokens: Int32Array, length: number): number {
  let low = 0
  let high = tokens.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (tokenizer.decode(tokens.subarray(0, middle)).length >= length) high = middle
    else low = middle + 1
  }
  return low
}

export interface VerdictQuestion {
  prompt: Int32Array
  rollout: Rollout
  read: ReadVerdict
}

/** Where the verdict is decided, and the token that would have decided it the other way. */
export interface VerdictToken {
  /** Index among the completion's tokens. */
  at: number
  /** First token of the other word in the same place. */
  other: number
}

/** Undefined where both words begin with the same token. */
export function verdictToken(
  tokenizer: Tokenizer,
  { rollout, read }: VerdictQuestion,
): VerdictToken | undefined {
  const { tokens, text } = rollout
  const at = tokensForText(tokenizer, tokens, read.at + 1) - 1
  if (at < 0) return undefined
  const before = tokenizer.decode(tokens.subarray(0, at)).length
  const other = tokenizer.encode(text.slice(before, read.at) + words[read.verdict === 1 ? 0 : 1])[0]
  return other === undefined || other === tokens[at] ? undefined : { at, other }
}

/**
 * p_YES of each verdict: the softmax over both verdict tokens at the verdict's place, given the sampled analysis, at the
 * temperature it was sampled at:
 *
 *     p_YES = exp(l_YES / T) / (exp(l_YES / T) + exp(l_NO / T)),    l = log-probability of the word's first token
 *
 * @param policy the weights that sampled the verdicts
 * @returns in [0, 1]; undefined where the two words cannot be told apart by a token.
 */
export async function yesProbabilities(
  policy: FrozenPolicy,
  questions: readonly VerdictQuestion[],
  temperature: number,
): Promise<(number | undefined)[]> {
  const places = questions.map((question) => verdictToken(policy.tokenizer, question))
  const asked = questions.flatMap((question, i) => {
    const place = places[i]
    return place ? { ...otherEnding(question, place), i } : []
  })
  const logprobs = asked.length === 0 ? [] : await policy.logprobs(asked)
  const out: (number | undefined)[] = questions.map(() => undefined)
  asked.forEach(({ i }, row) => {
    const { rollout, read } = questions[i]!
    const gap = rollout.logprobs[places[i]!.at]! - logprobs[row]!.at(-1)!
    const toYes = read.verdict === 1 ? gap : -gap
    out[i] = 1 / (1 + Math.exp(-toYes / (temperature || 1)))
  })
  return out
}

/** The prompt and the analysis as sampled, with the other verdict as the last target. */
export function otherEnding({ prompt, rollout }: VerdictQuestion, { at, other }: VerdictToken) {
  return joinSequence(prompt, [...rollout.tokens.subarray(0, at), other])
}

/** The same with the verdict that was sampled. */
export function sampledEnding({ prompt, rollout }: VerdictQuestion, { at }: VerdictToken) {
  return joinSequence(prompt, rollout.tokens.subarray(0, at + 1))
}
