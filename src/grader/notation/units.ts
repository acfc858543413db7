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
rad:rad=1 radian radians | mph:mph=1 | kmh:kmh=1 kph
`

const measures = new Map<string, Measure>()
for (const entry of table.split(/[|\n]/).map((each) => each.trim())) {
  const [head, ...others] = entry.split(/\s+/)
  const match = /^(\w+):(\w+)=(\d+)(?:\/(\d+))?$/.exec(head ?? '')
  if (match === null) continue
  const [, name, base, top, bottom = '1'] = match
  const measure = { factor: rational(BigInt(top!), BigInt(bottom)), powers: { [base!]: 1 } }
  for (const each of [name!, ...others]) measures.set(each, measure)
}

/** Words that say nothing about the measure. */
const empty = new Set('unit units approximately about exactly each total in all of the a an'.split(' '))
const dimensions: Record<string, number> = { square: 2, sq: 2, squared: 2, cubic: 3, cubed: 3 }

/** Single letters that are a unit when they follow a number at once; the rest are variables. */
export const letterUnits = new Set('m s g h N J W V L K A C T F'.split(' '))

export const currencySigns: Record<string, string> = { $: 'dollar', '€': 'euro', '£': 'gbp', '¥': 'yen' }

export function isUnitWord(word: string): boolean {
  return measures.has(word) || measures.has(word.toLowerCase()) || dimensions[word] !== undefined
}

/** What a text such as `cm^2`, `square feet` or `km/h` measures; the words in it that are unknown. */
function measureOf(text: string): { measure: Measure; words: string[] } {
  const measure: Measure = { factor: { n: 1n, d: 1n }, powers: {} }
  const words: string[] = []
  let [sign, dimension] = [1, 1]
  let newest: { factor: Rational; base: string; sign: number } | undefined
  for (const part of text.match(/[\p{L}$€£¥]+|\^\s*-?\d+|\/|per\b/gu) ?? []) {
    const word = part.toLowerCase()
    if (part === '/' || word === 'per') sign = -1
    else if (dimensions[word] !== undefined && !/ed$/.test(word)) dimension = dimensions[word]!
    else if (part.startsWith('^')) last(Number(part.slice(1)) - 1)
    else if (dimensions[word] !== undefined) last(dimensions[word]! - 1)
    else {
      const found = measures.get(part) ?? measures.get(word)
      if (found === undefined) {
        if (!empty.has(word)) words.push(word.replace(/(?<=..)s$/, ''))
      } else include(found, sign * dimension)
      ;[sign, dimension] = [1, 1]
    }
  }
  return { measure, words }

  function include({ factor, powers }: Measure, times: number): void {
    measure.factor = multiply(measure.factor, power(factor, { n: BigInt(times), d: 1n }))
    for (const [base, one] of Object.entries(powers)) {
      measure.powers[base] = (measure.powers[base] ?? 0) + one * times
      newest = { factor, base, sign: Math.sign(times) }
    }
  }
  function last(more: number): void {
    if (newest === undefined || Math.abs(more) > 10) return
    include({ factor: newest.factor, powers: { [newest.base]: 1 } }, more * newest.sign)
  }
}

/**
 * How many of unit b one of unit a is; 1 where either is empty. Undefined where they measure different things: feet are
 * no inches' equals, and apples no oranges.
 */
export function conversion(a: string, b: string): Rational | undefined {
  if (a === b || a === '' || b === '') return { n: 1n, d: 1n }
  const [x, y] = [measureOf(a), measureOf(b)]
  const bases = new Set([...Object.keys(x.measure.powers), ...Object.keys(y.measure.powers)])
  const measured = (each: Measure) => Object.values(each.powers).some((times) => times !== 0)
  if (measured(x.measure) && measured(y.measure)) {
    const alike = [...bases].every((base) => (x.measure.powers[base] ?? 0) === (y.measure.powers[base] ?? 0))
    return alike ? divide(x.measure.factor, y.measure.factor) : undefined
  }
  if (x.words.length > 0 && y.words.length > 0 && !x.words.some((word) => y.words.includes(word))) {
    return undefined
  }
  return { n: 1n, d: 1n }
}
