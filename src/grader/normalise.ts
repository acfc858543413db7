/**
 * Spelling differences of LaTeX that mean nothing. Every rule is one pass over the text, and none computes: what
 * differs in value stays different.
 */
import { lastBoxed } from './extract.js'

/** Commands that only set type; their argument stays. */
const typesetting = /\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mbox|operatorname)\s*\{([^{}]*)\}/g

/** What stands for nothing, for a space or for another spelling. Commands that are not named stay as they are. */
const spellings: Record<string, string> = {
  $: '',
  '\\$': '',
  '\\!': '',
  '\\(': '',
  '\\)': '',
  '\\[': '',
  '\\]': '',
  '\\,': ' ',
  '\\;': ' ',
  '\\:': ' ',
  '\\ ': ' ',
  '~': ' ',
  '\\quad': ' ',
  '\\qquad': ' ',
  '\\%': '%',
  '\\lbrace': '\\{',
  '\\rbrace': '\\}',
  '\\dfrac': '\\frac',
  '\\tfrac': '\\frac',
  '\\cfrac': '\\frac',
  '−': '-',
  '－': '-',
}

export function normalise(text: string): string {
  const plain = (lastBoxed(text) ?? text)
    .replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0))
    .replace(typesetting, ' $1 ')
    .replace(/,\s*\\!\s*|\{,\}/g, ',')
    .replace(/\\(?:left|right)(?![a-zA-Z])\.?/g, '')
    .replace(/\\[a-zA-Z]+|\\[\s\S]|[$~−－]/g, (mark) => spellings[mark] ?? mark)
    .replace(/(\\[a-zA-Z]+)\s+(?=[\d{\\])/g, '$1')
    .replace(/([_^])([a-zA-Z\d])(?![a-zA-Z\d])/g, '$1{$2}')
    .replace(/\\frac\s*(\d)\s*(\d)/g, '\\frac{$1}{$2}')
    .replace(/\\frac\s*(\d)\s*\{/g, '\\frac{$1}{')
    .replace(/(\\frac\s*\{[^{}]*\})\s*(\d)/g, '$1{$2}')
    .trim()
  return withoutTrailingPeriods(squeeze(plain))
}

/** Keeps one space between words or numbers and after a comma (where it tells a list from thousands), none elsewhere. */
function squeeze(text: string): string {
  return text.replace(/\s+/g, (gap, at: number) => {
    const before = text[at - 1]!
    return before === ',' || (isWord(before) && isWord(text[at + gap.length]!)) ? ' ' : ''
  })
}

function isWord(character: string): boolean {
  return /[\p{L}\p{N}.]/u.test(character)
}

function withoutTrailingPeriods(text: string): string {
  let end = text.length
  while (text[end - 1] === '.') end--
  return text.slice(0, end)
}
