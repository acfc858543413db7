/**
 * Slices: coherent pieces of a reasoning text (arXiv 2512.16917, section 3 and appendix D). The text is split at
 * delimiters; neighbours are merged until a new thought begins or a slice is full. Slices join to the text, to the
 * character, and no cut falls into a formula or a code block.
 */
export interface SlicerSettings {
  /** Regular expression; the text is cut behind its matches. */
  delimiter: string
  /** What a segment begins with where a new thought begins; none: every segment begins one. */
  markers: readonly string[]
  /** Tokens that a slice should have before it may end. */
  min_tokens: number
  /** L: tokens that a slice should not exceed. */
  max_tokens: number
}

/** A slice and where it stands in the text that was sliced, [start, end) in UTF-16 units. */
export interface Slice {
  text: string
  start: number
  end: number
}

/** A last slice below the minimum joins the one before it up to this share of L. */
const OVERFULL = 1.25

/**
 * Cuts a text into slices. With a buffer of segments: it is flushed before segment g where it has `min_tokens` and g
 * begins a new thought, or where g would take it beyond L. A segment longer than L is cut at sentence ends, then at
 * spaces, then anywhere but inside a formula or code block, which may therefore exceed L. A text of spaces has no slice.
 *
 * @param countTokens length of a text in tokens; lengths of joined texts are taken as sums.
 */
export function sliceText(
  text: string,
  settings: SlicerSettings,
  countTokens: (text: string) => number,
): Slice[] {
  if (text.trim() === '') return []
  const { min_tokens: least, max_tokens: most } = settings
  const isStart = startsThought(settings.markers)
  const parts: Part[] = []
  let buffer: Part = { text: '', tokens: 0 }
  const flush = () => {
    if (buffer.text !== '') parts.push(buffer)
    buffer = { text: '', tokens: 0 }
  }
  for (const segment of segments(text, settings, countTokens)) {
    const isBlank = segment.text.trim() === ''
    const begins = buffer.tokens >= least && isStart(segment.text)
    const overflows = buffer.tokens + segment.tokens > most
    if (buffer.text.trim() !== '' && !isBlank && (begins || overflows)) flush()
    buffer = join(buffer, segment)
  }
  flush()
  const last = parts.at(-1)!
  const before = parts.at(-2)
  if (before && last.tokens < least && before.tokens + last.tokens <= OVERFULL * most) {
    parts.splice(-2, 2, join(before, last))
  }
  let end = 0
  return parts.map(({ text }) => {
    const start = end
    end += text.length
    return { text, start, end }
  })
}

interface Part {
  text: string
  tokens: number
}

const join = (a: Part, b: Part): Part => ({ text: a.text + b.text, tokens: a.tokens + b.tokens })

function segments(text: string, settings: SlicerSettings, countTokens: (text: string) => number): Part[] {
  const count = (text: string): Part => ({ text, tokens: countTokens(text) })
  const refine = (part: Part, [finer, ...rest]: RegExp[]): Part[] => {
    if (part.tokens <= settings.max_tokens || !finer) return [part]
    return pack(
      splitBehind(part.text, finer).flatMap((piece) => refine(count(piece), rest)),
      settings.max_tokens,
    )
  }
  const finer = [/[.!?]\s+/gu, /\s+/gu, /[\s\S]/gu]
  return splitBehind(text, new RegExp(settings.delimiter, 'gu')).flatMap((piece) =>
    refine(count(piece), finer),
  )
}

/** Joins neighbours for as long as they have `most` tokens together at most. */
function pack(parts: readonly Part[], most: number): Part[] {
  const packed: Part[] = []
  for (const part of parts) {
    const last = packed.at(-1)
    if (last && last.tokens + part.tokens <= most) packed[packed.length - 1] = join(last, part)
    else packed.push(part)
  }
  return packed
}

/** The text cut behind every match; a match that is empty, or whose end lies inside a protected range, cuts in no other place. */
function splitBehind(text: string, delimiter: RegExp): string[] {
  const ranges = protectedRanges(text)
  const cuts = [...text.matchAll(delimiter)]
    .map((match) => match.index + match[0].length)
    .filter((cut) => cut > 0 && cut < text.length)
    .filter((cut) => !ranges.some(([from, to]) => cut > from && cut < to))
  const edges = [0, ...cuts, text.length]
  return edges.slice(1).flatMap((to, i) => (to > edges[i]! ? text.slice(edges[i]!, to) : []))
}

/** Displayed formulas and fenced code, as [from, to). What is opened and never closed protects nothing. */
export function protectedRanges(text: string): [number, number][] {
  const blocks = /```[\s\S]*?```|\$\$[\s\S]*?\$\$|\\\[[\s\S]*?\\\]/g
  return [...text.matchAll(blocks)].map((match) => [match.index, match.index + match[0].length])
}

/** Whether a segment begins with a marker, list and bold marks aside; a marker that is a word must end there. */
function startsThought(markers: readonly string[]): (segment: string) => boolean {
  if (markers.length === 0) return () => true
  const ordered = markers.map((marker) => ({ marker, isWord: /\w$/.test(marker) }))
  return (segment) => {
    const text = segment.replace(/^(?:\s|[-*+>]\s|#+\s|\d+[.)]\s|\*\*|__)+/, '')
    return ordered.some(
      ({ marker, isWord }) => text.startsWith(marker) && !(isWord && /^\w/.test(text.slice(marker.length))),
    )
  }
}

/** The paper names the first three; the others are of their kind. */
export const defaultMarkers = [
  ...['Wait', 'Since', 'Therefore', 'Thus', 'Hence', 'So', 'Now', 'Next', 'First', 'Second', 'Then', 'But'],
  ...['However', 'Alternatively', 'Let me', "Let's", 'Hmm', 'Okay', 'OK', 'Case', 'Step', 'Finally'],
  ...['Suppose', 'Assume', 'Given'],
]

/**
 * The reasoning of a completion: what stands between `<think>` and `</think>`; from the start where thinking is not
 * opened in the completion itself, to the end where it is never closed. `start` is its place in the completion.
 */
export function reasoningOf(completion: string): { text: string; start: number } {
  const close = completion.indexOf('</think>')
  const open = completion.indexOf('<think>')
  const start = open >= 0 && (close < 0 || open < close) ? open + '<think>'.length : 0
  return { text: completion.slice(start, close < 0 ? undefined : close), start }
}
