/**
 * Health alarms: each is a pure function of the metrics so far, so that a resumed run raises what an undisturbed one
 * would. An alarm tells, it never stops a run. It is raised when its condition begins to hold.
 */
import type { MetricsLine } from './directory.js'

export interface Alarm {
  name: string
  /** Left side of the condition. */
  value: number
  /** Right side of the condition. */
  threshold: number
  /** The condition, in words and symbols. */
  formula: string
  /** What it warns of and what to try. */
  message: string
}

/** Rounds that a windowed alarm averages over. */
const WINDOW = 5

/** Alarms whose condition holds after the last line and did not after the one before. */
export function newAlarms(history: readonly MetricsLine[]): Alarm[] {
  const before = new Set(activeAlarms(history.slice(0, -1)).map(({ name }) => name))
  return activeAlarms(history).filter(({ name }) => !before.has(name))
}

export function activeAlarms(history: readonly MetricsLine[]): Alarm[] {
  const names = [...new Set(history.slice(-WINDOW).flatMap((line) => Object.keys(line)))]
  const roles = (suffix: string) =>
    names.filter((name) => name.endsWith(`/${suffix}`)).map((name) => name.slice(0, -suffix.length - 1))
  return [
    validQuestions(history),
    repetition(history),
    wrongLabels(history),
    oneSidedCritic(history),
    unreadableCritic(history),
    constantVerdicts(history),
    unreadableVerdicts(history),
    ...roles('policy/entropy').map((role) => entropyCollapse(history, role)),
    // GAR's discriminator says its verdict first, and is cut off behind it on purpose.
    ...roles('len/truncated_frac')
      .filter((role) => role !== 'discriminator')
      .map((role) => truncation(history, role)),
    heldoutDrop(history),
  ].filter((alarm) => alarm !== undefined)
}

/** mean of questions/valid_frac over the last 5 rounds < 0.1 */
function validQuestions(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'questions/valid_frac')
  if (value === undefined || value >= 0.1) return undefined
  return {
    name: 'valid_questions_low',
    value,
    threshold: 0.1,
    formula: `mean of questions/valid_frac over ${WINDOW} rounds < 0.1`,
    message: 'Hardly any proposed question can train anyone: look at the proposer rollouts of this round.',
  }
}

/** mean of diversity/mean over the last 5 rounds < 0.5 */
function repetition(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'diversity/mean')
  if (value === undefined || value >= 0.5) return undefined
  return {
    name: 'diversity_low',
    value,
    threshold: 0.5,
    formula: `mean of diversity/mean over ${WINDOW} rounds < 0.5`,
    message: 'The proposer sets the same few questions again and again: lower its learning rate or raise w.',
  }
}

/** mean of labels/accuracy_valid over the last 5 rounds < 0.5 */
function wrongLabels(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'labels/accuracy_valid')
  if (value === undefined || value >= 0.5) return undefined
  return {
    name: 'labels_wrong',
    value,
    threshold: 0.5,
    formula: `mean of labels/accuracy_valid over ${WINDOW} rounds < 0.5`,
    message: 'Most of what the solver learns from is wrongly labelled: stop, and narrow what it learns from.',
  }
}

/** mean of critic/evidence_yes_frac over the last 5 rounds < 0.1 or > 0.9 */
function oneSidedCritic(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'critic/evidence_yes_frac')
  if (value === undefined || (value >= 0.1 && value <= 0.9)) return undefined
  return {
    name: 'critic_one_sided',
    value,
    threshold: value < 0.1 ? 0.1 : 0.9,
    formula: `mean of critic/evidence_yes_frac over ${WINDOW} rounds < 0.1 or > 0.9`,
    message:
      'The critic says the same of sound solutions and of planted errors: go back to an earlier checkpoint.',
  }
}

/** mean of critic/parsed_frac over the last 5 rounds < 0.5 */
function unreadableCritic(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'critic/parsed_frac')
  if (value === undefined || value >= 0.5) return undefined
  return {
    name: 'critic_unparsable',
    value,
    threshold: 0.5,
    formula: `mean of critic/parsed_frac over ${WINDOW} rounds < 0.5`,
    message: 'Most critiques are not in the form that is read: teach the critic the form first.',
  }
}

