/** Numbers, times and names as they are shown. */

/** At most four significant digits; what is not a number is a dash. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace('-', '−')
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3
  return String(Number(value.toFixed(digits))).replace('-', '−')
}

/** Two numbers that are compared, with as many digits as tell them apart; three of each at least. */
export function against(value: number | null, threshold: number | null): [string, string] {
  if (value === null || threshold === null || value === threshold)
    return [significant(value, 3), significant(threshold, 3)]
  for (let digits = 3; ; digits++) {
    const pair: [string, string] = [significant(value, digits), significant(threshold, digits)]
    if (pair[0] !== pair[1] || digits === 15) return pair
  }
}

function significant(value: number | null, digits: number): string {
  if (value === null || !Number.isFinite(value)) return number(value)
  const size = Math.abs(value)
  const isPlain = size === 0 || (size >= 1e-4 && size < 1e6)
  const text = isPlain ? String(Number(value.toPrecision(digits))) : value.toExponential(digits - 1)
  return text.replaceAll('-', '−')
}

/** A difference, with its sign. */
export function signed(value: number | null | undefined): string {
  return typeof value === 'number' && value > 0 ? `+${number(value)}` : number(value)
}

export function percent(share: number | null | undefined): string {
  return typeof share === 'number' ? `${(100 * share).toFixed(1)} %` : '–'
}

export function count(value: number | null | undefined): string {
  return typeof value === 'number' ? value.toLocaleString('en-US').replaceAll(',', '\u202f') : '–'
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3))
  return `${number(value / 1000 ** power)} ${units[power]}`
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** How long ago, `now` and `then` in milliseconds. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, (now - then) / 1000)
  return seconds < 5 ? 'now' : `${duration(seconds)} ago`
}

/** `rounds 3–7`, or `round 3`. */
export function rounds(from: number, to: number): string {
  return from === to ? `round ${from}` : `rounds ${from}–${to}`
}

/** A name of code as words: `too_hard` is `too hard`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}

/** The last name of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path
}
