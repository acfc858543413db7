/** What a sentence says without stating it: what the answer is not, or is at least, or is one of. */

const value = String.raw`(?:\$[^$]*\$|\\\([^)]*\\\)|(?<![\d,./])[-+]?\\?\$?\d[\d,./]*(?:\\?%)?)`

const denials = new RegExp(
  String.raw`\b(?:not|never|cannot|nor|neither|\w+n['’]t)\b[^\d$\\.;,]{0,40}${value}`,
  'gi',
)
const bounds = new RegExp(
  String.raw`\b(?:(?:less|more|greater|fewer|larger|smaller|other|rather)\s+than|at\s+(?:least|most)|up\s+to|half|third|quarter|twice|double|triple)(?:\s+of)?\s+${value}`,
  'gi',
)
const boundsBehind = new RegExp(
  String.raw`${value}\s+(?:or\s+(?:more|less|fewer|greater|higher|lower|above|below|so|something)|(?:more|less)\s+than|is\s+(?:wrong|incorrect|false))\b`,
  'gi',
)
const signs = /\b(?:minus|negative)\s+(?=\\?\$?\d)/gi

/** The text with what it only denies or bounds blanked out, and "minus 2" as -2; of the same length. */
export function withoutHedges(text: string): string {
  const blank = (found: string) => ' '.repeat(found.length)
  return text
    .replace(denials, blank)
    .replace(bounds, blank)
    .replace(boundsBehind, blank)
    .replace(signs, (found) => `${' '.repeat(found.length - 1)}-`)
}

const choiceDenials =
  /\b(?:not|never|cannot|nor|neither|\w+n['’]t)\s+(?:be\s+|(?:it\s+)?(?:is\s+)?)?(?:option\s+|choice\s+)?[(*"']*[A-Ja-j](?![\p{L}\p{N}])/giu

/** The same for the letters of a multiple choice. */
export function withoutDeniedChoices(text: string): string {
  return text.replace(choiceDenials, (found) => ' '.repeat(found.length))
}
