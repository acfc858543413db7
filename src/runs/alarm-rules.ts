/**
 * The alarms: each a pure function of the metrics so far, so that a resumed run raises what an undisturbed one would.
 * docs/metrics.md says what each warns of.
 */
import type { MetricsLine } from './directory.js'
import { bestAnchor, heldoutLines, lastValues, mean, valuesOf } from './history.js'

/** What can be set of a condition. */
export interface Condition {
  /** Right side of the condition, or what scales it. */
  threshold: number
  /** Rounds that are averaged over. */
  window: number
}

/** A condition that holds. */
export interface Finding {
  /** Absent where the alarm is about no role of its own. */
  role?: string
  /** Left side of the condition. */
  value: number
  /** Right side of the condition. */
  threshold: number
  /** The condition, in words and symbols. */
  formula: string
  /** What it warns of and what to try. */
  message: string
}

export interface Rule extends Condition {
  /** Absent keys cannot be set: the condition has no window. */
  windowed: boolean
  /** What `threshold` is, for the run file. */
  about: string
  find(lines: readonly MetricsLine[], condition: Condition): Finding[]
}

type Message = (role: string) => string

/** mean of a metric over the last rounds that told it, < or > threshold */
function meanRule(metric: string, side: '<' | '>', usual: Condition, message: string): Rule {
  const find = (lines: readonly MetricsLine[], { threshold, window }: Condition): Finding[] => {
    const values = lastValues(lines, metric, window)
    if (values === undefined) return []
    const value = mean(values)
    const formula = `mean of ${metric} over ${window} rounds ${side} ${threshold}`
    const holds = side === '<' ? value < threshold : value > threshold
    return holds ? [{ value, threshold, formula, message }] : []
  }
  return { ...usual, windowed: true, about: `mean of ${metric} ${side} this`, find }
}

/** The same of every role that tells the metric. */
function roleRule(
  suffix: string,
  side: '<' | '>',
  usual: Condition,
  message: Message,
  without?: string,
): Rule {
  const find = (lines: readonly MetricsLine[], condition: Condition) =>
    rolesOf(lines, suffix, condition.window)
      .filter((role) => role !== without)
      .flatMap((role) => {
        const rule = meanRule(`${role}/${suffix}`, side, usual, message(role))
        return rule.find(lines, condition).map((finding) => ({ role, ...finding }))
      })
  return { ...usual, windowed: true, about: `mean of ROLE/${suffix} ${side} this`, find }
}

/** mean of a share over the last rounds that told it, < threshold or > 1 - threshold */
function constantRule(metric: string, usual: Condition, message: string): Rule {
  const find = (lines: readonly MetricsLine[], { threshold, window }: Condition): Finding[] => {
    const values = lastValues(lines, metric, window)
    if (values === undefined) return []
    const value = mean(values)
    if (value >= threshold && value <= 1 - threshold) return []
    const formula = `mean of ${metric} over ${window} rounds < ${threshold} or > ${1 - threshold}`
    return [{ value, threshold: value < threshold ? threshold : 1 - threshold, formula, message }]
  }
  return { ...usual, windowed: true, about: `mean of ${metric} < this or > 1 - this`, find }
}

/** Roles that told a metric in one of the last rounds. */
function rolesOf(lines: readonly MetricsLine[], suffix: string, window: number): string[] {
  const names = lines.slice(-window).flatMap((line) => Object.keys(line))
  const own = names.filter((name) => name.endsWith(`/${suffix}`))
  return [...new Set(own.map((name) => name.slice(0, -suffix.length - 1)))]
}

/**
 * Values of a metric by phase: what a role is asked differs between the phases of a game, and with it the entropy of a role that
 * has not changed. A phase shows by `turn/solver` (PasoDoble offline), by questions being written (R-Zero) and by evidence being
 * judged (solver-critic).
 */
function phasesOf(lines: readonly MetricsLine[], metric: string): number[][] {
  const phases = new Map<string, number[]>()
  for (const line of lines) {
    const value = line[metric]
    if (typeof value !== 'number') continue
    const phase = `${line['turn/solver']} ${'questions/valid_frac' in line} ${'critic/evidence_yes_frac' in line}`
    const values = phases.get(phase) ?? []
    values.push(value)
    phases.set(phase, values)
  }
  return [...phases.values()]
}

/**
 * mean of ROLE/policy/entropy over the last rounds of a phase < threshold x its mean over the first rounds of that phase. Of
 * engines that know no entropies, the estimate from log-probabilities.
 */
