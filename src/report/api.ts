/**
 * What the reading side says about runs, as JSON: the server answers with it, the page draws it, the single-file report
 * carries it. Nothing here imports anything, so that both sides of the wire can.
 *
 * Rounds count from 1; round 0 is the start, where only yardsticks are measured. Numbers that were not written or are
 * not finite are null. Times are milliseconds since 1970. Texts of rollouts are as the models wrote them: hostile.
 */

// Runs

export type RunStatus =
  /** A process plays it now. */
  | 'running'
  /** Every round was played. */
  | 'finished'
  /** Ended on request before the last round. */
  | 'stopped'
  /** Its process died, or failed. */
  | 'crashed'

export interface RunSummary {
  /** Path of the run's folder within the runs folder, with `/` between names. */
  id: string
  status: RunStatus
  /** Null where config.json cannot be read; `fault` then says why. */
  game: string | null
  seed: number | null
  roles: { name: string; model: string }[]
  /** Rounds done, and rounds to play in all. */
  round: number
  rounds: number | null
  /** The first yardstick of the run at the start and at its last measurement: share of right answers over n problems. */
  anchor: { name: string; before: number; after: number; n: number } | null
  /** Alarms that began, newest last. */
  alarms: { name: string; round: number }[]
  /** When its config was written, and when it last wrote anything. */
  started: number
  updated: number
  fault: string | null
}

export interface RunsAnswer {
  /** Name of the runs folder. */
  folder: string
  /** Most recently written first. */
  runs: RunSummary[]
  /** Links to folders outside the runs folder, which are not followed. */
  skipped: number
}

// One run

/** What a run has something to show of. */
export type Panel =
  | 'rewards'
  | 'pass_rate'
  | 'questions'
  | 'diversity'
  | 'labels'
  | 'buffer'
  | 'verdicts'
  | 'critic'
  | 'anchors'
  | 'losses'

export interface Role {
  name: string
  model: string
  /**
   * `author` proposes questions, `answerer` answers them, `judge` says what is right of what others wrote; null in
   * games of others' making.
   */
  part: 'author' | 'answerer' | 'judge' | null
}

export interface MetricInfo {
  /** As in docs/metrics.md. */
  name: string
  /** Role it is of, where the name begins with one. */
  role: string | null
  /** Rounds that wrote it. */
  count: number
  last: number | null
}

export interface Alarm {
  name: string
  role: string | null
  /** Round in which its condition began to hold. */
  round: number
  /** Left and right side of the condition then. */
  value: number | null
  threshold: number | null
  /** Null where this version of Sparring does not know the alarm. */
  formula: string | null
  message: string | null
  /** Whether it holds after the last round. */
  active: boolean
  /** What the run did about it (docs/metrics.md), where it did anything. */
  action: string | null
  /** The rollouts behind it. */
  behind: RolloutsQuery
}

export interface Checkpoint {
  round: number
  /** Within the run's folder; null once newer checkpoints have taken its place. */
  path: string | null
  bytes: number
}

/** Open or closed ends of the band of pass rates that the answerer learns from. */
export interface Band {
  low: number
  high: number
  /** Whether the ends belong to it. */
  closed: boolean
}

export interface RunDetail extends RunSummary {
  /** The run file with every default filled in. */
  config: unknown
  parts: Role[]
  panels: Panel[]
  metrics: MetricInfo[]
  history: Alarm[]
  checkpoints: Checkpoint[]
  /** Rounds in which no update was made, and why; the last 200. */
  skipped: { round: number; reason: string }[]
  /** Where questions must lie to be learned from. */
  band: Band | null
  /** Rounds whose rollouts are on the disk. */
  rollouts: { first: number; last: number; rounds: number } | null
  /** Seconds of play: the sum of time/round_s. */
  seconds: number
  /** Alarms took the run back to the checkpoint of an earlier round: what `round` and those since `to` gave was undone. */
  rollbacks: { round: number; to: number; alarm: string }[]
  /** Lines that could not be read, by file. */
  damaged: { file: string; lines: number }[]
}

// Metrics over rounds

export interface MetricsQuery {
  names: string[]
  from?: number
  to?: number
  /** Most points to give; 1000 where absent. */
  points?: number
}

