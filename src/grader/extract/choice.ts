/** The letter of a multiple choice in a sentence. */
import { withoutDeniedChoices } from './hedges.js'

/** A letter that stands alone. "I" is a pronoun, unless it is all there is. */
const standing = /(?<![\p{L}\p{N}'’\\])([A-HJ])(?![\p{L}\p{N}'’])/gu

/** "A" before a noun is an article; before these words it is a letter. */
const article =
  /^A\s+(?!(?:because|since|is|as|and|or|for|which|but|by|from|it|not|with|was|seems|therefore|due|given|so|being)\b)[a-z]/

/** 'D' as D; of the same length. */
const unquoted = (text: string) => text.replace(/['"‘“]([A-Ja-j])['"’”]/g, ' $1 ')

interface Letter {
  letter: string
  start: number
  end: number
}

function lettersOf(text: string): Letter[] {
  return [...text.matchAll(standing)]
    .filter(({ index }) => !article.test(text.slice(index, index + 16)))
    .map(({ 0: letter, index }) => ({ letter, start: index, end: index + 1 }))
}

/** Between letters that are offered together: A, B, C or D. */
const joint = /^(?:[\s,;/&.)(*"]|\b(?:or|and)\b|\\text\s*\{|\})*$/

/** Whether another letter is named in one breath. */
function isOneOfSeveral(text: string, letters: Letter[], at: number): boolean {
  const apart = (a: Letter | undefined, b: Letter | undefined) =>
    a === undefined || b === undefined || a.letter === b.letter || !joint.test(text.slice(a.end, b.start))
  return !apart(letters[at - 1], letters[at]) || !apart(letters[at], letters[at + 1])
}

function chosen(text: string, letters: Letter[], at: number): string | undefined {
  return letters[at] === undefined || isOneOfSeveral(text, letters, at) ? undefined : letters[at]!.letter
}

const small = /^[\s:*]*(?:is|:)?[\s:*]*(?:option|choice)?\s*["'(]?([a-j])["')]?[\s*]*(?:$|[.,;)])/

/** First choice that a clause names, such as what follows "the answer is"; undefined where it names several at once. */
export function firstChoice(clause: string): string | undefined {
  const text = unquoted(withoutDeniedChoices(clause))
  const letters = lettersOf(text)
  if (letters.length === 0) return small.exec(text)?.[1]?.toUpperCase()
  return chosen(text, letters, 0)
}

const opening =
  /^[\s*_("'[$]*(?:\\text(?:bf|rm)?\s*\{)?(?:option\s+|choice\s+)?[("']*([A-J])(?:[)"'$]|[.:*\]}]|\s|$)/i
const statement =
  /\b(?:is|it['’]?s|be|choose|pick|select|option|choice)\s+(?:option\s+|choice\s+)?["'*($]*([A-HJ])(?![\p{L}\p{N}'’])/gu

/** The choice of a whole text: at its start, in its last statement, or the last that it names. */
export function choiceIn(source: string): string | undefined {
  const text = unquoted(withoutDeniedChoices(source))
  const letters = lettersOf(text)
  const start = opening.exec(text.slice(0, MAX_LENGTH))
  if (start !== null && /[A-J]/.test(start[1]!)) {
    const place = start[0].lastIndexOf(start[1]!)
    const at = letters.findIndex((each) => each.start === place)
    if (at >= 0) return chosen(text, letters, at)
    if (start[0].length === text.length) return start[1]
  }
  if (start !== null && start[0].trim().length === text.trim().length) return start[1]!.toUpperCase()
  for (const found of [...text.matchAll(statement)].reverse()) {
    const place = found.index + found[0].lastIndexOf(found[1]!)
    const at = letters.findIndex((each) => each.start === place)
    if (at >= 0) return chosen(text, letters, at)
  }
  return chosen(text, letters, letters.length - 1)
}

/** Length beyond which an answer is no choice. */
const MAX_LENGTH = 300

const wrapper = String.raw`(?:\\(?:text|textbf|textrm|mathrm|mathbf|textit)\s*\{\s*)`
const alone = new RegExp(
  String.raw`^[\s"'“”]*${wrapper}*(?:(?:option|choice)\s+)?\(?\s*([A-Ja-j])\s*[).:]?\s*\}*\s*\)?[\s."'“”]*$`,
  'i',
)
/** A letter and then what it stands for: (D) Alina, C. the third one, \textbf{(D)}\ 12, A Peter. */
const marked = new RegExp(
  String.raw`^\s*${wrapper}*\s*(?:\(([A-J])\)|([A-J])\s*\}*\s*[).:])\s*\}*[.:]?(?:\\[ ,;:]|\\q?quad|~|\s)*(?=[\p{L}\p{N}$\\(-])`,
  'u',
)
const spaced = /^\s*([A-HJ])(?:\s|\\[ ,;:])+(?=[A-Z][a-z]|\d)/

/** The letter of an answer that consists of one, or begins with one as a label. */
export function choiceLabel(answer: string): string | undefined {
  if (answer.length > MAX_LENGTH) return undefined
  const only = alone.exec(answer)
  if (only !== null) return only[1]!.toUpperCase()
  const label = marked.exec(answer) ?? spaced.exec(answer)
  if (label === null) return undefined
  const rest = answer.slice(label[0].length)
  // What goes on with other letters offers them all.
  if (/^[(*]*[A-J](?![\p{L}\p{N}])|^(?:or|and)\b/u.test(rest)) return undefined
  return label[1] ?? label[2]
}