/** mean of verdicts/yes_generated_frac over the last 5 rounds < 0.05 or > 0.95 */
function constantVerdicts(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'verdicts/yes_generated_frac')
  if (value === undefined || (value >= 0.05 && value <= 0.95)) return undefined
  return {
    name: 'verdicts_constant',
    value,
    threshold: value < 0.05 ? 0.05 : 0.95,
    formula: `mean of verdicts/yes_generated_frac over ${WINDOW} rounds < 0.05 or > 0.95`,
    message:
      'The discriminator says the same of nearly every generated slice, so that its verdicts reward nothing: look at verdicts/yes_reference_frac.',
  }
}

/** mean of verdicts/parsed_frac over the last 5 rounds < 0.5 */
function unreadableVerdicts(history: readonly MetricsLine[]): Alarm | undefined {
  const value = recent(history, 'verdicts/parsed_frac')
  if (value === undefined || value >= 0.5) return undefined
  return {
    name: 'verdicts_unparsable',
    value,
    threshold: 0.5,
    formula: `mean of verdicts/parsed_frac over ${WINDOW} rounds < 0.5`,
    message: 'Most judgments hold no verdict: fine-tune the discriminator first, or raise its max_tokens.',
  }
}

/** mean of ROLE/policy/entropy over the last 5 rounds < 0.2 x its mean over the first 5 */
function entropyCollapse(history: readonly MetricsLine[], role: string): Alarm | undefined {
  const values = valuesOf(history, `${role}/policy/entropy`)
  if (values.length < 2 * WINDOW) return undefined
  const value = mean(values.slice(-WINDOW))
  const threshold = 0.2 * mean(values.slice(0, WINDOW))
  if (value >= threshold) return undefined
  return {
    name: `${role}_entropy_collapse`,
    value,
    threshold,
    formula: `mean of ${role}/policy/entropy over ${WINDOW} rounds < 0.2 x its mean over the first ${WINDOW}`,
    message: `The ${role} has all but stopped exploring: lower its learning rate.`,
  }
}

/** mean of ROLE/len/truncated_frac over the last 5 rounds > 0.3 */
function truncation(history: readonly MetricsLine[], role: string): Alarm | undefined {
  const value = recent(history, `${role}/len/truncated_frac`)
  if (value === undefined || value <= 0.3) return undefined
  return {
    name: `${role}_truncation_high`,
    value,
    threshold: 0.3,
    formula: `mean of ${role}/len/truncated_frac over ${WINDOW} rounds > 0.3`,
    message: `Many completions of the ${role} reach the token limit: raise the limit or look for repetition.`,
  }
}

/** start - now of heldout/accuracy > 1.96 standard errors of the difference */
function heldoutDrop(history: readonly MetricsLine[]): Alarm | undefined {
  const evals = history.filter((line) => typeof line['heldout/accuracy'] === 'number')
  const first = evals[0]
  const last = evals.at(-1)
  if (first === undefined || last === undefined || first === last) return undefined
  const threshold = Math.hypot(halfWidth(first), halfWidth(last))
  const value = Number(first['heldout/accuracy']) - Number(last['heldout/accuracy'])
  if (value <= threshold) return undefined
  return {
    name: 'heldout_below_start',
    value,
    threshold,
    formula: 'start - now of heldout/accuracy > 1.96 standard errors of the difference',
    message:
      'The model now does worse outside the game than at the start, whatever the rewards say: stop and lower the learning rates.',
  }
}

/** Half of the 95 % interval. */
function halfWidth(line: MetricsLine): number {
  return (Number(line['heldout/accuracy_high']) - Number(line['heldout/accuracy_low'])) / 2
}

/** Mean over the last rounds that report a metric; undefined before there are enough. */
function recent(history: readonly MetricsLine[], name: string): number | undefined {
  const values = valuesOf(history, name).slice(-WINDOW)
  return values.length < WINDOW ? undefined : mean(values)
}

function valuesOf(history: readonly MetricsLine[], name: string): number[] {
  return history.map((line) => line[name]).filter((value) => typeof value === 'number')
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
