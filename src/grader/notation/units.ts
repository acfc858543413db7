/** Units and words that stand behind a value. */
import { divide, multiply, power, type Rational, rational } from '../maths/rational.js'

/** What a unit measures, as powers of base units, and how many of them it is. */
interface Measure {
  factor: Rational
  powers: Record<string, number>
}

const table = `
m:m=1 meter meters metre metres | km:m=1000 kilometer kilometers kilometre kilometres | dm:m=1/10 decimeters
cm:m=1/100 centimeter centimeters centimetre centimetres | mm:m=1/1000 millimeter millimeters millimetre millimetres
um:m=1/1000000 micrometer micrometers micron microns | nm:m=1/1000000000 nanometer nanometers
inch:m=127/5000 inches | ft:m=381/1250 foot feet | yd:m=1143/1250 yard yards | mi:m=201168/125 mile miles
g:g=1 gram grams | kg:g=1000 kilogram kilograms kilo kilos | mg:g=1/1000 milligram milligrams
lb:lb=1 lbs pound pounds | oz:lb=1/16 ounce ounces | ton:ton=1 tons tonne tonnes
s:s=1 sec secs second seconds | ms:s=1/1000 millisecond milliseconds | min:s=60 mins minute minutes
h:s=3600 hr hrs hour hours | day:s=86400 days | week:s=604800 weeks | month:month=1 months | year:year=1 years yr yrs
L:L=1 l liter liters litre litres | mL:L=1/1000 ml milliliter milliliters | gallon:gallon=1 gallons
N:N=1 newton newtons | J:J=1 joule joules | kJ:J=1000 | W:W=1 watt watts | kW:W=1000 | V:V=1 volt volts
A:A=1 ampere amperes amps | Pa:Pa=1 pascal pascals | kPa:Pa=1000 | Hz:Hz=1 hertz | mol:mol=1 mole moles | K:K=1 kelvin
eV:eV=1 | MeV:eV=1000000 | T:T=1 tesla | C:C=1 coulomb coulombs | F:F=1 | ohm:ohm=1 ohms
dollar:dollar=1 dollars usd bucks | cent:dollar=1/100 cents | euro:euro=1 euros eur | gbp:gbp=1
rad:rad=1 radian radians | degC:degC=1 celsius | degF:degF=1 fahrenheit | Omega:ohm=1
acre:acre=1 acres | byte:byte=1 bytes | bit:bit=1 bits | knot:knot=1 knots | atm:atm=1 | bar:bar=1 bars
`

/** Words that are a number: five million. */
const multipliers: Record<string, bigint> = {
  hundred: 100n,
  thousand: 1000n,
  million: 10n ** 6n,
  billion: 10n ** 9n,
  trillion: 10n ** 12n,
  dozen: 12n,
}

const measures = new Map<string, Measure>()
for (const entry of table.split(/[|\n]/).map((each) => each.trim())) {
  const [head, ...others] = entry.split(/\s+/)
  const match = /^(\w+):(\w+)=(\d+)(?:\/(\d+))?$/.exec(head ?? '')
  if (match === null) continue
  const [, name, base, top, bottom = '1'] = match
  const measure = { factor: rational(BigInt(top!), BigInt(bottom)), powers: { [base!]: 1 } }
  for (const each of [name!, ...others]) measures.set(each, measure)
}

const hour = measures.get('h')!.factor
for (const [names, length] of [
  [['mph'], 'mile'],
  [['kmh', 'kph', 'kmph'], 'km'],
] as const) {
  const factor = divide(measures.get(length)!.factor, hour)
  for (const name of names) measures.set(name, { factor, powers: { m: 1, s: -1 } })
}

/** Words that say nothing about the measure. */
const empty = new Set(
  'unit units approximately about exactly each total in all of the a an deg degree degrees'.split(' '),
)

/** Words behind a number that make another statement of it: 5 or more, 5 is wrong, 5 factorial. */
const other = new Set(
  `or and more less than least most fewer greater higher lower above below over under not no nor none incorrect wrong false
   invalid else something otherwise if when unless factorial half third quarter twice double triple times plus minus modulo
   mod choose squared cubed to through until except but maybe perhaps is isn was are were does`
    .trim()
    .split(/\s+/),
)

