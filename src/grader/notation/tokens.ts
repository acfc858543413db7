/** Cuts an answer into tokens: LaTeX, ASCII and Unicode spellings of the same thing give the same tokens. */
import { parseDecimal, type Rational } from '../maths/rational.js'
import {
  accents,
  commandSigns,
  fontCommands,
  functionNames,
  greek,
  letterCommands,
  silentCommands,
  textCommands,
} from './spellings.js'
import { letterUnits } from './units.js'

export type Token = {
  /** A space, or one that LaTeX sets, stands before it. */
  gap: boolean
} & (
  | { type: 'number'; text: string; value: Rational; decimal: boolean }
  /** A letter, a greek letter, or a decorated name. */
  | { type: 'name'; text: string }
  /** Letters in a row that are no known name. */
  | { type: 'letters'; text: string }
  | { type: 'function'; text: string }
  /** A command with a structure of its own: frac, sqrt, binom, begin, end ... */
  | { type: 'command'; text: string }
  | { type: 'text'; text: string }
  | { type: 'sign'; text: string }
)

export interface Reading {
  /** Whether 1,234 is one number or a list of two. */
  grouping: boolean
  /** Which letter behind a number is a unit rather than a variable: that of 3 s and 0.3s (a gap), of 3s as well, or none. */
  letterUnits?: 'none' | 'gap' | 'any'
}

/** Thrown where a text is no mathematics that is understood; no Error, for a stack costs more than the parse. */
export class Unreadable {}

/** Words that stand for a sign wherever they stand. */
const wordSigns: Record<string, string> = {
  and: '∧',
  or: '∨',
  infinity: '∞',
  Infinity: '∞',
  infty: '∞',
  inf: '∞',
  oo: '∞',
  pm: '±',
  union: '∪',
  in: '∈',
  mod: 'mod',
  emptyset: '∅',
}

/** Whether a command has a meaning of its own, with no letter behind it. */
function isKnown(name: string): boolean {
  return (
    silentCommands.has(name) ||
    Object.hasOwn(commandSigns, name) ||
    name === 'pi' ||
    letterCommands.has(name) ||
    /^(?:sin|cos|tan|ln|log)$/.test(name)
  )
}

const structural = new Set([
  'frac',
  'binom',
  'begin',
  'end',
  'pmod',
  'bmod',
  'mod',
  'cfrac',
  'lim',
  'substack',
])

const grouped = String.raw`\d{1,3}(?:(?:,|\{,\}|,?\\[!,;: ]|,\s?\\!\s?)\d{3})+(?![\d])`
const spaced = String.raw`\d{1,3}(?: \d{3})+(?!\d)`
const braceGrouped = String.raw`\d{1,3}(?:(?:\{,\}|,?\\[!,;: ]|,\s?\\!\s?)\d{3})+(?!\d)`
const tail = String.raw`(?:\.\d+)?(?:[eE][-+]?\d+(?![\d.]))?`
const numbers = {
  grouping: new RegExp(`(?:${grouped}|${spaced})${tail}`, 'y'),
  list: new RegExp(`(?:${braceGrouped}|${spaced})${tail}`, 'y'),
  plain: /(?:\d+(?:\.\d+|\.(?![a-zA-Z]))?|\.\d+)(?:[eE][-+]?\d+(?![\d.]))?/y,
  period: /\\overline\s*(?:\{(\d+)\}|(\d))|\\dot\s*(?:\{(\d)\}|(\d))(?![\d\\])/y,
}