/** Columns, one value a point. With more rounds than points, a point stands for several rounds. */
export interface MetricsAnswer {
  /** First and last round that each point stands for; equal where nothing was joined. */
  from: number[]
  to: number[]
  columns: Record<string, MetricColumn>
}

export interface MetricColumn {
  /** Of the rounds of the point that wrote the metric. */
  mean: (number | null)[]
  /** Absent where every point is one round. */
  min?: (number | null)[]
  max?: (number | null)[]
}

/** Measurements outside the game. */
export interface AnchorsAnswer {
  anchors: AnchorSeries[]
}

export interface AnchorSeries {
  /** Metric name, such as heldout/accuracy. */
  name: string
  /** Problems of a measurement, where the run says. */
  n: number | null
  points: { round: number; value: number; low: number; high: number }[]
}

// Histograms over rounds

export interface HistogramQuery {
  /** `pass_rate` of proposed questions; `reward`, `advantage` or `tokens` of a role's rollouts. */
  of: 'pass_rate' | 'reward' | 'advantage' | 'tokens'
  /** Needed for all but `pass_rate`. */
  role?: string
  from?: number
  to?: number
  /** Most columns (groups of rounds); 200 where absent. */
  columns?: number
}

export interface HistogramAnswer {
  /** Role whose rollouts are counted, and the filter that lists those of a bin. */
  role: string
  filter: 'rate' | 'reward' | 'advantage' | 'tokens'
  /**
   * Bin i holds values with edges[i] <= value < edges[i+1]. Values that are likely (shares of so many answers, round
   * numbers) lie in the middle of bins: the first edge may be below 0 and the last above 1.
   */
  edges: number[]
  /** First and last round of each column. */
  from: number[]
  to: number[]
  /** counts[column][bin]. */
  counts: number[][]
  band: Band | null
  coverage: Coverage
}

/** Rollouts are read when they are first asked for; of a long run that takes a while. Ask again for the rest. */
export interface Coverage {
  /** Rounds read, of those that were asked for. */
  read: number
  of: number
}

// Judges: GAR's discriminator, the critic

export interface JudgingQuery {
  from?: number
  to?: number
}

export interface JudgingAnswer {
  role: string
  /** What was judged, by what it truly is: references, right and wrong, planted errors and their twins. */
  verdicts: VerdictRow[]
  /** How far p_YES means what it says; of what has a score. */
  reliability: Reliability[]
  /** How well scores tell right from wrong, from (0, 0) to (1, 1). */
  roc: Roc[]
  /** Critic only. */
  planted: Planted | null
  coverage: Coverage
}

export interface VerdictRow {
  kind: 'reference' | 'right' | 'wrong' | 'generated' | 'planted' | 'twin'
  yes: number
  no: number
  /** Verdicts that could not be read. */
  unread: number
}

export interface Reliability {
  /** What a score is taken as a forecast of. */
  of: 'reference' | 'right'
  n: number
  /** Ten bins of equal width over 0 .. 1; nulls where a bin is empty. */
  bins: { n: number; score: number | null; outcome: number | null }[]
}

export interface Roc {
  of: 'reference' | 'right'
  positives: number
  negatives: number
  auc: number
  /** False and true positive rates. */
  points: { fpr: number; tpr: number }[]
}

/** Of critiques of planted errors and of their untouched twins. */
export interface Planted {
  errors: number
  /** Called WRONG; FIRST_ERROR is the changed step. */
  called: number
  located: number
  twins: number
  /** Twins called WRONG. */
  falseAlarms: number
  /** Over rounds, thinned to 200 points. */
  recall: { from: number; to: number; errors: number; located: number }[]
}

// Rollouts

/** A line of rollouts/round-NNNNNN/ROLE.jsonl. Anchors' answers are found as the role `heldout`. */
export interface RolloutRef {
  round: number
  role: string
  /** Of the file, from 0. */
  line: number
}

export interface RolloutsQuery {
  from?: number
  to?: number
  role?: string
  /** Ranges hold low <= value < high, as the bins of a histogram do. */
  reward?: [number, number]
  /** Pass rate of a question, or the majority's share. */
  rate?: [number, number]
  advantage?: [number, number]
  tokens?: [number, number]
  trained?: boolean
  /** Fate of a question, verdict on an answer, what was judged: as in the record. */
  outcome?: string
  /** Why the completion ended. */
  stop?: string
  /** In prompt, completion, question or problem; capitals do not matter. */
  text?: string
  /** `new` where absent. */
  order?: 'new' | 'old' | 'best' | 'worst' | 'random'
  /** Of `random`; 0 where absent. */
  seed?: number
  /** 50 where absent, at most 200. */
  limit?: number
  /** Of the answer before. */
  cursor?: string
}