const entropyCollapse: Rule = {
  threshold: 0.2,
  window: 5,
  windowed: true,
  about: 'mean of ROLE/policy/entropy < this x its mean over the first rounds, by phase of the game',
  find: (lines, { threshold: share, window }) =>
    rolesOf(lines, 'policy/entropy_estimate', window).flatMap((role) => {
      const exact = rolesOf(lines, 'policy/entropy', window).includes(role)
      const metric = `${role}/policy/${exact ? 'entropy' : 'entropy_estimate'}`
      const collapsed = phasesOf(lines, metric).flatMap((values) => {
        if (values.length < 2 * window) return []
        const value = mean(values.slice(-window))
        const threshold = share * mean(values.slice(0, window))
        return value < threshold ? [{ value, threshold }] : []
      })
      if (collapsed[0] === undefined) return []
      const formula = `mean of ${metric} over ${window} rounds < ${share} x its mean over the first ${window}`
      const message = `The ${role} has all but stopped exploring: lower its learning rate.`
      return [{ role, ...collapsed[0], formula, message }]
    }),
}

/** timeouts and errors of the grader among its verdicts */
const gradingErrors: Rule = {
  threshold: 0.05,
  window: 5,
  windowed: true,
  about: 'mean of ROLE/verdict/timeout_frac + ROLE/verdict/error_frac > this',
  find: (lines, { threshold, window }) =>
    rolesOf(lines, 'verdict/error_frac', window).flatMap((role) => {
      const timeouts = lastValues(lines, `${role}/verdict/timeout_frac`, window)
      const errors = lastValues(lines, `${role}/verdict/error_frac`, window)
      if (timeouts === undefined || errors === undefined) return []
      const value = mean(timeouts) + mean(errors)
      if (value <= threshold) return []
      const formula = `mean of ${role}/verdict/timeout_frac + ${role}/verdict/error_frac over ${window} rounds > ${threshold}`
      const message = `Many answers of the ${role} cannot be graded and count as wrong: look at those with verdict timeout or error.`
      return [{ role, value, threshold, formula, message }]
    }),
}

/** ROLE/loss or ROLE/optim/grad_norm of the last round is no number; metrics.jsonl holds null there */
const lossNotFinite: Rule = {
  threshold: 0,
  window: 1,
  windowed: false,
  about: 'numbers among ROLE/loss and ROLE/optim/grad_norm that are not finite > this',
  find: (lines, { threshold }) => {
    const line = lines.at(-1)
    if (line === undefined) return []
    const broken = Object.keys(line).filter((name) => line[name] === null)
    const owners = broken.flatMap((name) => /^(.+)\/(?:loss|optim\/grad_norm)$/.exec(name)?.[1] ?? [])
    return [...new Set(owners)].flatMap((role) => {
      const value = owners.filter((owner) => owner === role).length
      if (value <= threshold) return []
      const formula = `numbers among ${role}/loss and ${role}/optim/grad_norm that are not finite > ${threshold}`
      const message = `The ${role} takes steps that mean nothing: go back to an earlier checkpoint, with a lower learning rate.`
      return [{ role, value, threshold, formula, message }]
    })
  },
}

/** `times` standard errors of the difference of two measurements, as if they were independent. */
function errorsOf(a: MetricsLine, b: MetricsLine, times: number): number {
  const half = (line: MetricsLine) =>
    (Number(line['heldout/accuracy_high']) - Number(line['heldout/accuracy_low'])) / 2
  return (times / 1.96) * Math.hypot(half(a), half(b))
}

function heldoutDrop(
  reference: 'start' | 'best',
  threshold: number,
  pick: (lines: readonly MetricsLine[]) => MetricsLine | undefined,
  message: string,
): Rule {
  return {
    threshold,
    window: 1,
    windowed: false,
    about: `${reference} - now of heldout/accuracy > this times the standard error of the difference`,
    find: (lines, { threshold: times }) => {
      const now = heldoutLines(lines).at(-1)
      const before = pick(lines)
      if (now === undefined || before === undefined || before === now) return []
      const limit = errorsOf(before, now, times)
      const value = Number(before['heldout/accuracy']) - Number(now['heldout/accuracy'])
      const formula = `${reference} - now of heldout/accuracy > ${times} standard errors of the difference`
      return value > limit ? [{ value, threshold: limit, formula, message }] : []
    },
  }
}

/**
 * best - now of heldout/accuracy > threshold standard errors, while the mean of some ROLE/reward/mean over the last rounds,
 * at most those since the best, is above its mean over the rounds up to the best (the first rounds, where the best is earlier)
 */
