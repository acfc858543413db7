/** Whether what a solution returned or wrote is what was expected. */

/** Relative difference, absolute below 1, that two numbers may have where one of them is no integer. */
const TOLERANCE = 1e-6

/**
 * Output of a program against the expected one, line by line and word by word. Blanks at the ends of lines and of the
 * whole say nothing, nor does the number of blanks between words; words that are decimal numbers are compared by their
 * exact value: 1.50 is 1.5, but 011 is no number.
 */
export function sameOutput(actual: string, expected: string): boolean {
  const [a, b] = [lines(actual), lines(expected)]
  return a.length === b.length && a.every((line, i) => line === b[i] || sameWords(line, b[i]!))
}

function lines(text: string): string[] {
  return text.trim().split('\n')
}

function sameWords(a: string, b: string): boolean {
  const [left, right] = [a.trim().split(/\s+/), b.trim().split(/\s+/)]
  return (
    left.length === right.length &&
    left.every((word, i) => {
      if (word === right[i]) return true
      const value = decimal(word)
      return value !== undefined && value === decimal(right[i]!)
    })
  )
}

/** Canonical form of a decimal: sign, digits without zeros at either end, exponent of ten. */
function decimal(word: string): string | undefined {
  const match = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d{1,9}))?$/.exec(word)
  if (!match || match[2]! + match[3]! === '' || /^0\d/.test(match[2]!)) return undefined
  const digits = (match[2]! + match[3]!).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const exponent = Number(match[4] ?? 0) - match[3]!.length + digits.length - significant.length
  return `${match[1] === '-' ? '-' : ''}${significant}e${exponent}`
}

/** Digits beyond which an integer is not worth reading: it is no answer to anything. */
const MAX_DIGITS = 5000

/** JSON in which integers too long for a double become BigInt. Throws SyntaxError. */
export function parseExact(text: string): unknown {
  const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
  const marked = text.replace(token, (found) =>
    /^-?\d{16,}$/.test(found) ? `{"$":"bigint","v":"${found}"}` : found,
  )
  return JSON.parse(marked, (_, value) =>
    value?.$ === 'bigint' && String(value.v).length <= MAX_DIGITS ? BigInt(value.v) : value,
  )
}

/**
 * A returned value, as a child process reports it, against an expected JSON value. Tuples are lists, undefined is
 * null, a truth value is no number, integers are as exact as both sides hold them, and other numbers may differ by
 * 1e-6, relative above 1.
 */
export function sameValue(actual: unknown, expected: unknown): boolean {
  const value = plain(actual)
  if (isNumber(value) && isNumber(expected)) return sameNumber(value, expected)
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((item, i) => sameValue(value[i], item))
    )
  }
  if (typeof expected === 'object' && expected !== null) {
    const entries = entriesOf(value)
    const wanted = Object.entries(expected)
    return (
      entries?.size === wanted.length &&
      wanted.every(([k, item]) => entries.has(k) && sameValue(entries.get(k), item))
    )
  }
  return value === expected
}

interface Tagged {
  $: string
  v: unknown
}

function isTagged(value: unknown): value is Tagged {
  return typeof value === 'object' && value !== null && '$' in value
}

/** What a tag stands for where JSON has something like it, else the tagged value itself, which equals nothing. */
function plain(value: unknown): unknown {
  if (!isTagged(value)) return value
  if (value.$ === 'tuple') return value.v
  if (value.$ === 'undefined') return null
  if (value.$ === 'float') return Number(value.v)
  return value
}

function entriesOf(value: unknown): Map<string, unknown> | undefined {
  if (isTagged(value)) {
    if (value.$ !== 'dict') return undefined
    return new Map((value.v as [unknown, unknown][]).map(([key, item]) => [String(key), item]))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return new Map(Object.entries(value))
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function sameNumber(a: number | bigint, b: number | bigint): boolean {
  if (a === b) return true
  if (typeof a !== typeof b) return Number(a) === Number(b)
  if (typeof a === 'bigint' || typeof b === 'bigint') return false
  if (Number.isInteger(a) && Number.isInteger(b)) return false
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b))
}