export interface RolloutsAnswer {
  rows: RolloutRow[]
  /** How many there are in what was read; null while a text is looked for. */
  total: number | null
  /** Ask again with it for more; null at the end. A page may be short, or empty, and not the last. */
  cursor: string | null
  coverage: Coverage
  /** What occurs in the rounds asked for, to choose filters from. */
  roles: string[]
  outcomes: string[]
}

export interface RolloutRow extends RolloutRef {
  group: number | null
  index: number | null
  /** First 300 characters of the completion, and of the question or problem where the record names one. */
  text: string
  question: string | null
  tokens: number | null
  stop: string | null
  logprob: number | null
  reward: number | null
  advantage: number | null
  rate: number | null
  outcome: string | null
  trained: boolean | null
}

/** Everything about a rollout. */
export interface Rollout extends RolloutRow {
  prompt: string
  /** Characters of the whole prompt, where only 20,000 are given. */
  promptCut: number | null
  /** The whole completion, or its beginning where `cut` is set. */
  text: string
  /** Characters of the whole completion, where only 20,000 are given: ask for the rollout alone. */
  cut: number | null
  /** Every part of the reward and every verdict, by name; texts among them end after 20,000 characters where others may. */
  parts: Record<string, Part>
  /** One entry a token; null in records of old runs. */
  heat: Heat | null
}

export type Part = number | string | boolean | null

export interface Heat {
  /** Characters of the text that the token stands for; 0 for one that ends the text or is part of a character. */
  lengths: number[]
  /** Raw log-probabilities, nats. */
  logprobs: number[]
}

// A match: one question from its birth to the update that used it

export interface Match {
  run: string
  game: string | null
  round: number
  /** The rollout that was asked for; it is among those below. */
  at: RolloutRef
  /** The question or problem as put to the answerer; null where none could be read. */
  question: string | null
  /** What answers are compared with, and where it comes from. */
  label: { text: string; from: 'author' | 'majority' | 'known' } | null
  /** True answer where the run's world knows it; it touches no reward. */
  truth: string | null
  /** GAR: a worked solution of the problem. */
  solution: string | null
  birth: Birth | null
  checks: Check[]
  /** Pass rate, or the majority's share, with the band it must lie in. */
  rate: number | null
  band: Band | null
  answers: Rollout[]
  /** Second answers, after a critique. */
  revisions: Rollout[]
  /** Critic: what it said of each solution, planted errors and twins among them. */
  critiques: Critique[]
  /** GAR: each answer in slices with their verdicts, and the references judged beside them. */
  chains: Chain[]
  references: JudgedSlice[]
  updates: Update[]
  /** Other rounds in which the same question was played: later draws from a buffer or pool. */
  elsewhere: RolloutRef[]
}

/** Where a question comes from. */
export interface Birth {
  /** Round of the proposal; before the match's round where the question was drawn from a buffer or pool. */
  round: number
  proposal: Rollout
  /** Text that it was proposed from; null where the prompt shows none. */
  knowledge: string | null
  /** The other proposals from the same text, which it was compared with. */
  rivals: RolloutRow[]
}

/** What was checked of a question. */
export interface Check {
  name: 'well_formed' | 'no_leak' | 'not_too_long' | 'in_band' | 'new' | 'label_true'
  /** Null where it could not be checked. */
  passed: boolean | null
  /** What was found: a flaw, a count, a rate. */
  found: Part
}

export interface Critique {
  of: 'solution' | 'planted' | 'twin'
  /** Index of the answer that is judged, or from which the exhibit was made. */
  answer: number | null
  /** Whether the exhibit is right, and the step that holds the planted error. */
  right: boolean | null
  plantedStep: number | null
  saidCorrect: boolean | null
  firstError: number | null
  score: number | null
  rollout: Rollout
}

export interface Chain {
  /** Index in `answers`. */
  answer: number
  slices: ChainSlice[]
}

