/** One case from the text of a model to the verdict, without deadlines. */
import { type EquivalenceOptions, sameAnswer } from './equivalence.js'
import { choiceLabel } from './extract/choice.js'
import { type Asked, defaultMethods, type Extraction, extractAnswer, type Method } from './extract/index.js'
import type { GradeCase, Verdict } from './grader.js'
import { readAnswer } from './notation/read.js'

export interface GradeSettings extends Omit<EquivalenceOptions, 'choices'> {
  /** Where the answer of a response is looked for, in this order. @default defaultMethods */
  extract?: readonly Method[]
}

export type Finding = Omit<Verdict, 'ms'>

/** Compares a case in this thread: nothing bounds its time. `createGrader` does the same with a deadline. */
export function judge(
  { gold, prediction, kind = 'response', choices }: GradeCase,
  settings: GradeSettings = {},
): Finding {
  const truth = goldAnswer(gold)
  const found =
    kind === 'answer'
      ? bareAnswer(prediction)
      : extraction(prediction, settings.extract, askedFor(truth, choices))
  const taken = { extracted: found?.text ?? null, ...(found && { from: found.from }) }
  const a = readAnswer(truth)
  if (a === undefined) return { equal: false, ...taken, reason: 'unparsable_gold' }
  if (found === undefined || found.text.trim() === '')
    return { equal: false, extracted: null, reason: 'no_answer' }
  const b = readAnswer(found.text, 'prediction')
  try {
    // A bare answer that is the gold answer word for word is right, whatever else could be read into it.
    const verbatim = kind === 'answer' && readAnswer(prediction)?.text === a.text
    const compared = b !== undefined && sameAnswer(a, b, { ...settings, ...(choices && { choices }) })
    const equal = verbatim || compared
    return { equal, ...taken, reason: equal ? 'equal' : 'different' }
  } catch (error) {
    // Too deep or too long for this machine: no verdict on the answer.
    if (error instanceof RangeError) return { equal: false, ...taken, reason: 'error' }
    throw error
  }
}

function extraction(
  text: string,
  extract: readonly Method[] | undefined,
  asked: Asked,
): Extraction | undefined {
  return extractAnswer(text, { ...(extract && { extract }), asked })
}

/** What a gold answer shows to be asked for. */
function askedFor(gold: string, choices: readonly string[] | undefined): Asked {
  if (choices !== undefined || choiceLabel(gold) !== undefined) return 'choice'
  const answer = readAnswer(gold)
  return answer !== undefined && (answer.isProse || answer.readings.length === 0) ? 'words' : 'value'
}

/** A gold answer may itself be a sentence. */
function goldAnswer(gold: string): string {
  if (/boxed|f(?:rame)?box/.test(gold)) {
    return (
      extractAnswer(gold.replace(/\\\\(?=boxed|f(?:rame)?box)/g, '\\'), { extract: ['boxed'] })?.text ?? gold
    )
  }
  const stated = /\banswer\s+is:?\s+([\s\S]+)$/i.exec(gold)
  return stated === null ? gold : stated[1]!
}

/** Length beyond which a bare answer is not searched for the answer in it. */
const MAX_PROSE = 5000

/** What is said to be an answer is one as it stands; prose that cannot be read as one is searched. */
function bareAnswer(text: string): Extraction | undefined {
  if (/\\boxed|\\f(?:rame)?box/.test(text)) {
    return extractAnswer(text.replace(/\\\\(?=boxed|f(?:rame)?box)/g, '\\'), { extract: ['boxed'] })
  }
  const whole: Extraction = { text: text.trim(), from: 'whole' }
  const answer = readAnswer(text)
  const isProse =
    text.length < MAX_PROSE &&
    !/[\\{}]/.test(text) &&
    /\p{L}+\s+\S*\p{L}|\p{L}\s*:/u.test(text) &&
    (answer?.readings.length ?? 0) === 0
  return isProse ? (extractAnswer(text, { extract: defaultMethods }) ?? whole) : whole
}
