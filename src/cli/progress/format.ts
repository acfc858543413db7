/** Numbers as people read them. */

const bars = '▁▂▃▄▅▆▇█'

/** The last `width` values as bars from the least to the greatest of them; equal values are drawn in the middle. */
export function sparkline(values: readonly number[], width = 24): string {
  const shown = values.filter(Number.isFinite).slice(-width)
  const low = Math.min(...shown)
  const high = Math.max(...shown)
  const level = (value: number) =>
    high === low ? 3 : Math.round(((value - low) / (high - low)) * (bars.length - 1))
  return shown.map((value) => bars[level(value)]).join('')
}

/** 0.8 s, 12 s, 3 min 5 s, 2 h 10 min */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes} min ${whole % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10))
  const value = count / 1024 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** 1 round, 2 rounds */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** Three decimals, or more where the number is small. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-'
  return Math.abs(value) >= 0.01 || value === 0 ? value.toFixed(3) : value.toExponential(1)
}

/** 0.851 [0.818, 0.879] */
export function interval({ accuracy, low, high }: { accuracy: number; low: number; high: number }): string {
  return `${accuracy.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined || !Number.isFinite(share)
    ? '-'
    : `${Math.round(100 * share)} %`
}
