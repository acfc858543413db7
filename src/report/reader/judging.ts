/** How well the judge of a game judges, over a range of rounds. */
import type { JudgingAnswer, JudgingQuery, Planted, Reliability, Roc, VerdictRow } from '../api/judging.js'
import { grouped } from './histogram.js'
import { type Config, roleOf } from './parts.js'
import type { File, RolloutStore } from './store.js'

const BINS = 10
const POINTS = 200

/** Undefined where the game has no judge. */
export async function judging(
  { config, store }: { config: Config; store: RolloutStore },
  { from, to }: JudgingQuery,
): Promise<JudgingAnswer | undefined> {
  const role = roleOf(config, 'judge')
  if (role === undefined) return undefined
  const rounds = store.within(from, to)
  const coverage = await store.read(rounds, role)
  const files = [...store.files(rounds.reverse(), role)]
  const forecasts = [forecast(files, 'reference'), forecast(files, 'right')].filter(isTwoSided)
  return {
    role,
    verdicts: verdicts(files),
    reliability: forecasts.map(reliability),
    roc: forecasts.map(roc),
    planted: planted(files),
    coverage,
  }
}

function verdicts(files: readonly File[]): VerdictRow[] {
  const rows = new Map<VerdictRow['kind'], VerdictRow>()
  for (const { block } of files) {
    for (let row = 0; row < block.rows; row++) {
      const judged = block.kind(row)
      if (judged === 'none') continue
      const right = block.isRight(row)
      const isMarked = judged === 'reference' || judged === 'planted' || judged === 'twin'
      const kind = isMarked ? judged : right === null ? 'generated' : right ? 'right' : 'wrong'
      const counts = rows.get(kind) ?? { kind, yes: 0, no: 0, unread: 0 }
      rows.set(kind, counts)
      const said = block.saysYes(row)
      counts[said === null ? 'unread' : said ? 'yes' : 'no']++
    }
  }
  const order: VerdictRow['kind'][] = ['reference', 'right', 'wrong', 'generated', 'planted', 'twin']
  return order.flatMap((kind) => rows.get(kind) ?? [])
}

interface Forecasts {
  of: 'reference' | 'right'
  /** Scores of what came true, and of what did not; each ascending. */
  positives: Float32Array
  negatives: Float32Array
}

/** Scores as a forecast: that a slice is a reference, or that a completion is right. */
function forecast(files: readonly File[], of: Forecasts['of']): Forecasts {
  const scores: [number[], number[]] = [[], []]
  for (const { block } of files) {
    for (let row = 0; row < block.rows; row++) {
      const score = block.number(row, 'score')
      const kind = block.kind(row)
      if (Number.isNaN(score)) continue
      const isGenerated = kind === 'generated' || kind === 'solution'
      if (of === 'reference' && (kind === 'reference' || kind === 'generated')) {
        scores[kind === 'reference' ? 0 : 1].push(score)
      } else if (of === 'right' && isGenerated && block.isRight(row) !== null) {
        scores[block.isRight(row) ? 0 : 1].push(score)
      }
    }
  }
  const [positives, negatives] = scores.map((values) => Float32Array.from(values).sort())
  return { of, positives: positives!, negatives: negatives! }
}

function isTwoSided({ positives, negatives }: Forecasts): boolean {
  return positives.length > 0 && negatives.length > 0
}

function reliability({ of, positives, negatives }: Forecasts): Reliability {
  const bins = Array.from({ length: BINS }, () => ({ n: 0, score: 0, positives: 0 }))
  const put = (scores: Float32Array, outcome: number) => {
    for (const score of scores) {
      const bin = bins[Math.min(BINS - 1, Math.max(0, Math.floor(score * BINS)))]!
      bin.n++
      bin.score += score
      bin.positives += outcome
    }
  }
  put(positives, 1)
  put(negatives, 0)
  return {
    of,
    n: positives.length + negatives.length,
    bins: bins.map((bin) => ({
      n: bin.n,
      score: bin.n === 0 ? null : bin.score / bin.n,
      outcome: bin.n === 0 ? null : bin.positives / bin.n,
    })),
  }
}

/** Every threshold from the highest score down; equal scores are passed at once, so that they count half. */
function roc({ of, positives, negatives }: Forecasts): Roc {
  const points = [{ fpr: 0, tpr: 0 }]
  let [p, n, area] = [positives.length, negatives.length, 0]
  while (p > 0 || n > 0) {
    const score = Math.max(positives[p - 1] ?? -Infinity, negatives[n - 1] ?? -Infinity)
    while (p > 0 && positives[p - 1] === score) p--
    while (n > 0 && negatives[n - 1] === score) n--
    const before = points.at(-1)!
    const fpr = 1 - n / negatives.length
    const tpr = 1 - p / positives.length
    area += ((fpr - before.fpr) * (tpr + before.tpr)) / 2
    points.push({ fpr, tpr })
  }
  const shown = grouped(points, POINTS).map((group) => group[0]!)
  if (shown.at(-1) !== points.at(-1)) shown.push(points.at(-1)!)
  return { of, positives: positives.length, negatives: negatives.length, auc: area, points: shown }
}

/** Null where nothing was planted. */
function planted(files: readonly File[]): Planted | null {
  const sums = { errors: 0, called: 0, located: 0, twins: 0, falseAlarms: 0 }
  const rounds = files.map(({ round, block }) => {
    const here = { round, errors: 0, located: 0 }
    for (let row = 0; row < block.rows; row++) {
      const kind = block.kind(row)
      const saysWrong = block.saysYes(row) === false
      if (kind === 'twin') {
        sums.twins++
        if (saysWrong) sums.falseAlarms++
      } else if (kind === 'planted') {
        here.errors++
        if (saysWrong) sums.called++
        if (block.located(row)) here.located++
      }
    }
    sums.errors += here.errors
    sums.located += here.located
    return here
  })
  const withErrors = rounds.filter(({ errors }) => errors > 0)
  if (withErrors.length === 0) return null
  const recall = grouped(withErrors, POINTS).map((group) => ({
    from: group[0]!.round,
    to: group.at(-1)!.round,
    errors: group.reduce((sum, { errors }) => sum + errors, 0),
    located: group.reduce((sum, { located }) => sum + located, 0),
  }))
  return { ...sums, recall }
}
