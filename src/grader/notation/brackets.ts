/** Which bracket belongs to which. Half-open intervals mix kinds, and ]0, 1[ turns them around. */
import { type Token, Unreadable } from './tokens.js'

export interface Brackets {
  /** Index of the partner of each bracket, -1 for other tokens. */
  partner: Int32Array
  /** Indices of brackets that open although they look as if they closed, or the reverse. */
  reversed: Set<number>
}

const closers: Record<string, string[]> = {
  '(': [')', ']'],
  '[': [']', ')'],
  '{': ['}'],
  '\\{': ['\\}'],
  '⟨': ['⟩'],
  '⌊': ['⌋'],
  '⌈': ['⌉'],
}
const isCloser = new Set(Object.values(closers).flat())

/** Deepest nesting that is read. */
const MAX_DEPTH = 60

/** Throws Unreadable where a bracket has no partner. */
export function matchBrackets(tokens: Token[]): Brackets {
  const partner = new Int32Array(tokens.length).fill(-1)
  const reversed = new Set<number>()
  const open: { at: number; close: string[] }[] = []
  const signAt = (at: number) => (tokens[at]?.type === 'sign' ? tokens[at].text : undefined)
  const pair = (a: number, b: number) => {
    partner[a] = b
    partner[b] = a
  }
  for (let at = 0; at < tokens.length; at++) {
    const sign = signAt(at)
    if (sign === undefined) continue
    const top = open.at(-1)
    if (sign === ']' && startsItem(signAt(at - 1), at)) {
      reversed.add(at)
      open.push({ at, close: ['[', ']'] })
    } else if (sign === '[' && top !== undefined && endsItem(at) && reversible(top.at)) {
      reversed.add(at)
      pair(open.pop()!.at, at)
    } else if (Object.hasOwn(closers, sign)) {
      open.push({ at, close: closers[sign]! })
      if (open.length > MAX_DEPTH) throw new Unreadable()
    } else if (isCloser.has(sign)) {
      if (!top?.close.includes(sign)) throw new Unreadable()
      pair(open.pop()!.at, at)
    }
  }
  if (open.length > 0) throw new Unreadable()
  return { partner, reversed }

  function startsItem(before: string | undefined, at: number): boolean {
    return at === 0 || (before !== undefined && ['∪', '∩', '=', '∈', '∖'].includes(before))
  }
  function endsItem(at: number): boolean {
    const next = signAt(at + 1)
    return at === tokens.length - 1 || (next !== undefined && ['∪', '∩', '∖', ','].includes(next))
  }
  function reversible(at: number): boolean {
    return reversed.has(at) || signAt(at) === '[' || signAt(at) === '('
  }
}
