/** The answer in a sentence: the whole of it, its last formula, or its last number. */
import { readAnswer } from '../notation/read.js'
import { functionNames } from '../notation/spellings.js'
import { isUnitWord } from '../notation/units.js'

export interface Found {
  text: string
  from: 'whole' | 'maths' | 'number'
}

/** Longest text that may as a whole be the answer, characters. */
const MAX_WHOLE = 400

const leading =
  /^(?:[\s:=*_]|\\\*|(?:is|are|to be|equals|would be|should be|must be|will be|comes to|therefore|thus)\b)+/i

/** Undefined where the sentence states no value. */
export function answerIn(sentence: string): Found | undefined {
  const text = sentence.replace(leading, '').trim()
  if (text === '') return undefined
  if (text.length <= MAX_WHOLE && isAnswer(text)) return { text, from: 'whole' }
  const formula = lastFormula(text)
  const number = lastNumber(text)
  if (formula !== undefined && (number === undefined || number.end <= formula.end))
    return { text: formula.text, from: 'maths' }
  return number && { text: number.text, from: 'number' }
}

/** Mathematics without a sentence around it. */
function isAnswer(text: string): boolean {
  const words = text.replace(/\\[a-zA-Z]+/g, ' ').match(/[a-zA-Z]{2,}/g) ?? []
  const unknown = words.filter(
    (word) => !isUnitWord(word) && !/^(?:and|or|units?)$/.test(word) && !Object.hasOwn(functionNames, word),
  )
  if (unknown.length > 2 || (unknown.length > 0 && /^[\s$]*[a-zA-Z]{2,}/.test(text))) return false
  return (readAnswer(text)?.readings.length ?? 0) > 0
}

interface Piece {
  text: string
  end: number
}

const delimiters = /\$\$|(?<!\\)\$|\\\(|\\\)|\\\[|\\\]/g
const closes: Record<string, string> = { $$: '$$', $: '$', '\\(': '\\)', '\\[': '\\]' }

/** The last text between signs of mathematics that is not empty. */
function lastFormula(text: string): Piece | undefined {
  let open: { sign: string; start: number } | undefined
  let last: Piece | undefined
  for (const { 0: sign, index } of text.matchAll(delimiters)) {
    if (open !== undefined && closes[open.sign] === sign) {
      const content = text.slice(open.start, index)
      if (content.trim() !== '') last = { text: content, end: index + sign.length }
      open = undefined
    } else if (open === undefined && closes[sign] !== undefined) open = { sign, start: index + sign.length }
  }
  return last
}

const numbers =
  /-?(?:\d{1,3}(?:(?:,|\{,\}|,?\\!)\d{3})+|\d+(?:,\d{2}(?!\d))?)(?:[.]\d+)?(?:\/\d+)?(?:\s?\\?%)?|-?\.\d+|-?\\d?frac\{\d+\}\{\d+\}/g

function lastNumber(text: string): Piece | undefined {
  let last: RegExpMatchArray | undefined
  for (const match of text.matchAll(numbers)) last = match
  if (last === undefined) return undefined
  const minus =
    last[0].startsWith('-') && /[\w)}]\s*$/.test(text.slice(Math.max(0, last.index! - 3), last.index))
  return { text: minus ? last[0].slice(1) : last[0], end: last.index! + last[0].length }
}
