/**
 * Content of the last box: `\boxed{...}` or `\fbox{...}`, braces inside balanced, of boxes inside boxes the innermost.
 * Escaped braces do not count, and a box that never closes is passed over for a later one. Undefined where there is
 * none, or where the text ends inside a box begun after the last finished one: the answer was being taken back.
 * One pass over the text.
 */
export function lastBoxed(text: string): string | undefined {
  const marks = /\\(?:boxed|fbox)\s*\{|\\[\s\S]|[{}]/g
  const open: { start: number; box: boolean }[] = []
  let best = { start: -1, end: -1 }
  for (const { 0: mark, index } of text.matchAll(marks)) {
    if (mark === '}') {
      const group = open.pop()
      if (group?.box && group.start > best.start) best = { start: group.start, end: index }
    } else if (mark.endsWith('{') && mark !== '\\{') {
      open.push({ start: index + mark.length, box: mark !== '{' })
    }
  }
  const unfinished = open.some((group) => group.box && group.start > best.start)
  return best.start < 0 || unfinished ? undefined : text.slice(best.start, best.end)
}
