/** The tables of docs/results.md. */
import type { Interval } from '../../src/eval/interval.js'
import { mean } from '../../src/games/grpo/advantages.js'
import { plusMinus, points } from '../lib/spread.js'
import type { Judgement } from './findings.js'
import type { Change, ComparisonResults, Outcome, Result } from './summary.js'

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

export const interval = ({ mean, low, high }: Interval) => `${points(mean)} [${points(low)}, ${points(high)}]`

/** Rows whose runs ended before the budget did wear a mark. */
export const SHORT = '†'
export const isShort = ({ outcomes }: Result) => outcomes.some(({ after }) => !after.reached)
const labelOf = (result: Result) => `${result.row.label}${isShort(result) ? ` ${SHORT}` : ''}`

export function rowTable({ results }: ComparisonResults): string {
  return table(
    ['row', 'run file', 'what it is', 'told of right and wrong'],
    results.map(({ row }) => {
      const file = [`\`${row.recipe}\``, ...(row.set ?? []).map((setting) => `\`${setting}\``)].join(', ')
      return [row.label, file, row.about, row.labels]
    }),
  )
}

export function accuracyTable({ results }: ComparisonResults): string {
  const cells = ({ before, after, gain }: Change) => [interval(before), interval(after), plusMinus(gain)]
  return table(
    [
      'row',
      ...['pass@1 before', 'after', 'gain, mean ± sd'],
      ...['greedy before', 'after', 'gain, mean ± sd'],
      'labels right, first → last',
    ],
    results.map((result) => [
      labelOf(result),
      ...cells(result.sampled),
      ...cells(result.greedy),
      labelCell(result.outcomes),
    ]),
  )
}

/** What the intervals of a table are over. */
export function tableSize({ results }: ComparisonResults): string {
  const outcomes = results.flatMap((result) => result.outcomes)
  const counts = [...new Set(results.map((result) => result.outcomes.length))].sort()
  const seeds = counts.at(-1) === 1 ? '1 seed' : `${counts.join(' or ')} seeds`
  return `Accuracy in per cent: ${outcomes[0]!.before.sampled.length} held-out problems, ${seeds}.`
}

function labelCell(outcomes: readonly Outcome[]): string {
  const told = outcomes.flatMap(({ labels }) => labels ?? [])
  if (told.length === 0) return '–'
  return `${points(mean(told.map(({ first }) => first)))} → ${points(mean(told.map(({ last }) => last)))}`
}

/** What a run took, mean over seeds; of seconds the middle one. */
export function costTable({ results, comparison }: ComparisonResults): string {
  const reference = results.find(({ row }) => row.name === comparison.reference)
  const passes = (of: Result) => average(of, ({ after }) => after.work.passes)
  return table(
    [
      'row',
      'rounds',
      'tokens sampled, thousands',
      'tokens trained on, thousands',
      'token passes, millions',
      ...(reference ? [`× ${reference.row.label}`] : []),
      'seconds, median [least, most]',
    ],
    results.map((result) => [
      labelOf(result),
      average(result, ({ after }) => after.round).toFixed(0),
      thousands(average(result, ({ after }) => after.work.sampled)),
      thousands(average(result, ({ after }) => after.work.trained)),
      (passes(result) / 1e6).toFixed(2),
      ...(reference ? [(passes(result) / passes(reference)).toFixed(1)] : []),
      secondsOf(result),
    ]),
  )
}

const average = ({ outcomes }: Result, value: (outcome: Outcome) => number) => mean(outcomes.map(value))
const secondsOf = ({ seconds: { median, least, most } }: Result) =>
  `${median.toFixed(0)} [${least.toFixed(0)}, ${most.toFixed(0)}]`
const thousands = (count: number) => (count / 1000).toFixed(0)

export function seedTable({ results }: ComparisonResults): string {
  const kinds = ['sampled', 'greedy'] as const
  return table(
    ['row', 'seed', 'pass@1 before', 'after', 'greedy before', 'after', 'rounds', 'seconds'],
    results.flatMap(({ row, outcomes }) =>
      outcomes.map(({ seed, before, after }) => [
        row.label,
        seed,
        ...kinds.flatMap((kind) => [points(mean(before[kind])), points(mean(after.answers[kind]))]),
        after.round.toFixed(1),
        after.work.seconds.toFixed(0),
      ]),
    ),
  )
}

export function claimTable(judgements: readonly Judgement[], results: readonly Result[]): string {
  const label = (name: string) => results.find(({ row }) => row.name === name)!.row.label
  return table(
    ['effect', 'row', 'here', 'at this size'],
    judgements.map(({ claim, here, verdict }) => [claim.says, label(claim.row), here, `**${verdict}**`]),
  )
}
