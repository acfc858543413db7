/** What the terminal says of an evaluation and of a comparison. */
import type { Comparison } from '../eval/compare.js'
import type { Measured } from '../eval/report.js'
import type { ResultsHead } from '../eval/results.js'
import { printable } from './failure.js'
import { counted, duration, interval, percent } from './progress/format.js'

/** Groups of problems beyond which a table would only scroll by; the results file has them all. */
const MOST_GROUPS = 12

/** Problems that a comparison lists. */
const MOST_CHANGED = 10

export function reportLines(
  { settings, report }: ResultsHead,
  passAtK: ResultsHead['report']['passAtK'],
  out: string,
) {
  const { benchmark, protocol } = settings
  const { n, samples, tokens, reasons } = report
  const how = `temperature ${protocol.temperature}${samples > 1 ? `, ${samples} a problem` : ''}`
  const faults = [
    `truncated ${percent(report.truncatedFrac)}`,
    `no answer ${percent(report.unansweredFrac)}`,
    ...(reasons.timeout ? [`${reasons.timeout} timed out`] : []),
    ...(reasons.error ? [`${reasons.error} could not be graded`] : []),
    ...(report.unparsableGold > 0 ? [`${report.unparsableGold} true answers cannot be read`] : []),
  ]
  const more = [
    ...passAtK.filter(({ k }) => k > 1).map((each) => `pass@${each.k} ${interval(each)}`),
    ...(report.majority ? [`majority of ${samples} ${interval(report.majority)}`] : []),
  ]
  const spent = `${count(tokens.mean)} tokens an answer (half below ${count(tokens.p50)}, 95 % below ${count(tokens.p95)})`
  const lines = [
    `${benchmark.name}  ${interval(report)}  ${counted(n, 'problem')}, ${protocol.name}, ${how}; ${faults.join(', ')}`,
    ...more.map((text) => `  ${text}`),
    ...table('level', report.levels),
    ...table('', report.subjects),
    `  ${spent}, ${count(tokens.total)} in all; ${duration(report.seconds)}`,
    `  ${out}`,
  ]
  return lines.map(printable)
}

function table(what: string, groups: ({ name: string; n: number } & Measured)[]): string[] {
  if (groups.length > MOST_GROUPS) return []
  const names = groups.map(({ name }) => printable(`${what} ${name}`.trim()))
  const width = Math.max(...names.map((name) => name.length))
  return groups.map(
    (group, i) => `  ${names[i]!.padEnd(width)}  ${interval(group)}  ${counted(group.n, 'problem')}`,
  )
}

export function comparisonLines(result: Comparison, [a, b]: [string, string]): string[] {
  const { n, only, test, p, better, worse, changed, differing } = result
  const points = (value: number) => `${value > 0 ? '+' : ''}${(100 * value).toFixed(1)}`
  const range = `[${points(result.low)}, ${points(result.high)}]`
  const left = [
    ...(only.a > 0 ? [`${only.a} problems are only in ${a}`] : []),
    ...(only.b > 0 ? [`${only.b} problems are only in ${b}`] : []),
  ]
  const shown = changed.slice(0, MOST_CHANGED).map((each) => ({ ...each, id: printable(each.id) }))
  const width = Math.max(...shown.map(({ id }) => id.length), 0)
  const lines = [
    `${result.benchmark}  ${result.a.toFixed(3)} -> ${result.b.toFixed(3)}  ${counted(n, 'problem')} that both have`,
    `  difference ${points(result.difference)} points ${range}, p = ${chance(p)} (${test})`,
    `  more often right in ${b}: ${counted(better, 'problem')}, less often: ${worse}`,
    ...left.map((text) => `  ${text}`),
    ...differing.map((phrase) => `  note: ${b} has ${phrase}`),
    ...(shown.length > 0 ? ['  changed most:'] : []),
    ...shown.map((each) => `    ${each.id.padEnd(width)}  ${each.a} -> ${each.b}`),
  ]
  return lines.map(printable)
}

function chance(p: number): string {
  return p < 0.001 ? p.toExponential(1) : p.toFixed(3)
}

/** 312, 4,096, 2.41 M */
function count(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`
  return Math.round(value).toLocaleString('en')
}
