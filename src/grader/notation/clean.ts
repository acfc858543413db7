/** Repairs and unifies the characters of an answer; what it means stays to be read. */
import { characters, vulgarFractions } from './spellings.js'

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ'
const plainSuperscripts = '0123456789+-()ni'
const subscripts = '₀₁₂₃₄₅₆₇₈₉₊₋'
const plainSubscripts = '0123456789+-'

/** Escapes of a programming language that swallowed the start of a command: form feed and "rac" were "\frac". */
const swallowed: [RegExp, string][] = [
  [/\\?\f(?=rac|loor)/g, '\\f'],
  [/\\?\t(?=ext|imes|frac|heta|an\b|binom|o\b)/g, '\\t'],
  [/\\?[\b](?=oxed|inom|egin|eta|ar\b|mod)/g, '\\b'],
  [/\\?\r(?=ight|m\b|angle|ho\b)/g, '\\r'],
  [/\\?\v(?=ec\b|ert|matrix)/g, '\\v'],
]

/** Two backslashes before these are one too many, not the end of a row. */
const doubled =
  /(?<!\\)\\\\(?=(?:[dtc]?frac|sqrt|boxed|fbox|text|math[a-z]{2}|left|right|begin|end|cdot|times|pi|infty|cup|le|ge|leq|geq|pm|circ|sin|cos|tan|ln|log|quad|in|binom|approx|neq|theta|alpha|beta|\{|\}|%|\$|,)(?![a-zA-Z]))/g

export function clean(text: string): string {
  let result = text
  for (const [rest, command] of swallowed) result = result.replace(rest, command)
  if (result.includes('\\\\')) result = single(result)
  return result
    .replace(/\.{3,}/g, '…')
    .replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/g, '')
    .replace(/[\u{1d400}-\u{1d7ff}]/gu, (letter) => letter.normalize('NFKC'))
    .replace(
      /[\uff01-\uff5e]/g,
      (wide) => characters[wide] ?? String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
    )
    .replace(/(\d?)([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒])/g, (_, whole: string, sign: string) => {
      const [top, bottom] = vulgarFractions[sign]!.split('/')
      return `${whole}\\frac{${top}}{${bottom}}`
    })
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ]+/g, (run) => `^{${plain(run, superscripts, plainSuperscripts)}}`)
    .replace(/[₀₁₂₃₄₅₆₇₈₉₊₋]+/g, (run) => `_{${plain(run, subscripts, plainSubscripts)}}`)
    .replace(/[\u00a0\u2000-\u200a\u202f\u3000]/g, ' ')
    .replace(/[\u0080-\u{10ffff}]/gu, (character) => characters[character] ?? character)
}

/** Every backslash doubled, or the doubled ones before commands. */
function single(text: string): string {
  const allDoubled = text.includes('\\\\\\\\') || /\\\\begin/.test(text)
  if (allDoubled && !/(?<!\\)\\(?!\\)/.test(text)) return text.replace(/\\\\/g, '\\')
  return text.replace(doubled, '\\')
}

function plain(run: string, from: string, to: string): string {
  return [...run].map((character) => to[[...from].indexOf(character)]).join('')
}
