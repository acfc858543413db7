/** From a completion or a worked solution to the slices that are judged: the same way for both. */
import type { Config } from './config.js'
import { reasoningOf, type Slice, sliceText } from './slicer.js'

/** A slice of a completion; `start` and `end` are places in the completion. */
export interface Piece extends Slice {
  /** The slice behind as much of the text before it as the discriminator is shown. */
  shown: string
}

type CutSettings = Pick<Config, 'slicer' | 'judge' | 'partial_slices'>

/**
 * The slices of a text's reasoning, or its whole reasoning where that is judged. In partial traces the first
 * `partial_slices` alone.
 *
 * @param truncated the text was cut off: its last slice is not whole and is left out, unless it lies beyond those kept.
 */
export function cutPieces(
  text: string,
  truncated: boolean,
  { slicer, judge, partial_slices: first }: CutSettings,
  countTokens: (text: string) => number,
): Piece[] {
  const reasoning = reasoningOf(text)
  if (judge === 'solution') {
    const { text: whole, start } = reasoning
    const slice = { text: whole, start, end: start + whole.length, shown: whole }
    return whole.trim() === '' ? [] : [slice]
  }
  const slices = sliceText(reasoning.text, slicer, countTokens)
  const whole = truncated && !text.includes('</think>') ? slices.slice(0, -1) : slices
  const context = slicer.context === '' ? undefined : new RegExp(`(?:${slicer.context})$`, 'u')
  return (first > 0 ? whole.slice(0, first) : whole).map(({ text, start, end }) => ({
    text,
    start: reasoning.start + start,
    end: reasoning.start + end,
    shown: `${context?.exec(reasoning.text.slice(0, start))?.[0] ?? ''}${text}`,
  }))
}

/** `most` items evenly spaced, the first and the last among them; all where there are no more, or `most` is 0. */
export function evenlySpaced<T>(items: readonly T[], most: number): T[] {
  if (most === 0 || items.length <= most) return [...items]
  if (most === 1) return [items[0]!]
  return Array.from({ length: most }, (_, i) => items[Math.round((i * (items.length - 1)) / (most - 1))]!)
}
