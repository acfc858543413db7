/**
 * Errors by rule: a number of a sound slice is changed, or a term left out. What it read before is the right way to redo
 * the step, so that a label comes with its analysis.
 */
import type { RandomStream } from '../../core/random.js'

export interface Planted {
  /** The text with the error in it. */
  text: string
  /** The equation that was hit, as it was, up to the number or sign in which it differs now. */
  redone: string
  /** The whole equation as it was, and as it reads now. */
  original: string
  changed: string
}

interface Equation {
  start: number
  end: number
}

/** Runs of numbers and signs with an equals sign between digits, blanks at the ends aside. */
export function equations(text: string): Equation[] {
  return [...text.matchAll(/[\d ()+\-*/×·^.,=]+/g)].flatMap(({ 0: run, index }) => {
    if (!/\d[^\d]*=[^\d]*\d/.test(run)) return []
    const body = run.replace(/[ .,]+$/, '')
    const start = index + (body.length - body.trimStart().length)
    return [{ start, end: index + body.length }]
  })
}

/**
 * Plants one error behind the first `from` characters: a number is off by one in one of its digits, or a term is left
 * out, at one place or wherever it stands in the equation, so that it may still hold and only be another one. Undefined where no equation of numbers reaches there.
 */
export function plantError(text: string, stream: RandomStream, from = 0): Planted | undefined {
  const open = equations(text).filter(({ end }) => /\d/.test(text.slice(from, end)))
  if (open.length === 0) return undefined
  const { start, end } = stream.pick(open)
  const cut = Math.max(start, from)
  const before = text.slice(start, cut)
  const changed = before + spoil(text.slice(cut, end), stream)
  const original = text.slice(start, end)
  return {
    text: text.slice(0, start) + changed + text.slice(end),
    redone: upToDifference(original, changed),
    original,
    changed,
  }
}

/** The beginning of a text, up to and with the number or sign in which it first differs from another. */
function upToDifference(text: string, other: string): string {
  const mine = [...text.matchAll(/\d+|\D/g)]
  const theirs = [...other.matchAll(/\d+|\D/g)]
  const same = mine.findIndex(([token], i) => token !== theirs[i]?.[0])
  return mine
    .slice(0, same < 0 ? mine.length : same + 1)
    .map(([token]) => token)
    .join('')
}

/** The text, which holds a number, with one error in it. */
function spoil(text: string, stream: RandomStream): string {
  const everywhere = stream.int(2) === 0
  const terms = [...text.matchAll(/[-+*/×·] ?\d+/g)]
  if (stream.int(3) === 0 && terms.length > 0) {
    const { 0: term, index } = stream.pick(terms)
    return everywhere
      ? text.replace(/[-+*/×·] ?\d+/g, (other) => (other === term ? '' : other))
      : text.slice(0, index) + text.slice(index + term.length)
  }
  const { 0: number, index } = stream.pick([...text.matchAll(/\d+/g)])
  const wrong = offByOne(number, stream)
  return everywhere
    ? text.replace(/\d+/g, (other) => (other === number ? wrong : other))
    : text.slice(0, index) + wrong + text.slice(index + number.length)
}

/** One digit more or less; never below zero, and never the same. */
function offByOne(number: string, stream: RandomStream): string {
  const step = 10n ** BigInt(stream.int(number.length))
  const value = BigInt(number) + (stream.int(2) === 0 ? step : -step)
  return String(value < 0n ? BigInt(number) + step : value)
}
