/** Real functions of doubles with their derivatives, for values that carry a bound of their error. */

export interface RealFunction {
  value(x: number): number
  /** Absolute value of the derivative, up to a small factor. */
  slope(x: number): number
}

const recip = (f: (x: number) => number) => (x: number) => 1 / f(x)
const near = (x: number) => Math.sqrt(Math.abs(1 - x * x))

/** Conventions: arccot x = arctan 1/x, arcsec x = arccos 1/x, arccsc x = arcsin 1/x. */
export const realFunctions: Record<string, RealFunction> = {
  exp: { value: Math.exp, slope: Math.exp },
  ln: { value: Math.log, slope: (x) => 1 / Math.abs(x) },
  sin: { value: Math.sin, slope: () => 1 },
  cos: { value: Math.cos, slope: () => 1 },
  tan: { value: Math.tan, slope: (x) => 1 + Math.tan(x) ** 2 },
  cot: { value: recip(Math.tan), slope: (x) => 1 + recip(Math.tan)(x) ** 2 },
  sec: { value: recip(Math.cos), slope: (x) => recip(Math.cos)(x) ** 2 },
  csc: { value: recip(Math.sin), slope: (x) => recip(Math.sin)(x) ** 2 },
  arcsin: { value: Math.asin, slope: (x) => 1 / near(x) },
  arccos: { value: Math.acos, slope: (x) => 1 / near(x) },
  arctan: { value: Math.atan, slope: () => 1 },
  arccot: { value: (x) => Math.atan(1 / x), slope: () => 1 },
  arcsec: { value: (x) => Math.acos(1 / x), slope: (x) => 1 / near(1 / x) / x ** 2 },
  arccsc: { value: (x) => Math.asin(1 / x), slope: (x) => 1 / near(1 / x) / x ** 2 },
  sinh: { value: Math.sinh, slope: Math.cosh },
  cosh: { value: Math.cosh, slope: (x) => Math.abs(Math.sinh(x)) },
  tanh: { value: Math.tanh, slope: () => 1 },
  coth: { value: recip(Math.tanh), slope: (x) => recip(Math.tanh)(x) ** 2 },
  sech: { value: recip(Math.cosh), slope: () => 1 },
  csch: { value: recip(Math.sinh), slope: (x) => recip(Math.sinh)(x) ** 2 * Math.cosh(x) },
  arsinh: { value: Math.asinh, slope: () => 1 },
  arcosh: { value: Math.acosh, slope: (x) => 1 / near(x) },
  artanh: { value: Math.atanh, slope: (x) => 1 / Math.abs(1 - x * x) },
  arcoth: { value: (x) => Math.atanh(1 / x), slope: (x) => 1 / Math.abs(1 - x * x) },
  arsech: { value: (x) => Math.acosh(1 / x), slope: (x) => 1 / near(x) / x },
  arcsch: { value: (x) => Math.asinh(1 / x), slope: (x) => 1 / x ** 2 },
}

/** Lanczos's approximation (g = 7, 9 coefficients) of the gamma function; relative error about 1e-15. */
export function gamma(x: number): number {
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * gamma(1 - x))
  const coefficients = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ]
  const z = x - 1
  const sum = coefficients.reduce((total, c, i) => total + c / (z + i + 1), 0.9999999999998099)
  const t = z + 7.5
  return Math.sqrt(2 * Math.PI) * t ** (z + 0.5) * Math.exp(-t) * sum
}
