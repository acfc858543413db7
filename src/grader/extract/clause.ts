/** The answer in a sentence: the whole of it, its last formula, or its last number. */
import { readAnswer } from '../notation/read.js'
import { functionNames } from '../notation/spellings.js'
import { isUnitWord } from '../notation/units.js'
import { withoutHedges } from './hedges.js'

export interface Found {
  text: string
  from: 'whole' | 'maths' | 'number'
}

/** Longest text that may as a whole be the answer, characters. */
const MAX_WHOLE = 400

/** Values that are listed together. */
const MAX_LISTED = 20

const leading =
  /^(?:[\s:=*_—–]|\\\*|-\s|(?:is|are|to be|equals|would be|should be|must be|will be|comes to|therefore|thus)\b)+/i

/** Where a sentence goes on to explain what it has stated. */
const explanation =
  /;|\s[-—–]\s|\s\((?=[^()]*[a-z]{3})|,?\s(?:because|since|as|which|where|so)\s|,?\s(?:or|which is)?\s*(?:about|approximately|roughly)\s|\s≈|\s\\approx/

/** Undefined where the sentence states no value, or only what the value is not. */
export function answerIn(sentence: string): Found | undefined {
  const text = withoutHedges(sentence).replace(leading, '').trim()
  if (text === '') return undefined
  const head = text.slice(0, explanation.exec(text.slice(0, MAX_WHOLE))?.index)
  for (const part of [text, head]) {
    if (part.length <= MAX_WHOLE && isAnswer(part)) return { text: part.trim(), from: 'whole' }
  }
  return lastValue(text)
}

/** The last formula or number, with those that it is listed with: 1, 2 or 3. */
function lastValue(text: string, depth = 0): Found | undefined {
  const formula = lastFormula(text)
  const number = lastNumber(text)
  const last = formula !== undefined && (number === undefined || number.end <= formula.end) ? formula : number
  if (last === undefined) return undefined
  const from = last === formula ? 'maths' : 'number'
  const before = text.slice(Math.max(0, last.start - MAX_WHOLE), last.start).replace(/[\s$*(\\]+$/, '')
  const joint = /(?:,|\b(?:or|and))$/.exec(before)
  if (joint === null || depth === MAX_LISTED) return { text: last.text, from }
  const previous = lastValue(before.slice(0, joint.index), depth + 1)
  const gap =
    previous &&
    before
      .slice(0, joint.index)
      .trimEnd()
      .replace(/[\s$*)\\,]+$/, '')
  if (
    previous === undefined ||
    !gap!.endsWith(
      previous.text
        .trim()
        .replace(/[\s$*)\\,]+$/, '')
        .split(', ')
        .at(-1)!,
    )
  ) {
    return { text: last.text, from }
  }
  return { text: `${previous.text}, ${last.text}`, from }
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
  start: number
  end: number
}

const delimiters = /\*\*|\$\$|(?<!\\)\$|\\\(|\\\)|\\\[|\\\]/g
const closes: Record<string, string> = { '**': '**', $$: '$$', $: '$', '\\(': '\\)', '\\[': '\\]' }

/** The last text between signs of mathematics that is not empty. */
function lastFormula(text: string): Piece | undefined {
  let open: { sign: string; start: number } | undefined
  let last: Piece | undefined
  for (const { 0: sign, index } of text.matchAll(delimiters)) {
    if (open !== undefined && closes[open.sign] === sign) {
      const content = text.slice(open.start, index)
      if (content.trim() !== '')
        last = { text: content, start: open.start - open.sign.length, end: index + sign.length }
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
  return { text: minus ? last[0].slice(1) : last[0], start: last.index!, end: last.index! + last[0].length }
}
