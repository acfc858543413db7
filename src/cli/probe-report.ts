/** What probes say on a terminal, and the pictures that they draw. */
import { basename } from 'node:path'
import {
  type Distribution,
  type EntropyRecord,
  entropySpread,
  type Measure,
  splits,
} from '../eval/entropy.js'
import type { Interval } from '../eval/interval.js'
import type { MemorisationRow } from '../eval/memorisation.js'
import { type Box, boxChart, colors, lineChart } from '../report/chart.js'
import { counted, interval, percent } from './progress/format.js'

export interface ProbedRun {
  run: string
  /** That wrote the questions. */
  role: string
  /** Different questions that the run holds, in the rounds that were read. */
  different: number
  /** Of which so many were taken. */
  questions: number
  rows: MemorisationRow[]
}

export function memorisationLines(
  { run, role, different, questions, rows }: ProbedRun,
  model: string,
): string[] {
  const row = (cells: string[]) =>
    `  ${cells[0]!.padStart(5)}  ${cells[1]!.padEnd(22)}  ${cells[2]!}`.trimEnd()
  const range = ({ mean, low, high }: Interval) => interval({ accuracy: mean, low, high })
  return [
    `${run}: ${questions} of ${different} different questions of ${role}, continued by ${model}`,
    row(['given', 'exact match', 'ROUGE-L']),
    ...rows.map(({ prefix, exact, rougeL }) => row([percent(prefix), range(exact), range(rougeL)])),
  ]
}

/** Both measures over the share that was given, of every run. */
export function memorisationPicture(probed: readonly ProbedRun[], model: string): string {
  const series = probed.flatMap(({ run, rows }, i) => {
    const of = (name: string, color: string, take: (row: MemorisationRow) => Interval) => ({
      name: probed.length > 1 ? `${basename(run)}: ${name}` : name,
      color,
      points: rows.map((row) => ({ x: Math.round(100 * row.prefix), ...take(row) })),
    })
    return [
      of('exact match', colors[(2 * i) % colors.length]!, ({ exact }) => exact),
      of('ROUGE-L', colors[(2 * i + 1) % colors.length]!, ({ rougeL }) => rougeL),
    ]
  })
  return lineChart(
    `questions continued by ${basename(model)}, per cent`,
    'per cent of a question given',
    series,
  )
}

export interface ProbedModel {
  /** `before`, `after`, or `model` where there is one. */
  name: string
  folder: string
  records: EntropyRecord[]
}

interface Sampled {
  temperature: number
  topP: number
}

const measureNames: Record<Measure, string> = {
  mean: 'mean entropy',
  nonzero: 'mean over open tokens',
  zeroShare: 'share of decided tokens',
}
const measureList = Object.keys(measureNames) as Measure[]

export function entropyLines(
  probed: readonly ProbedModel[],
  { benchmark, problems, temperature, topP }: Sampled & { benchmark: string; problems: number },
): string[] {
  return [
    `${benchmark}: ${counted(problems, 'problem')}`,
    ...probed.map(({ name, folder, records }) => {
      const right = records.filter((record) => record.right).length
      return `  ${name.padEnd(6)}  ${folder}: ${records.length} answers, ${percent(right / records.length)} right`
    }),
    `what is sampled from (temperature ${temperature}, top-p ${topP}), nats; decided: one token is left`,
    ...entropyTable(probed, 'sampling'),
    'raw (temperature 1, whole vocabulary), nats; decided: up to 0.001',
    ...entropyTable(probed, 'raw'),
  ]
}

function entropyTable(probed: readonly ProbedModel[], distribution: Distribution): string[] {
  const row = ([measure, split, name, ...numbers]: string[]) =>
    `  ${measure!.padEnd(23)}  ${split!.padEnd(5)}  ${name!.padEnd(6)}${numbers.map((cell) => cell.padStart(8)).join('')}`
  return [
    row(['', '', '', 'n', 'mean', 'median', 'q1', 'q3', 'p5', 'p95']),
    ...measureList.flatMap((measure) =>
      splits.flatMap((split) =>
        probed.map(({ name, records }) => {
          const spread = entropySpread(records, distribution, split, measure)
          const { mean, median, q1, q3, p5, p95 } = spread ?? {}
          const numbers = [mean, median, q1, q3, p5, p95].map((value) => value?.toFixed(3) ?? '-')
          return row([measureNames[measure], split, name, String(spread?.n ?? 0), ...numbers])
        }),
      ),
    ),
  ]
}

/** Right and wrong answers, before and after, by every measure of the distribution that was sampled from. */
export function entropyPicture(probed: readonly ProbedModel[], { temperature, topP }: Sampled): string {
  const panels = measureList.map((measure) => ({
    title: measureNames[measure],
    boxes: (['right', 'wrong'] as const).flatMap((split, i) =>
      probed.flatMap(({ name, records }): Box[] => {
        const spread = entropySpread(records, 'sampling', split, measure)
        const label = probed.length > 1 ? `${split}\n${name}` : split
        return spread ? [{ ...spread, name: label, color: colors[i]! }] : []
      }),
    ),
  }))
  return boxChart(`entropy an answer, nats, at temperature ${temperature} and top-p ${topP}`, panels)
}
