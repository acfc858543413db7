import type { StopReason } from '../core/rollout.js'
import type { SampleParams, Tokenizer } from './engine.js'

/** A completion as text: without end-of-text tokens, and up to what stopped it. */
export function completionText(
  tokenizer: Tokenizer,
  { tokens, stop }: { tokens: Int32Array; stop: StopReason },
  params: Pick<SampleParams, 'stop' | 'stopIds'>,
): string {
  if (stop !== 'stop') return tokenizer.decode(tokens)
  if (params.stopIds?.includes(tokens.at(-1)!)) return tokenizer.decode(tokens.subarray(0, -1))
  const text = tokenizer.decode(tokens)
  const ends = params.stop.map((s) => text.indexOf(s)).filter((at) => at >= 0)
  return ends.length > 0 ? text.slice(0, Math.min(...ends)) : text
}
