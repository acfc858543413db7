/** Readings of an answer: as mathematics, in one or more ways, and as words. */
import type { Node } from '../maths/node.js'
import { NoValue } from '../maths/rational.js'
import { clean } from './clean.js'
import { parse } from './parse.js'
import { plainly } from './phrasing.js'
import { type Reading, tokenise, Unreadable } from './tokens.js'

export interface Answer {
  /** Spelling without differences that mean nothing. */
  text: string
  /** Most likely first; none where it is no mathematics. */
  readings: Node[]
  /** The text as a list, where its commas more likely group the digits of a number: 100,200. */
  list?: Node
  /** Without typesetting and in lower case, for what is no mathematics. */
  words: string
  /** Whether it is words and nothing else. */
  isProse: boolean
}

/** Digits that commas could group, or part from each other. */
const groups = /[1-9]\d{2},[1-9]\d{2}(?!\d)/

/** Length beyond which an answer is compared as text only. */
const MAX_LENGTH = 5000

/** Undefined where nothing can be made of the text: it is empty, or its brackets do not match. */
export function readAnswer(raw: string, role: 'gold' | 'prediction' = 'gold'): Answer | undefined {
  const bare = trimmed(raw)
  const text = bare.length > MAX_LENGTH ? bare : plainly(bare)
  if (text === '') return undefined
  if (text.length > MAX_LENGTH) return { text, readings: [], words: '', isProse: false }
  const readings = readingsOf(text, role)
  const words = wordsOf(text)
  if (readings.length === 0 && (words === '' || !isBalanced(text))) return undefined
  const list =
    /^[\s\d,.{}\\-]+$/.test(text) && groups.test(text) ? parsed(text, { grouping: false }) : undefined
  return { text, readings, words, isProse: isProse(words) && !text.includes('_'), ...(list && { list }) }
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
  if (/\d,\d{3}(?!\d)/.test(text) && /[([{]\s*\d{1,3},\d{3}/.test(text))
    spellings.push([text, { grouping: false }])
  // A gold answer of 2m may be twice m; who says 2m where 2 is asked for has added a unit.
  if (role === 'prediction' && /\d[a-zA-Z](?![a-zA-Z])/.test(text))
    spellings.push([text, { grouping: true, letterUnits: 'any' }])
  if (role === 'prediction' && /\d\s+[a-zA-Z](?![a-zA-Z])/.test(text))
    spellings.push([text, { grouping: true, letterUnits: 'none' }])
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
  const elapsed = hour * 3600 + Number(minutes) * 60 + Number(seconds)
  return { kind: 'time', seconds: elapsed, half: half !== undefined }
}

/** A text as words: without typesetting, in lower case, every sign kept. */
function wordsOf(text: string): string {
  return text
    .replace(/\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)(?![a-zA-Z])/g, ' ')
    .replace(/\\[,;:!\s]|[{}$~]|\\(?:left|right|quad|qquad)(?![a-zA-Z])/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .replace(/\s*([=<>+,;:])\s*/g, '$1')
}

/** Words of two letters or three that no one multiplies. */
const shortWords =
  /^(?:yes|no|odd|one|two|six|ten|red|sun|mon|tue|wed|thu|fri|sat|cat|dog|man|all|win|top|up|on|off|not)$/

/** Letters and spaces alone, at least two letters; a run of two or three may be a product. */
function isProse(words: string): boolean {
  if (!/^\p{L}[\p{L}'’-]+(?:[ ,]+\p{L}[\p{L}'’.-]*)*$/u.test(words)) return false
  return words.length > 3 || shortWords.test(words)
}

function isBalanced(text: string): boolean {
  let depth = 0
  for (const { 0: mark } of text.matchAll(/\\[\s\S]|[{}]/g)) {
    if (mark === '{') depth++
    else if (mark === '}' && --depth < 0) return false
  }
  return depth === 0
}
