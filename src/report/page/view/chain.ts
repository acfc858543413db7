/** An answer of GAR's reasoner as its slices, and what lies between them. */
import type { ChainSlice, JudgedSlice } from '../../api/match.js'

export interface Segment {
  start: number
  end: number
  /** Null between slices. */
  slice: ChainSlice | null
}

/** Segments that together are the text, in order. Of slices that overlap the later one begins where the first ends. */
export function segments(length: number, slices: readonly ChainSlice[]): Segment[] {
  const out: Segment[] = []
  let at = 0
  const placed = slices.filter(({ start, end }) => start !== null && end !== null)
  for (const slice of placed.sort((a, b) => a.start! - b.start!)) {
    const start = Math.max(at, Math.min(slice.start!, length))
    const end = Math.min(slice.end!, length)
    if (end <= start) continue
    if (start > at) out.push({ start: at, end: start, slice: null })
    out.push({ start, end, slice })
    at = end
  }
  if (at < length) out.push({ start: at, end: length, slice: null })
  return out
}

/** Judged slices by their place in a text, those that are not found in it without one; `piece` counts them as given. */
export function placeSlices(text: string, slices: readonly JudgedSlice[]): ChainSlice[] {
  return slices.map(({ shown, verdicts }, piece) => {
    const start = shown === '' ? -1 : text.indexOf(shown)
    return start < 0
      ? { start: null, end: null, piece, verdicts }
      : { start, end: start + shown.length, piece, verdicts }
  })
}

export type Stance = 'yes' | 'no' | 'split' | 'unread'

/** What the judges of a slice say together. */
export function stance(verdicts: readonly { verdict: 'YES' | 'NO' | null }[]): Stance {
  const said = new Set(verdicts.flatMap(({ verdict }) => verdict ?? []))
  if (said.size === 2) return 'split'
  if (said.has('YES')) return 'yes'
  return said.has('NO') ? 'no' : 'unread'
}

/**
 * Steps of a solution as a critic was shown them: the lines `Step N: ...` of its prompt, with the lines that go on. The mark
 * that ends a chat message is none of theirs.
 */
export function stepsOf(prompt: string): { number: number; text: string }[] {
  const heads = [...prompt.matchAll(/^Step (\d+):[ \t]?/gm)]
  return heads.map((head, i) => {
    const start = head.index + head[0].length
    const rest = prompt.slice(start, heads[i + 1]?.index)
    const text = i + 1 < heads.length ? rest : (rest.split('\n')[0] ?? '')
    return { number: Number(head[1]), text: text.replace(/\s+$|<\|[^|<>]*\|>$/g, '') }
  })
}
