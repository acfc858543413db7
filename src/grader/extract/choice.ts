/** The letter of a multiple choice in a sentence. */

/** A letter that stands alone; "A" before a word is an article. */
const standing = /(?<![\p{L}\p{N}'’\\$])([A-J])(?![\p{L}\p{N}'’])/gu
const article = /^A\s+[a-z]/

/** Letters A to J that could be a choice, in order. */
function letters(text: string): string[] {
  return [...text.matchAll(standing)]
    .filter(({ index }) => !article.test(text.slice(index, index + 4)))
    .map(([letter]) => letter)
}

const opening = /^[\s*_("[]*(?:\\text(?:bf|rm)?\{)?\(?([A-J])(?:\)|[.:*\]}]|\s|$)/
const statement =
  /\b(?:is|it['’]?s|be|choose|pick|select|option|choice)\s+(?:option\s+)?[*(]*([A-J])(?![\p{L}\p{N}'’])/gu

/** First choice that a clause names, such as what follows "the answer is". */
export function firstChoice(clause: string): string | undefined {
  return letters(clause)[0]
}

/** The choice of a whole text: at its start, in its last statement, or the last that it names. */
export function choiceIn(text: string): string | undefined {
  const start = opening.exec(text)
  if (start !== null && !article.test(text.trimStart().slice(0, 4))) return start[1]
  const stated = [...text.matchAll(statement)].filter(
    ({ 0: found, index }) => !article.test(text.slice(index + found.length - 1, index + found.length + 3)),
  )
  return stated.at(-1)?.[1] ?? letters(text).at(-1)
}

/** Length beyond which an answer is no choice. */
const MAX_LENGTH = 300

/** A letter and then what it stands for: (D) Alina, C. the third one. */
const labelled =
  /^\s*(?:\\text(?:bf|rm)?\s*\{)?\s*\(?([A-J])(?:\)\s*\}?|[.:]\s|\s)(?:\\[ ,;:]|\\q?quad|~|\s)*(?=[\p{L}\p{N}$\\])/u

/** The letter of an answer that consists of one, or begins with one as a label. */
export function choiceLabel(answer: string): string | undefined {
  if (answer.length > MAX_LENGTH) return undefined
  const alone =
    /^\s*(?:\\(?:text|textbf|textrm|mathrm|mathbf)\s*\{)?\s*\(?\s*([A-Ja-j])\s*[).]?\s*\}?\s*\)?\.?\s*$/.exec(
      answer,
    )
  if (alone !== null) return alone[1]!.toUpperCase()
  const label = labelled.exec(answer)
  if (label === null || article.test(answer.trimStart())) return undefined
  return label[1]
}
