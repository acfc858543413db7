/** docs/results.md and its pictures, from results alone. */
import type { Measured } from '../../src/eval/report.js'
import { points } from '../lib/spread.js'
import { besideInWords, changeInWords, judgeClaim, verdicts } from './findings.js'
import { drawPicture } from './pictures.js'
import { unspoiled } from './plan.js'
import type { ComparisonResults, Result } from './summary.js'
import {
  accuracyTable,
  claimTable,
  costTable,
  interval,
  isShort,
  rowTable,
  SHORT,
  seedTable,
  tableSize,
} from './tables.js'

export interface Material {
  comparisons: readonly ComparisonResults[]
  /** Of the model before its noisy cold start, by comparison, where it was measured. */
  unspoiled: Readonly<Record<string, { sampled: Measured; greedy: Measured }>>
  seeds: readonly number[]
  /** Machines that the runs were played on. */
  machines: readonly string[]
  /** What the plan has and the folder has not, one phrase each. */
  absent: readonly string[]
}

/** Texts by file name. */
export function writeDocument(material: Material): Record<string, string> {
  const pictures = material.comparisons.flatMap((results) =>
    results.comparison.pictures.flatMap((picture) => {
      const svg = drawPicture(picture, results)
      return svg === undefined ? [] : [[`results-${picture.name}.svg`, svg] as const]
    }),
  )
  const drawn = pictures.map(([file]) => file)
  const played = material.comparisons.filter(({ results }) => results.length > 0)
  const text = [
    head(material),
    short(material),
    method(material),
    ...played.map((results) => section(results, material, drawn)),
    limits(material),
    again,
  ].join('\n\n')
  return { 'results.md': `${text}\n`, ...Object.fromEntries(pictures) }
}

function head({ comparisons, seeds, machines, absent }: Material): string {
  // A row that reads the runs of another one has none of its own.
  const own = comparisons.flatMap(({ results }) => results.filter(({ row }) => row.runs === undefined))
  const runs = own.flatMap(({ outcomes }) => outcomes).length
  return [
    '# Results',
    `What each game and each of its controls does to the starter model, in ${runs} runs with the seeds ${seeds.join(', ')}. This page was
written by a script from the files of those runs; no number and no finding in it was entered by hand.`,
    `Played one run at a time on: ${machines.join('; ')}.`,
    ...(absent.length > 0 ? [`**Not in here**: ${absent.join('; ')}.`] : []),
  ].join('\n\n')
}

/** Which effects appear and which do not. */
function short({ comparisons }: Material): string {
  const judged = comparisons.flatMap(({ comparison, results }) =>
    comparison.claims.flatMap((claim) => judgeClaim(claim, results) ?? []),
  )
  const lines = verdicts.flatMap((verdict) => {
    const said = judged.filter((each) => each.verdict === verdict).map(({ claim }) => claim.says)
    return said.length > 0 ? [`- **${verdict}**: ${said.join('; ')}`] : []
  })
  return [
    '## In short',
    'Of the effects that the papers report, and of those asked for here (the tables below say by how much):',
    lines.join('\n'),
  ].join('\n\n')
}

function method({ comparisons, seeds }: Material): string {
  const budgets = comparisons.flatMap(({ comparison }) => comparison.budget ?? [])
  const budget = budgets.map((passes) => `${passes / 1e6} million`).join(', ')
  return `## How it was measured

Every row starts from \`models/tiny\`, a million weights with a noisy cold start
([how it was made](games/pasodoble.md#the-starter-model-and-its-noisy-cold-start)).

- **Compute** is counted in token passes: one for every token sampled, one for every token of a prompt that is sampled from,
  and three for every token of a sequence that is trained on, prompt included, since a backward pass costs two forward
  passes; four where a frozen copy scores the sequence for a penalty. All roles of a game are counted, and all are models of
  one size. Yardsticks, probes and audits are not counted, and neither is the fine-tuning that a discriminator or critic had
  before the run.
- **Equal compute** is ${budget} token passes. A run goes on until its yardstick has been read beyond that point; what it had
  at the point lies between the readings before and after, in proportion. So no game is favoured by where its rounds end.
- **pass@1** is accuracy at temperature 1, one sample a problem; **greedy** is that of the likeliest answer. Brackets are 95 %
  intervals over problems, of each problem's mean over seeds. **±** is the standard deviation over seeds.
- **A difference counts** where its 95 % interval over seeds (Student's *t*; Welch's between rows) leaves out 0. Everything else
  is called no difference. With ${seeds.length} seeds that is a high bar.
- **Labels right** is the share of true labels among those that the game made itself, by the world's own rule: mean of the
  first and of the last five rounds that tell. – where an answer key is given, or where nobody makes labels.
- **Seconds** are those of rounds: sampling, grading, training. Set-up, yardsticks and checkpoints come on top.`
}