/** Throws Unreadable where a character or a command means nothing here. */
export function tokenise(source: string, { grouping }: Pick<Reading, 'grouping'>): Token[] {
  let text = source
  const tokens: Token[] = []
  let at = 0
  let gap = false
  const push = (token: DistributiveOmit<Token, 'gap'>) => {
    tokens.push({ ...token, gap } as Token)
    gap = false
  }
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  const skip = (length: number) => {
    at += length
  }

  while (at < text.length) {
    const character = text[at]!
    if (/[\s~]/.test(character)) {
      gap = true
      at++
    } else if (/[\d]/.test(character) || (character === '.' && /\d/.test(text[at + 1] ?? ''))) {
      number()
    } else if (/[a-zA-Z]/.test(character)) {
      const run = match(/[a-zA-Z]+/y)![0]
      skip(run.length)
      word(run)
    } else if (character === '\\') {
      command()
    } else {
      sign()
    }
  }
  return tokens

  function number(): void {
    const found = match(grouping ? numbers.grouping : numbers.list) ?? match(numbers.plain)!
    skip(found[0].length)
    const digits = found[0].replace(/\{,\}|\\[!,;: ]|[,\s]/g, '')
    const repeats = digits.includes('.') && !/[eE]/.test(digits) ? match(numbers.period) : null
    const dots = digits.includes('.') ? match(/\s*(?:…|\\[lc]?dots(?![a-zA-Z]))/y) : null
    const period = repeats?.slice(1).find((group) => group !== undefined) ?? (dots ? periodOf(digits) : '')
    if (repeats) skip(repeats[0].length)
    else if (dots && period !== '') skip(dots[0].length)
    const value = parseDecimal(digits, period)
    if (value === undefined) throw new Unreadable()
    push({
      type: 'number',
      text: digits + period,
      value,
      decimal: period === '' && /[.eE]/.test(digits) && !/^\d+\.?$/.test(digits),
    })
  }

  function word(run: string): void {
    if (tokens.at(-1)?.type === 'number' && isUnitHere(run))
      push({ type: 'letters', text: run === 'in' ? 'inch' : run })
    else if (Object.hasOwn(functionNames, run)) push({ type: 'function', text: functionNames[run]! })
    else if (Object.hasOwn(wordSigns, run)) push({ type: 'sign', text: wordSigns[run]! })
    else if (run === 'pi' || greek.has(run)) push({ type: 'name', text: run })
    else push(run.length === 1 ? { type: 'name', text: run } : { type: 'letters', text: run })
  }

  /** min, sec and in behind a number are units where nothing follows that they could act on. */
  function isUnitHere(run: string): boolean {
    if (run === 'in') return /^[\s.$})]*(?:\^\s*\{?[23]\}?)?[\s.$}]*$/.test(text.slice(at, at + 20))
    return (run === 'min' || run === 'sec') && !/^\s*[({\\\w]/.test(text.slice(at, at + 4))
  }

  function command(): void {
    const name = match(/\\([a-zA-Z]+)\*?/y)?.[1]
    if (name === undefined) {
      const escaped = text[at + 1] ?? ''
      skip(2)
      if (escaped === '' || escaped === '!') return
      if (/[\s,;:>/]/.test(escaped)) gap = true
      else if (escaped === '\\') push({ type: 'sign', text: '\\\\' })
      else if ('()[]'.includes(escaped)) gap = true
      else if ('{}'.includes(escaped)) push({ type: 'sign', text: `\\${escaped}` })
      else if ('%$&#_|'.includes(escaped)) push({ type: 'sign', text: escaped })
      else throw new Unreadable()
      return
    }
    skip(match(/\\[a-zA-Z]+\*?/y)![0].length)
    if (name === 'not') negated()
    else if (silentCommands.has(name)) {
      if (/quad|space/.test(name)) gap = true
      // The dot of \left. is a bracket that is not there.
      if (/^(?:left|right)$/.test(name) && text[at] === '.') at++
    } else if (textCommands.has(name)) prose()
    else if (fontCommands.has(name)) font(name)
    else if (accents.has(name)) push({ type: 'name', text: `${name} ${argument()}` })
    else if (/^[dt]?frac$/.test(name)) push({ type: 'command', text: 'frac' })
    else if (/^[dt]binom$/.test(name)) push({ type: 'command', text: 'binom' })
    else if (Object.hasOwn(commandSigns, name)) push({ type: 'sign', text: commandSigns[name]! })
    else if (name === 'circ') push({ type: 'sign', text: '°' })
    else if (name === 'mathbb' || name === 'Bbb') push({ type: 'sign', text: blackboard(argument()) })
    else if (structural.has(name)) push({ type: 'command', text: name === 'cfrac' ? 'frac' : name })
    else if (name === 'pi' || letterCommands.has(name)) push({ type: 'name', text: name })
    else if (Object.hasOwn(functionNames, name)) push({ type: 'function', text: functionNames[name]! })
    else if (name === 'color' || name === 'hspace' || name === 'vspace' || name === 'label') argument()
    else runOn(name)
  }

  /** A command that a letter was written on to: \quadx, \pir. */
  function runOn(name: string): void {
    for (let length = name.length - 1; length >= 2; length--) {
      if (!isKnown(name.slice(0, length))) continue
      at -= name.length - length
      text = `${text.slice(0, at)} ${text.slice(at)}`
      at -= length + 1
      command()
      return
    }
    throw new Unreadable()
  }

  /** \text{...}: a bare letter or number in it is that letter or number. */
  function prose(): void {
    const content = argument()
    const words = content.trim()
    if (/^\s/.test(content)) gap = true
    const behindNumber = tokens.at(-1)?.type === 'number' || tokens.at(-1)?.text === '}'
    if (behindNumber && letterUnits.has(words)) push({ type: 'text', text: words })
    else if (/^[-+]?(?:\\?\$)?\d/.test(words)) inner(words)
    else if (/^[-+]?[\d.,]+$|^\(?[-+]?[\d.,]+\)?$|^\(?[a-zA-Z]\)?$/.test(words)) inner(words)
    else if (/^[,;.]?\s*(?:and|or)$/.test(words))
      push({ type: 'sign', text: words.endsWith('and') ? '∧' : '∨' })
    else if (words !== '') push({ type: 'text', text: words })
    if (/\s$/.test(content)) gap = true
  }

  function font(name: string): void {
    const content = argument().trim()
    if (name === 'mathrm' && tokens.at(-1)?.type === 'number' && letterUnits.has(content))
      push({ type: 'text', text: content })
    else if (name === 'mathbf' && /^[a-z]$/.test(content)) push({ type: 'name', text: `bold ${content}` })
    else if (/^[a-zA-Z]{2,}$/.test(content)) {
      if (Object.hasOwn(functionNames, content)) push({ type: 'function', text: functionNames[content]! })
      else push({ type: 'text', text: content })
    } else if (/^[a-zA-Z]+[\sa-zA-Z~]*$/.test(content) && content.length > 1) {
      push({ type: 'text', text: content.replace(/[\s~]+/g, ' ') })
    } else if (name !== 'tag') inner(content)
  }

  function inner(content: string): void {
    for (const token of tokenise(content, { grouping })) {
      push(token)
    }
  }

  /** The text of the next group, character or command. */
  function argument(): string {
    skip(match(/\s*(?:\[[^\]]*\])?\s*/y)![0].length)
    if (text[at] !== '{') {
      const one = match(/\\[a-zA-Z]+|\\?[\s\S]/y)?.[0] ?? ''
      skip(one.length)
      return one
    }
    const start = at + 1
    let depth = 0
    for (; at < text.length; at++) {
      if (text[at] === '\\') at++
      else if (text[at] === '{') depth++
      else if (text[at] === '}' && --depth === 0) {
        at++
        return text.slice(start, at - 1)
      }
    }
    throw new Unreadable()
  }

  function negated(): void {
    const sign = match(/\s*(=|\\in\b|\\equiv\b)/y)
    if (sign === null) throw new Unreadable()
    skip(sign[0].length)
    push({ type: 'sign', text: sign[1] === '\\in' ? '∉' : '!=' })
  }

  function sign(): void {
    const found = match(
      /\*\*|<=|>=|=<|=>|!=(?!=)|=\/=|\/=|==|<>|->|[-+*/^_!'=<>()[\]{}|,;:%&°±∓~∈∉∪∩∖∅∞ℝℕℤℚℂ⟨⟩⌊⌋⌈⌉…∑∏∫∧∨→€£¥$?.\\]/uy,
    )
    if (found === null) throw new Unreadable()
    skip(found[0].length)
    // A period within a text of mathematics ends a sentence; a dollar sign that is not escaped opens or closes it.
    if (found[0] === '.' && /[a-zA-Z\d]/.test(text[at] ?? '')) throw new Unreadable()
    if (found[0] === '.' || found[0] === '$') gap = true
    else push({ type: 'sign', text: asciiSigns[found[0]] ?? found[0] })
  }
}

/** Digits that a decimal ends on three times (one digit) or twice: those of 0.333... and 0.1818...; empty where there are none. */
function periodOf(digits: string): string {
  const fraction = digits.split('.')[1] ?? ''
  return /(\d)\1\1$/.exec(fraction)?.[1] ?? /(\d{2,6})\1$/.exec(fraction)?.[1] ?? ''
}

type DistributiveOmit<T, K extends string> = T extends unknown ? Omit<T, K> : never

const asciiSigns: Record<string, string> = {
  '**': '^',
  '=<': '<=',
  '=>': '>=',
  '=/=': '!=',
  '/=': '!=',
  '==': '=',
  '<>': '!=',
  '->': '→',
}

function blackboard(letter: string): string {
  const letters: Record<string, string> = { R: 'ℝ', N: 'ℕ', Z: 'ℤ', Q: 'ℚ', C: 'ℂ' }
  return letters[letter.trim()] ?? letter.trim()
}
