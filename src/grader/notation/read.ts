/** Readings of an answer: as mathematics, in one or more ways, and as words. */
import type { Node } from '../maths/node.js'
import { NoValue } from '../maths/rational.js'
import { clean } from './clean.js'
import { parse } from './parse.js'
import { type Reading, tokenise, Unreadable } from './tokens.js'

export interface Answer {
  /** Spelling without differences that mean nothing. */
  text: string
  /** Most likely first; none where it is no mathematics. */
  readings: Node[]
  /** Words alone, in lower case; empty where the text cannot be words. */
  words: string
  /** Whether it is words and nothing else: no brackets, no digits, at least two letters. */
  isProse: boolean
}

/** Length beyond which an answer is compared as text only. */
const MAX_LENGTH = 5000

/** Undefined where nothing can be made of the text: it is empty, or its brackets do not match. */
export function readAnswer(raw: string, role: 'gold' | 'prediction' = 'gold'): Answer | undefined {
  const text = trimmed(raw)
  if (text === '') return undefined
  if (text.length > MAX_LENGTH) return { text, readings: [], words: '', isProse: false }
  const readings = readingsOf(text, role)
  const words = wordsOf(text)
  if (readings.length === 0 && (words === '' || !isBalanced(text))) return undefined
  const isProse = /^[\p{L}'’ -]{2,}$/u.test(words) && !/[()[\]]/.test(text)
  return { text, readings, words, isProse }
}

const before =
  /(?:\s|\*\*|__|[`"“”]|\\[,;:! ]|~|\\\(|\\\[|\$(?!\d)|\\displaystyle(?![a-zA-Z])|\\q?quad(?![a-zA-Z]))+/y
const after = /(?:\s|\*\*|__|[`"“”.;,:~$]|\\[,;:! \\]?|\\\)|\\\]|\\q?quad)$/

/** Characters of the end that one piece of dressing can take. */
const WINDOW = 8

/** Without what surrounds an answer: spaces, emphasis, quotes, signs of mathematics, the end of a sentence. */
function trimmed(raw: string): string {
  const text = raw.trim()
  if (text.length > 2 * MAX_LENGTH) return text
  const cleaned = clean(text)
  before.lastIndex = 0
  const start = before.test(cleaned) ? before.lastIndex : 0
  let end = cleaned.length
  for (;;) {
    const found = after.exec(cleaned.slice(Math.max(start, end - WINDOW), end))
    if (found === null) return cleaned.slice(start, end)
    end -= found[0].length
  }
}

function readingsOf(text: string, role: 'gold' | 'prediction'): Node[] {
  const readings: Node[] = []
  const time = timeOf(text)
  if (time !== undefined) readings.push(time)
  const spellings: [string, Reading][] = [[text, { grouping: true }]]
  if (/\d,\d{3}(?!\d)/.test(text)) spellings.push([text, { grouping: false }])
  // A gold answer of 2m may be twice m; who says 2m where 2 is asked for has added a unit.
  if (role === 'prediction' && /\d[a-zA-Z](?![a-zA-Z])/.test(text))
    spellings.push([text, { grouping: true, looseUnits: true }])
  const decimalComma = /^([^\d,]{0,3}\d+),(\d{2}|\d{4,})(?![\d,])([^\d,]*)$|^(-?0),(\d{3})(?!\d)$/.exec(text)
  if (decimalComma) {
    const [, whole, fraction, rest, zero, after] = decimalComma
    spellings.push([`${whole ?? zero}.${fraction ?? after}${rest ?? ''}`, { grouping: true }])
  }
  const continental = /^(-?\d{1,3}(?:\.\d{3})+),(\d+)$/.exec(text)
  if (continental)
    spellings.push([`${continental[1]!.replaceAll('.', '')}.${continental[2]}`, { grouping: true }])
  for (const [spelling, reading] of spellings) {
    const node = parsed(spelling, reading)
    if (node !== undefined) readings.push(node)
  }
  return readings
}

function parsed(text: string, reading: Reading): Node | undefined {
  try {
    return parse(tokenise(text, reading), reading)
  } catch (error) {
    if (error instanceof Unreadable || error instanceof NoValue || error instanceof RangeError)
      return undefined
    throw error
  }
}

/** Of a day, or a duration in hours: 20:34, 20:34:00, 8:34 p.m. */
function timeOf(text: string): Node | undefined {
  const plain = text.replace(/\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}|\\[,;: ]/g, ' $1 ')
  const match = /^\s*(\d{1,2}):([0-5]\d)(?::([0-5]\d))?\s*(?:([ap])\.?\s?m\.?)?\s*$/i.exec(plain)
  if (match === null) return undefined
  const [, hours, minutes, seconds = '0', half] = match
  const hour =
    half === undefined ? Number(hours) : (Number(hours) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  return { kind: 'time', seconds: hour * 3600 + Number(minutes) * 60 + Number(seconds) }
}

/** Letters and digits of a text in lower case, a space between words. Empty where it holds signs of mathematics. */
function wordsOf(text: string): string {
  const plain = text
    .replace(/\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)(?![a-zA-Z])/g, ' ')
    .replace(/\\[,;:!\s]|[{}$~]|\\(?:left|right|quad|qquad)(?![a-zA-Z])/g, ' ')
  if (/[\\^_=<>+*/|]/.test(plain) || !/\p{L}/u.test(plain)) return ''
  const words = plain.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? []
  return words.join(' ')
}

function isBalanced(text: string): boolean {
  let depth = 0
  for (const { 0: mark } of text.matchAll(/\\[\s\S]|[{}]/g)) {
    if (mark === '{') depth++
    else if (mark === '}' && --depth < 0) return false
  }
  return depth === 0
}