export interface ChainSlice {
  /** Place in the text of the answer, UTF-16 units; null where the slice could not be found in it. */
  start: number | null
  end: number | null
  /** Number of the slice in the answer. */
  piece: number
  verdicts: Verdict[]
}

export interface JudgedSlice {
  /** As it was shown, with the context before it. */
  shown: string
  verdicts: Verdict[]
}

export interface Verdict {
  verdict: 'YES' | 'NO' | null
  pYes: number | null
  /** The judgment: verdict and rationale are in its text, its reward and advantage beside them. */
  rollout: Rollout
}

/** What a role's policy made of the round. */
export interface Update {
  role: string
  round: number
  /** Whether rollouts of this match were in it. */
  used: boolean
  /** Optimizer steps of the role's policy before and after the round; null where the journal does not say. */
  before: number | null
  after: number | null
  /** Numbers of the role's steps in the round, by metric name without the role. */
  metrics: Record<string, number | null>
  /** Why no update was made, where none was. */
  skipped: string | null
}

// Cross-play

/** Snapshots of both roles against each other, as sparring arena left it. */
export interface ArenaAnswer {
  setter: string
  taker: string
  /** What earns the taker a point. */
  point: string
  /** Rounds whose snapshots played; 0 is the start. */
  rounds: number[]
  /** cells[i][j]: the taker of rounds[i] on the tasks of the setter of rounds[j]; 95 % intervals. */
  cells: { score: number | null; low: number | null; high: number | null; n: number }[][]
  /** Over rounds; the taker of the first has 1000. */
  elo: { setter: EloRating[]; taker: EloRating[] }
}

export interface EloRating {
  elo: number
  low: number
  high: number
}

// Comparison

export interface Comparison {
  runs: RunSummary[]
  /** Settings that are not the same in all, by key path; a value a run, null where it lacks the key. */
  differences: { key: string; values: unknown[] }[]
  /** Metrics that every run wrote. */
  metrics: string[]
}

// Server-sent events of /api/events: the event's name is `kind`, its data this object

export type LiveEvent =
  /** All runs at first; then those that are new or changed, and the ids of those that are gone. */
  | { kind: 'runs'; runs: RunSummary[]; gone: string[] }
  /** Rounds were played in the run that is watched. */
  | { kind: 'rounds'; run: string; from: number; to: number; metrics: MetricsAnswer }
  | { kind: 'alarms'; run: string; alarms: Alarm[] }
  /** The run went back to a checkpoint: ask for everything again. */
  | { kind: 'reset'; run: string; round: number }

/** What an answer with a status of 400 or above holds. */
export interface ApiError {
  error: string
  hint: string | null
}

// Addresses

/** Addresses of the answers. The single-file report keys the JSON that it carries by them. */
export const address = {
  runs: (): string => '/api/runs',
  run: (run: string): string => at(run),
  metrics: (run: string, query: MetricsQuery): string => `${at(run)}/metrics${search(query)}`,
  anchors: (run: string): string => `${at(run)}/anchors`,
  histogram: (run: string, query: HistogramQuery): string => `${at(run)}/histogram${search(query)}`,
  judging: (run: string, query: JudgingQuery = {}): string => `${at(run)}/judging${search(query)}`,
  rollouts: (run: string, query: RolloutsQuery = {}): string => `${at(run)}/rollouts${search(query)}`,
  rollout: (run: string, ref: RolloutRef): string => `${at(run)}/rollout${search(ref)}`,
  match: (run: string, ref: RolloutRef): string => `${at(run)}/match${search(ref)}`,
  /** Null where no tournament was played. */
  arena: (run: string): string => `${at(run)}/arena`,
  compare: (runs: readonly string[]): string => `/api/compare${search({ runs })}`,
  /** Rounds after `since` are told at once, so that none is missed between an answer and the stream. */
  events: (run?: string, since?: number): string => `/api/events${search({ run, since })}`,
}

function at(run: string): string {
  return `/api/runs/${encodeURIComponent(run)}`
}

/** Values of an array are separated by commas, each encoded for itself. */
function search(query: object): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => {
    if (value === undefined) return []
    const text = Array.isArray(value)
      ? value.map((each) => encodeURIComponent(each)).join(',')
      : encodeURIComponent(value)
    return [`${key}=${text}`]
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