const deception: Rule = {
  threshold: 1.96,
  window: 3,
  windowed: true,
  about: 'best - now of heldout/accuracy > this times the standard error, while a reward rises',
  find: (lines, { threshold: times, window }) => {
    const now = heldoutLines(lines).at(-1)
    const best = bestAnchor(lines)
    if (now === undefined || best === undefined || best === now) return []
    const limit = errorsOf(best, now, times)
    const value = Number(best['heldout/accuracy']) - Number(now['heldout/accuracy'])
    if (value <= limit) return []
    return rolesOf(lines, 'reward/mean', window).flatMap((role) => {
      const metric = `${role}/reward/mean`
      const upTo = valuesOf(
        lines.filter(({ step }) => step <= best.step),
        metric,
      )
      const since = valuesOf(
        lines.filter(({ step }) => step > best.step),
        metric,
      )
      const before = upTo.length < window ? valuesOf(lines, metric).slice(0, window) : upTo.slice(-window)
      if (since.length === 0 || mean(since.slice(-window)) <= mean(before)) return []
      const formula = `best - now of heldout/accuracy > ${times} standard errors of the difference, while ${metric} rises over ${window} rounds`
      const message = `The ${role} is paid more and more while the model gets worse outside the game: the rewards are fooled. Lower the learning rates.`
      return [{ role, value, threshold: limit, formula, message }]
    })
  },
}

export const alarmNames = [
  'valid_questions_low',
  'diversity_low',
  'labels_wrong',
  'critic_one_sided',
  'critic_unparsable',
  'verdicts_constant',
  'verdicts_unparsable',
  'entropy_collapse',
  'truncation_high',
  'zero_signal',
  'sampler_trainer_mismatch',
  'error_rate_high',
  'loss_not_finite',
  'heldout_below_start',
  'heldout_below_best',
  'reward_deceives',
] as const

export type AlarmName = (typeof alarmNames)[number]

export const rules: Record<AlarmName, Rule> = {
  valid_questions_low: meanRule(
    'questions/valid_frac',
    '<',
    { threshold: 0.1, window: 5 },
    'Hardly any proposed question can train anyone: look at the proposer rollouts of this round.',
  ),
  diversity_low: meanRule(
    'diversity/mean',
    '<',
    { threshold: 0.5, window: 5 },
    'The proposer sets the same few questions again and again: lower its learning rate or raise w.',
  ),
  labels_wrong: meanRule(
    'labels/accuracy_valid',
    '<',
    { threshold: 0.5, window: 5 },
    'Most of what the solver learns from is wrongly labelled: stop, and narrow what it learns from.',
  ),
  critic_one_sided: constantRule(
    'critic/evidence_yes_frac',
    { threshold: 0.1, window: 5 },
    'The critic says the same of sound solutions and of planted errors: go back to an earlier checkpoint.',
  ),
  critic_unparsable: meanRule(
    'critic/parsed_frac',
    '<',
    { threshold: 0.5, window: 5 },
    'Most critiques are not in the form that is read: teach the critic the form first.',
  ),
  verdicts_constant: constantRule(
    'verdicts/yes_generated_frac',
    { threshold: 0.05, window: 5 },
    'The discriminator says the same of nearly every generated slice, so that its verdicts reward nothing: look at verdicts/yes_reference_frac.',
  ),
  verdicts_unparsable: meanRule(
    'verdicts/parsed_frac',
    '<',
    { threshold: 0.5, window: 5 },
    'Most judgments hold no verdict: fine-tune the discriminator first, or raise its max_tokens.',
  ),
  entropy_collapse: entropyCollapse,
  // GAR's discriminator says its verdict first, and is cut off behind it on purpose.
  truncation_high: roleRule(
    'len/truncated_frac',
    '>',
    { threshold: 0.3, window: 5 },
    (role) =>
      `Many completions of the ${role} reach the token limit: raise the limit or look for repetition.`,
    'discriminator',
  ),
  zero_signal: roleRule(
    'group/zero_std_frac',
    '>',
    { threshold: 0.95, window: 10 },
    (role) =>
      `Nearly all groups of the ${role} have equal rewards and teach nothing: other problems, more answers, a higher temperature.`,
  ),
  sampler_trainer_mismatch: roleRule(
    'policy/kl_sampler_trainer_v2',
    '>',
    { threshold: 0.01, window: 5 },
    (role) =>
      `Sampler and trainer disagree about the log-probabilities of the ${role}, and every ratio with them: check precision and sampling settings.`,
  ),
  error_rate_high: gradingErrors,
  loss_not_finite: lossNotFinite,
  heldout_below_start: heldoutDrop(
    'start',
    1.96,
    (lines) => heldoutLines(lines)[0],
    'The model now does worse outside the game than at the start, whatever the rewards say: stop and lower the learning rates.',
  ),
  heldout_below_best: heldoutDrop(
    'best',
    3,
    bestAnchor,
    'The model has lost outside the game what it had gained: lower the learning rates, or end at the best checkpoint.',
  ),
  reward_deceives: deception,
}
