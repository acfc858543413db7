/** Where the unit of a quantity begins: 5 km/h, 865 inches^2, $12, 10 square units, 28 %. */
import type { Reading, Token } from './tokens.js'
import { changesMeaning, currencySigns, isUnitWord, letterUnits } from './units.js'

/** Tokens that a unit can have. */
const MAX_TOKENS = 14

const valueEnds = new Set([')', ']', '}', '\\}', '!', '∞', '|', '°', '⌋', '⌉'])

/** Index of the first token of the unit that ends the range; `to` where there is none. */
export function unitStart(
  tokens: Token[],
  from: number,
  to: number,
  letters: Reading['letterUnits'],
): number {
  for (let start = Math.max(from + 1, to - MAX_TOKENS); start < to; start++) {
    if (endsValue(tokens, from, start) && isUnit(tokens, from, start, to, letters)) return start
  }
  return to
}

/** Whether what comes before can be a value; a variable can, before a unit in words. */
function endsValue(tokens: Token[], from: number, at: number): boolean {
  const last = tokens[at - 1]!
  if (last.type === 'number') return true
  if (last.type === 'name' && last.text === 'pi')
    return tokens[at]!.type === 'text' || tokens[at]!.text.length > 2
  if (last.type === 'sign') return valueEnds.has(last.text)
  const next = tokens[at]!
  const inWords = next.type === 'text' || (next.type === 'letters' && next.gap && isUnitWord(next.text))
  return last.type === 'name' && inWords && tokens.slice(from, at).some(({ type }) => type === 'number')
}

function isUnit(
  tokens: Token[],
  from: number,
  start: number,
  to: number,
  letters: Reading['letterUnits'],
): boolean {
  const text = (at: number) => (at < to && tokens[at]!.type === 'sign' ? tokens[at]!.text : undefined)
  let at = start
  while (at < to) {
    if (at > start && (text(at) === '/' || text(at) === '*')) at++
    if (at >= to || !isAtom(at)) return false
    at++
    if (text(at) === '^') {
      at = afterPower(at + 1)
      if (at < 0) return false
    }
  }
  return true

  function isAtom(at: number): boolean {
    const token = tokens[at]!
    switch (token.type) {
      case 'sign':
        return token.text === '%' || Object.hasOwn(currencySigns, token.text)
      case 'text':
        return !changesMeaning(token.text)
      case 'letters':
        if (isUnitWord(token.text)) return !changesMeaning(token.text)
        return token.gap && /^(?=.*[aeiou])\p{L}{4,}$/iu.test(token.text) && !changesMeaning(token.text)
      case 'name':
        return letterUnits.has(token.text) && isLetterUnit()
      default:
        return false
    }
  }

  /** One letter alone is a variable as often as a unit; with others, as in m/s, it is a unit. */
  function isLetterUnit(): boolean {
    if (letters === 'none') return false
    const others = tokens.slice(start, to).some(({ type }) => type === 'text' || type === 'letters')
    if (others || letters === 'any') return true
    const numeric = tokens
      .slice(from, start)
      .every(({ type, text: each }) => type === 'number' || type === 'command' || /^[-+{}/*^]$/.test(each))
    const before = tokens[start - 1]!
    const apart = tokens[start]!.gap || (before.type === 'number' && before.decimal && to - start === 1)
    const one = to - start === 1 || tokens.slice(start, to).some(({ text }) => text === '/' || text === '^')
    return numeric && one && apart
  }

  function afterPower(at: number): number {
    if (at < to && tokens[at]!.type === 'number') return at + 1
    if (text(at) === '-' && tokens[at + 1]?.type === 'number') return at + 2
    if (text(at) !== '{') return -1
    const close = text(at + 1) === '-' ? at + 3 : at + 2
    return tokens[close - 1]?.type === 'number' && text(close) === '}' ? close + 1 : -1
  }
}
