/**
 * Whether two short answers state the same. Strict: a wrong "equal" teaches a model to cheat, a wrong "different" costs
 * one sample.
 */
import { equalAnswers } from './answers/compare.js'
import { isLiteral } from './answers/literal.js'
import { choiceLabel } from './extract/choice.js'
import type { Node, NodeOf } from './maths/node.js'
import { type Answer, readAnswer } from './notation/read.js'

export interface EquivalenceOptions {
  /**
   * Relative difference allowed where one side is a plain decimal and the other is no decimal that ends. Two decimals
   * have to be the same number. @default 1e-6
   */
  tolerance?: number
  /** Whether 3 + 4 is an answer where the gold answer is the numeral 7. @default 'accept' */
  unevaluated?: 'accept' | 'refuse'
  /** Values of the choices A, B, C ... A letter then equals its value. */
  choices?: readonly string[]
}

export const TOLERANCE = 1e-6

/** Seconds. */
const HALF_DAY = 12 * 3600

/** False where either is empty or nothing can be made of it. Rules and open choices: docs/grader.md. */
export function isEquivalent(gold: string, prediction: string, options: EquivalenceOptions = {}): boolean {
  const a = readAnswer(gold)
  const b = readAnswer(prediction, 'prediction')
  return a !== undefined && b !== undefined && sameAnswer(a, b, options)
}

/** `isEquivalent` of answers that were read before. */
export function sameAnswer(gold: Answer, prediction: Answer, options: EquivalenceOptions): boolean {
  const { tolerance = TOLERANCE, unevaluated = 'accept', choices } = options
  if (gold.text === prediction.text) return true
  const byChoice = sameChoice(gold.text, prediction.text, choices, (x, y) =>
    isEquivalent(x, y, { tolerance }),
  )
  if (byChoice !== undefined) return byChoice
  if (gold.isProse && prediction.isProse) return gold.words === prediction.words
  if (gold.readings.length === 0 || prediction.readings.length === 0) {
    return gold.words === prediction.words && gold.words.length > 1
  }
  const times = [gold, prediction].map(({ readings }) => readings.find(({ kind }) => kind === 'time'))
  if (times[0]?.kind === 'time' && times[1]?.kind === 'time') {
    return sameTime(times[0], times[1])
  }
  const equal = (x: Node, y: Node) =>
    (unevaluated === 'accept' || !isLiteral(x) || isLiteral(y)) && equalAnswers(x, y, tolerance)
  if (gold.readings.some((x) => prediction.readings.some((y) => equal(x, y)))) return true
  // 100,200 is a list only beside one that can be nothing else.
  if (gold.list && !prediction.list) return prediction.readings.some((y) => isList(y) && equal(gold.list!, y))
  return (
    prediction.list !== undefined &&
    !gold.list &&
    gold.readings.some((x) => isList(x) && equal(x, prediction.list!))
  )
}

/** 7:30 may be half past seven in the evening where only the other side says so; 19:30 may not be in the morning. */
function sameTime(a: NodeOf<'time'>, b: NodeOf<'time'>): boolean {
  const [plain, marked] = a.half ? [b, a] : [a, b]
  const either = plain.half !== marked.half && plain.seconds < HALF_DAY + 3600
  return either ? (plain.seconds - marked.seconds) % HALF_DAY === 0 : plain.seconds === marked.seconds
}

const isList = ({ kind }: Node) => kind === 'list' || kind === 'set' || kind === 'group'

/** Undefined where neither answer is a letter of a choice. */
function sameChoice(
  gold: string,
  prediction: string,
  choices: readonly string[] | undefined,
  equal: (a: string, b: string) => boolean,
): boolean | undefined {
  const [a, b] = [choiceLabel(gold), choiceLabel(prediction)]
  if (choices !== undefined) {
    const value = (label: string | undefined, text: string) =>
      label === undefined ? text : (choices[label.charCodeAt(0) - 65] ?? text)
    if (a !== undefined && b !== undefined) return a === b
    if (a === undefined && b === undefined) return undefined
    return equal(value(a, gold), value(b, prediction))
  }
  if (a === undefined || b === undefined) return undefined
  const alone = [gold, prediction].map((text) => /^\W*(?:text\w*)?\W*[A-Ja-j]\W*$/.test(text))
  if (!alone[0] && !alone[1]) return undefined
  if (alone[0] && alone[1])
    return upper(gold) || upper(prediction) ? a === b && !isVariable(gold, prediction) : undefined
  return a === b
}

const upper = (text: string) => /[A-J]/.test(text.replace(/\\\w+/g, ''))

/** Letters beyond E are variables as often as choices: X is not x, but C is c. */
function isVariable(gold: string, prediction: string): boolean {
  const letter = (text: string) => text.replace(/\\\w+|\W/g, '')
  return letter(gold) !== letter(prediction) && !/^[A-E]$/.test(letter(gold).toUpperCase())
}
