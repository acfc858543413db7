/** Answers in `\boxed{...}` or `\fbox{...}`. One pass over the text each. */

interface Box {
  /** Of the command, of the content, of the end of the content. */
  command: number
  start: number
  end: number
}

interface Boxes {
  /** Finished boxes in the order of their starts. */
  finished: Box[]
  /** Whether the text ends inside a box begun after the last finished one: the answer was being taken back. */
  takenBack: boolean
}

/** Braces inside are balanced; escaped ones do not count. */
function boxesOf(text: string): Boxes {
  const marks = /\\(?:boxed|f(?:rame)?box)\s*\{|\\[\s\S]|[{}]/g
  const open: { command: number; start: number; box: boolean }[] = []
  const finished: Box[] = []
  let newest = -1
  for (const { 0: mark, index } of text.matchAll(marks)) {
    if (mark === '}') {
      const group = open.pop()
      if (group?.box) {
        finished.push({ command: group.command, start: group.start, end: index })
        newest = Math.max(newest, group.start)
      }
    } else if (mark.endsWith('{') && mark !== '\\{') {
      open.push({ command: index, start: index + mark.length, box: mark !== '{' })
    }
  }
  const takenBack = open.some((group) => group.box && group.start > newest)
  return { finished: finished.sort((a, b) => a.start - b.start), takenBack }
}

/**
 * Content of the last box, of boxes inside boxes the innermost; a box that never closes is passed over for a later one.
 * Undefined where there is none, or where the text ends inside a box begun after the last finished one.
 */
export function lastBoxed(text: string): string | undefined {
  const { finished, takenBack } = boxesOf(text)
  const last = finished.at(-1)
  return last === undefined || takenBack ? undefined : text.slice(last.start, last.end)
}

/** What may stand between boxes that hold one answer in parts: commas, "and", "or", "for part (a)". */
const joint =
  /^(?:[\s$,;&+]|\\[()[\],;: ]|\\quad|\\qquad|\\text(?:rm)?\s*\{[^{}]{0,60}\}|\b(?:and|or)\b|[a-zA-Z](?:_\{?\d\}?)?\s*=|(?:for|in) part \(?\w\)?)*$/
const words = /\\text(?:rm)?\s*\{([^{}]*)\}/g
const plainWords = /^\s*(?:and|or|,|;|(?:for|in) part \(?\w\)?|(?:and|or) (?:for|in) part \(?\w\)?|\s)*\s*$/

/** A box whose content only approximates the one before. */
const approximation = /^\s*(?:\\approx|≈|\\simeq)/

/** A box that TeX gives the next token to. */
const bare = /\\(?:boxed|f(?:rame)?box)\s+(\\?[^\s\\{}$.]+)/g

/** Boxes that one answer can be spread over. */
const MAX_PARTS = 100

/** Gap between boxes beyond which they are no parts of one answer, characters. */
const MAX_GAP = 120

/**
 * Content of the last box, or of the boxes that end the text's last list of boxes, joined by commas. A box that
 * approximates the one before it is left out. `\boxed 7` counts where no box has braces. Undefined as for `lastBoxed`.
 */
export function boxedAnswer(text: string): string | undefined {
  const { finished, takenBack } = boxesOf(text)
  if (takenBack) return undefined
  const boxes = outermost(text, finished)
  let at = boxes.length - 1
  if (at < 0) return [...text.matchAll(bare)].at(-1)?.[1]
  while (at > 0 && (approximation.test(boxes[at]!.content) || approximation.test(between(text, boxes, at))))
    at--
  const parts = [boxes[at]!.content]
  while (at > 0 && parts.length < MAX_PARTS && isJoint(between(text, boxes, at)))
    parts.push(boxes[--at]!.content)
  return new Set(parts).size === 1 ? parts[0] : parts.reverse().join(', ')
}

function isWhole(text: string, outer: Box, inner: Box): boolean {
  if (inner.command - outer.start > MAX_GAP || outer.end - inner.end > MAX_GAP) return false
  return `${text.slice(outer.start, inner.command)}${text.slice(inner.end + 1, outer.end)}`.trim() === ''
}

/** Boxes that stand in no other; of a box whose whole content is a box, the content of that one. */
function outermost(text: string, finished: Box[]): { command: number; after: number; content: string }[] {
  const result: { command: number; after: number; content: string }[] = []
  for (let i = 0; i < finished.length; ) {
    const box = finished[i]!
    let source = box
    for (i++; i < finished.length && finished[i]!.command < box.end; i++) {
      if (finished[i]!.end < source.end && isWhole(text, source, finished[i]!)) source = finished[i]!
    }
    result.push({ command: box.command, after: box.end + 1, content: text.slice(source.start, source.end) })
  }
  return result
}

function between(text: string, boxes: { command: number; after: number }[], at: number): string {
  return text.slice(boxes[at - 1]!.after, boxes[at]!.command)
}

function isJoint(gap: string): boolean {
  if (gap.length > MAX_GAP || !joint.test(gap)) return false
  return [...gap.matchAll(words)].every(([, content]) => plainWords.test(content!))
}
