/**
 * Whether two short answers state the same value. Strict: a wrong "equal" teaches a model to cheat, a wrong "different"
 * costs one sample. The work grows linearly with the text, so nothing an answer holds can hang it.
 */
import { normalise } from './normalise.js'
import { canonicalNumber } from './number.js'

/** Texts beyond this length, and lists nested deeper than this, are compared as normalised text only. */
const MAX_LENGTH = 10_000
const MAX_DEPTH = 8

/**
 * Equal after normalisation, or equal as exact rationals, or lists of such: in order in (), [] or without brackets, as
 * sets in {}. Brackets must match, an expression is not its value (`3+4` is not `7`), letters keep their case, and an
 * empty answer equals nothing.
 */
export function isEquivalent(gold: string, prediction: string): boolean {
  const a = normalise(gold)
  const b = normalise(prediction)
  if (a === '' || b === '') return false
  if (a === b) return true
  return a.length <= MAX_LENGTH && b.length <= MAX_LENGTH && keyOf(a, 0) === keyOf(b, 0)
}

/** A text that two answers share exactly when they are equal. The first letter keeps the kinds of answers apart. */
function keyOf(text: string, depth: number): string {
  const number = canonicalNumber(text)
  if (number !== undefined) return `n${number}`
  if (depth > MAX_DEPTH) return `t${text}`
  const { open, inside, close } = unwrap(text)
  const parts = splitList(inside)
  if (open === '(' && close === ')' && parts.length === 1) return keyOf(inside, depth + 1)
  if (open === '' && parts.length === 1) return `t${text}`
  const keys = parts.map((part) => keyOf(part.trim(), depth + 1))
  if (keys.includes('t')) return `t${text}`
  const isSet = open === '{'
  return `l${JSON.stringify([open, isSet ? [...new Set(keys)].sort() : keys, close])}`
}

const opening = ['(', '[', '{']
const closing = [')', ']', '}']

/** Takes off brackets that open and close the whole text; `(0,1]` counts. Escaped braces are braces of a set. */
function unwrap(text: string): { open: string; inside: string; close: string } {
  const bare = { open: '', inside: text, close: '' }
  const escaped = text.startsWith('\\{') && text.endsWith('\\}')
  const whole = escaped ? `${text.slice(1, -2)}}` : text
  if (!opening.includes(whole[0]!) || !closing.includes(whole.at(-1)!)) return bare
  let depth = 0
  for (let i = 0; i < whole.length; i++) {
    if (opening.includes(whole[i]!)) depth++
    else if (closing.includes(whole[i]!)) depth--
    if (depth === 0 && i < whole.length - 1) return bare
  }
  return depth === 0 ? { open: whole[0]!, inside: whole.slice(1, -1), close: whole.at(-1)! } : bare
}

/** Parts between the commas that stand in no brackets. */
function splitList(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (opening.includes(text[i]!)) depth++
    else if (closing.includes(text[i]!)) depth--
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  return [...parts, text.slice(start)]
}