function section(results: ComparisonResults, material: Material, drawn: readonly string[]): string {
  const { comparison } = results
  const judgements = comparison.claims.flatMap((claim) => judgeClaim(claim, results.results) ?? [])
  const pictures = comparison.pictures.filter(({ name }) => drawn.includes(`results-${name}.svg`))
  const short = results.results.filter(isShort).map(({ row }) => row.label)
  const before = material.unspoiled[comparison.name]
  return [
    `## ${comparison.title}`,
    comparison.intro,
    ...(before ? [ceiling(before)] : []),
    rowTable(results),
    tableSize(results),
    accuracyTable(results),
    ...(short.length > 0 ? [`${SHORT} ended before the budget did: read at the end of its rounds.`] : []),
    ...pictures.map(({ name, rows }) => `![${alt(results, rows)}](results-${name}.svg)`),
    '### In words',
    results.results.map((result) => inWords(result, results)).join('\n'),
    ...(judgements.length > 0
      ? ['### Effects, published and asked for', claimTable(judgements, results.results)]
      : []),
    '### What it took',
    costTable(results),
    '### By seed',
    seedTable(results),
  ].join('\n\n')
}

function ceiling({ sampled, greedy }: { sampled: Measured; greedy: Measured }): string {
  const cell = ({ accuracy, low, high }: Measured) => interval({ mean: accuracy, low, high })
  return `Before its noisy cold start the model (\`${unspoiled}\`) had pass@1 ${cell(sampled)} and greedy ${cell(greedy)} on these
problems.`
}

function alt({ results }: ComparisonResults, rows: readonly string[]): string {
  const ends = results
    .filter(({ row }) => rows.includes(row.name))
    .map(({ row, sampled }) => `${row.label} ${points(sampled.after.mean)}`)
  return `Held-out accuracy; at the end in per cent: ${ends.join(', ')}`
}

function inWords(result: Result, { results, comparison }: ComparisonResults): string {
  const reference = results.find(({ row }) => row.name === comparison.reference)
  const parts = [
    `pass@1 ${changeInWords(result.sampled)}`,
    `greedy accuracy ${changeInWords(result.greedy)}`,
    ...(reference && reference !== result ? [`it ${besideInWords(result, reference)}`] : []),
  ]
  return `- **${result.row.label}**: ${parts.join('; ')}.`
}

function limits({ comparisons, seeds }: Material): string {
  const results = comparisons.flatMap((each) => each.results)
  const uneven = results.filter(({ sampled }) => sampled.gain.values.length > 1 && sampled.gain.sd > 0.05)
  return `## What this does not show

- **Anything about size.** A model of a million weights in a world of arithmetic says what a method's reward does to a policy
  that can be watched to the end. Whether an effect that appears here appears on language, or one that does not appear
  here does there, is not said.
- **New skill.** The cold start hid what the model knew, on purpose. What is gained is mostly recovered; how much there is to
  recover was chosen so that it can be seen.
- **The best of each method.** No row was tuned for this page: run files as they ship, one learning rate each. A game that
  loses may want another.
- **Small differences.** ${seeds.length} seeds tell large effects apart. That no difference is found means that none of that size could
  be told, not that there is none.${uneven.length > 0 ? ` Seeds differ most in: ${uneven.map(({ row }) => row.label).join(', ')}.` : ''}
- **Other problems.** One held-out set a table, the same for all its rows and seeds; the intervals over problems are about other
  problems of the same kind, and about nothing else.
- **Equal time.** Token passes are not seconds: sampling takes longer for a token than training does, and grading and
  comparing take time of their own. The seconds stand beside them; they depend on the machine, and on what else
  it did: some runs shared it with other work.
- **The price of the other roles.** Weights of opponents cost memory, and a discriminator or critic has a cold start of its own
  that is not in the count.`
}

const again = `## Doing it again

\`\`\`
npm ci
npm run results -- --plan
npm run results -- --docs docs
\`\`\`

The second line prints the runs, what is done of them and how long the rest will take; the third plays what is not done, one
run at a time, and writes this page. It can be killed and called again: runs that are done are read, one that was
begun goes on.`
