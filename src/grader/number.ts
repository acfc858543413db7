/** Numbers as exact rationals. A numeral states a value; an expression that has to be worked out is none. */

/** Length beyond which a text counts as no numeral, and the largest exponent of ten: both bound the work. */
const MAX_LENGTH = 400
const MAX_EXPONENT = 400

interface Rational {
  numerator: bigint
  /** Positive. */
  denominator: bigint
}

const decimal = String.raw`(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|\.\d+`
const signed = `[-+]?(?:${decimal})`
const numeral = new RegExp(String.raw`^(?:${decimal}|\d{1,3}(?: \d{3})+)$`)
const ratio = new RegExp(String.raw`^(?:\\frac\{(${signed})\}\{(${signed})\}|(${decimal})/(${decimal}))$`)
const mixed = /^(\d+)(?: ?\\frac\{(\d+)\}\{(\d+)\}| (\d+)\/(\d+))$/
const scientific = new RegExp(
  String.raw`^(${decimal})(?:(?:\\times|\\cdot|\*|×)10\^(?:\{([-+]?\d+)\}|([-+]?\d+))|[eE]([-+]?\d+))$`,
)

/**
 * Canonical form of a number in normalised text: integer, decimal, thousands, fraction, mixed number, scientific
 * notation, signed, with or without a percent sign (25 % is not 25). Undefined where the text is no such numeral.
 */
export function canonicalNumber(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const percent = text.endsWith('%')
  const unsigned = text.slice(text.startsWith('-') || text.startsWith('+') ? 1 : 0, percent ? -1 : undefined)
  const value = parse(unsigned)
  if (value === undefined) return undefined
  const { numerator, denominator } = reduce(value)
  return `${text.startsWith('-') ? -numerator : numerator}/${denominator}${percent ? '%' : ''}`
}

function parse(text: string): Rational | undefined {
  if (numeral.test(text)) return parseDecimal(text)
  const fraction = ratio.exec(text)
  if (fraction)
    return divide(parseDecimal(fraction[1] ?? fraction[3]!), parseDecimal(fraction[2] ?? fraction[4]!))
  const [, whole, top = '', bottom = ''] = (mixed.exec(text) ?? []).filter((part) => part !== undefined)
  if (whole !== undefined) return parseMixed(BigInt(whole), BigInt(top), BigInt(bottom))
  const [, mantissa, exponent] = (scientific.exec(text) ?? []).filter((part) => part !== undefined)
  return mantissa === undefined ? undefined : scale(parseDecimal(mantissa), Number(exponent))
}

function parseDecimal(text: string): Rational {
  const [whole = '', fraction = ''] = text.replace(/[, ]|^\+/g, '').split('.')
  const numerator = BigInt(`${whole}${fraction}`.replace(/^-/, '') || '0')
  return {
    numerator: text.startsWith('-') ? -numerator : numerator,
    denominator: 10n ** BigInt(fraction.length),
  }
}

function divide(a: Rational, b: Rational): Rational | undefined {
  if (b.numerator === 0n) return undefined
  const sign = b.numerator < 0n ? -1n : 1n
  return {
    numerator: sign * a.numerator * b.denominator,
    denominator: sign * a.denominator * b.numerator,
  }
}

/** A whole number beside an improper fraction may as well be a product, so it counts as none. */
function parseMixed(whole: bigint, top: bigint, bottom: bigint): Rational | undefined {
  return top < bottom ? { numerator: whole * bottom + top, denominator: bottom } : undefined
}

function scale(value: Rational, exponent: number): Rational | undefined {
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined
  const power = 10n ** BigInt(Math.abs(exponent))
  return exponent < 0
    ? { numerator: value.numerator, denominator: value.denominator * power }
    : { numerator: value.numerator * power, denominator: value.denominator }
}

function reduce({ numerator, denominator }: Rational): Rational {
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator]
  while (b > 0n) [a, b] = [b, a % b]
  return { numerator: numerator / a, denominator: denominator / a }
}