/** Whether words behind a number say more than what it counts or measures. */
export function changesMeaning(words: string): boolean {
  const list = words.toLowerCase().match(/\p{L}+/gu) ?? []
  return list.some(
    (word, i) => other.has(word) && !(i > 0 && /^(?:squared|cubed)$/.test(word) && isUnitWord(list[i - 1]!)),
  )
}
const dimensions: Record<string, number> = { square: 2, sq: 2, squared: 2, cubic: 3, cubed: 3 }

/** Single letters that are a unit when they follow a number at once; the rest are variables. */
export const letterUnits = new Set('m s g h N J W V L K A C T F Omega'.split(' '))

export const currencySigns: Record<string, string> = { $: 'dollar', '€': 'euro', '£': 'gbp', '¥': 'yen' }

/** Words for currencies that stand before the amount. */
export const currencyWords: Record<string, string> = {
  USD: 'dollar',
  EUR: 'euro',
  GBP: 'gbp',
  Rs: 'rupee',
  INR: 'rupee',
}

export const percentWords = /^(?:%|pct|percent|percentage)$/

export function isUnitWord(word: string): boolean {
  if (percentWords.test(word) || empty.has(word) || multipliers[word] !== undefined) return true
  return measures.has(word) || measures.has(word.toLowerCase()) || dimensions[word] !== undefined
}

interface Unit {
  measure: Measure
  /** Words in it that are unknown. */
  words: string[]
  /** 1000 of thousand dollars. */
  times: Rational
}

/** What a text such as `cm^2`, `square feet`, `km/h` or `million dollars` measures. */
function unitOf(text: string): Unit {
  const measure: Measure = { factor: { n: 1n, d: 1n }, powers: {} }
  const words: string[] = []
  let times: Rational = { n: 1n, d: 1n }
  let [sign, dimension] = [1, 1]
  let newest: { factor: Rational; base: string; sign: number } | undefined
  for (const part of text.replace(/[{}]/g, '').match(/[\p{L}$€£¥]+|\^\s*-?\s*\d+|\/|per\b/gu) ?? []) {
    const word = part.toLowerCase()
    if (part === '/' || word === 'per') sign = -1
    else if (dimensions[word] !== undefined && !/ed$/.test(word)) dimension = dimensions[word]!
    else if (part.startsWith('^')) again(Number(part.slice(1).replace(/\s/g, '')) - 1)
    else if (dimensions[word] !== undefined) again(dimensions[word]! - 1)
    else if (multipliers[word] !== undefined) times = multiply(times, { n: multipliers[word]!, d: 1n })
    else {
      const found = measures.get(currencySigns[part] ?? part) ?? measures.get(word)
      if (found !== undefined) include(found, sign * dimension)
      else if (!empty.has(word)) words.push(word.replace(/(?<=..)s$/, ''))
      ;[sign, dimension] = [1, 1]
    }
  }
  return { measure, words, times }

  function include({ factor, powers }: Measure, count: number): void {
    measure.factor = multiply(measure.factor, power(factor, { n: BigInt(count), d: 1n }))
    for (const [base, one] of Object.entries(powers)) {
      measure.powers[base] = (measure.powers[base] ?? 0) + one * count
      newest = { factor, base, sign: Math.sign(count) }
    }
  }

  function again(more: number): void {
    if (newest === undefined || more === 0 || Math.abs(more) > 10) return
    include({ factor: newest.factor, powers: { [newest.base]: 1 } }, more * newest.sign)
  }
}

/**
 * How many of unit b one of unit a is; where either measures nothing, what is multiplied in words. Undefined where they
 * measure different things: feet are no inches' equals, and apples no oranges.
 */
export function conversion(a: string, b: string): Rational | undefined {
  if (a === b) return { n: 1n, d: 1n }
  const [x, y] = [unitOf(a), unitOf(b)]
  const times = divide(x.times, y.times)
  const bases = new Set([...Object.keys(x.measure.powers), ...Object.keys(y.measure.powers)])
  const measured = ({ powers }: Measure) => Object.values(powers).some((count) => count !== 0)
  if (measured(x.measure) && measured(y.measure)) {
    const alike = [...bases].every((base) => (x.measure.powers[base] ?? 0) === (y.measure.powers[base] ?? 0))
    return alike ? multiply(times, divide(x.measure.factor, y.measure.factor)) : undefined
  }
  const [own, others] = [x.words.length > 0, y.words.length > 0]
  if (own && others && !x.words.some((word) => y.words.includes(word))) return undefined
  return times
}
