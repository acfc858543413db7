import { describe, expect, it } from 'vitest'
import { alarmNames } from './alarm-rules.js'
import { alarmsSchema, usualAlarms } from './alarm-settings.js'
import { activeAlarms, decisive, newAlarms } from './alarms.js'
import type { MetricsLine } from './directory.js'
import { bestAnchor, lineage, rateScale, rewardGap } from './history.js'

const rounds = (name: string, values: (number | null)[]): MetricsLine[] =>
  values.map((value, i) => ({ step: i + 1, [name]: value }) as MetricsLine)
const repeat = (value: number, times: number) => Array<number>(times).fill(value)
const heldout = (step: number, accuracy: number, half = 0.04): MetricsLine => ({
  step,
  'heldout/accuracy': accuracy,
  'heldout/accuracy_low': accuracy - half,
  'heldout/accuracy_high': accuracy + half,
})
const names = (history: MetricsLine[]) => activeAlarms(history).map(({ name }) => name)
/** Lines of several metrics, from columns of equal length. */
const table = (columns: Record<string, number[]>): MetricsLine[] =>
  Object.values(columns)[0]!.map((_, i) =>
    Object.fromEntries([
      ['step', i + 1],
      ...Object.entries(columns).map(([name, values]) => [name, values[i]]),
    ]),
  )

describe('alarms', () => {
  it('are silent in a healthy run and in one that has just begun', () => {
    expect(names([])).toEqual([])
    expect(names(rounds('questions/valid_frac', repeat(0, 4)))).toEqual([])
    expect(names(rounds('solver/policy/entropy', repeat(0.5, 40)))).toEqual([])
    expect(names(rounds('solver/len/truncated_frac', repeat(0.3, 40)))).toEqual([])
  })

  it('tell of questions that are hardly ever valid', () => {
    const history = rounds('questions/valid_frac', [...repeat(0.5, 5), ...repeat(0.05, 5)])
    expect(activeAlarms(history)).toMatchObject([{ name: 'valid_questions_low', threshold: 0.1 }])
    expect(activeAlarms(history)[0]!.value).toBeCloseTo(0.05, 12)
  })

  it('tell of a proposer that repeats itself', () => {
    expect(names(rounds('diversity/mean', repeat(0.5, 5)))).toEqual([])
    expect(names(rounds('diversity/mean', [...repeat(1, 5), ...repeat(0.4, 5)]))).toEqual(['diversity_low'])
  })

  it('tell of labels that are mostly wrong', () => {
    expect(names(rounds('labels/accuracy_valid', repeat(0.5, 5)))).toEqual([])
    expect(names(rounds('labels/accuracy_valid', [...repeat(1, 5), ...repeat(0.4, 5)]))).toEqual([
      'labels_wrong',
    ])
  })

  it('tell of a judge that says one thing only, or nothing that can be read', () => {
    for (const share of [0.1, 0.5, 0.9])
      expect(names(rounds('critic/evidence_yes_frac', repeat(share, 5)))).toEqual([])
    for (const share of [0.05, 0.95]) {
      expect(names(rounds('critic/evidence_yes_frac', repeat(share, 5)))).toEqual(['critic_one_sided'])
    }
    for (const share of [0.04, 0.96])
      expect(names(rounds('verdicts/yes_generated_frac', repeat(share, 5)))).toEqual(['verdicts_constant'])
    expect(names(rounds('critic/parsed_frac', repeat(0.5, 5)))).toEqual([])
    expect(names(rounds('critic/parsed_frac', repeat(0.4, 5)))).toEqual(['critic_unparsable'])
    expect(names(rounds('verdicts/parsed_frac', repeat(0.4, 5)))).toEqual(['verdicts_unparsable'])
  })

  it('tell which role has lost its entropy or is cut off', () => {
    const entropies = [...repeat(1, 5), ...repeat(0.19, 5)]
    const estimates = { 'solver/policy/entropy_estimate': entropies }
    expect(names(table(estimates))).toEqual(['solver_entropy_collapse'])
    expect(names(table({ ...estimates, 'solver/policy/entropy': entropies }))).toEqual([
      'solver_entropy_collapse',
    ])
    // Where entropies are known, estimates are not asked.
    expect(names(table({ ...estimates, 'solver/policy/entropy': repeat(1, 10) }))).toEqual([])
    expect(names(rounds('proposer/len/truncated_frac', repeat(0.4, 5)))).toEqual(['proposer_truncation_high'])
    expect(names(rounds('discriminator/len/truncated_frac', repeat(0.4, 5)))).toEqual([])
  })

  it('compare the entropy of a phase with that of the same phase', () => {
    // Phases of five draws; answers to questions from the buffer are always far surer than those to new ones.
    const phase = Array.from({ length: 40 }, (_, i) => Math.floor(i / 5) % 2)
    const steady = table({
      'turn/solver': phase,
      'solver/policy/entropy_estimate': phase.map((p) => (p ? 0.1 : 1)),
    })
    for (let n = 1; n <= steady.length; n++) expect(names(steady.slice(0, n))).toEqual([])
    const falling = phase.map((p, i) => (p ? (i < 20 ? 0.1 : 0.015) : 1))
    const collapsed = table({ 'turn/solver': phase, 'solver/policy/entropy_estimate': falling })
    expect(names(collapsed.slice(0, 30))).toEqual(['solver_entropy_collapse'])
    // It goes on to hold in the phase between.
    expect(newAlarms(collapsed.slice(0, 33))).toEqual([])
  })

  it('tell of groups without signal, of a sampler that disagrees, and of grading that fails', () => {
    expect(names(rounds('solver/group/zero_std_frac', repeat(0.95, 10)))).toEqual([])
    expect(names(rounds('solver/group/zero_std_frac', repeat(0.96, 9)))).toEqual([])
    expect(names(rounds('solver/group/zero_std_frac', repeat(0.96, 10)))).toEqual(['solver_zero_signal'])
    expect(names(rounds('critic/policy/kl_sampler_trainer_v2', repeat(0.02, 5)))).toEqual([
      'critic_sampler_trainer_mismatch',
    ])
    const failing = (timeouts: number, errors: number) =>
      names(
        table({
          'solver/verdict/timeout_frac': repeat(timeouts, 5),
          'solver/verdict/error_frac': repeat(errors, 5),
        }),
      )
    expect(failing(0.02, 0.03)).toEqual([])
    expect(failing(0.04, 0.02)).toEqual(['solver_error_rate_high'])
  })

  it('tell of a loss that is no number, in its round', () => {
    const history = rounds('proposer/loss', [0.1, null])
    expect(activeAlarms(history)).toMatchObject([
      { name: 'proposer_loss_not_finite', value: 1, threshold: 0 },
    ])
    expect(names([...history, { step: 3, 'proposer/loss': 0.1 }])).toEqual([])
    expect(names(rounds('proposer/reward/p10', [null]))).toEqual([])
  })

  it('tell of a held-out accuracy that fell by more than chance', () => {
    // 1.96 and 3 standard errors of the difference are 0.057 and 0.087.
    expect(names([heldout(0, 0.6), heldout(20, 0.55)])).toEqual([])
    expect(names([heldout(0, 0.6), heldout(20, 0.53)])).toEqual(['heldout_below_start'])
    expect(names([heldout(0, 0.6), heldout(20, 0.8), heldout(40, 0.72)])).toEqual([])
    expect(names([heldout(0, 0.6), heldout(20, 0.8), heldout(40, 0.71)])).toEqual(['heldout_below_best'])
    expect(names([heldout(0, 0.6)])).toEqual([])
  })

  it('tell of a reward that rises while the anchor falls', () => {
    const run = (late: number) => {
      const lines = table({ 'proposer/reward/mean': [...repeat(0.3, 10), ...repeat(late, 10)] })
      return [heldout(0, 0.6), ...lines].map((line) =>
        line.step === 10
          ? { ...line, ...heldout(10, 0.8) }
          : line.step === 20
            ? { ...line, ...heldout(20, 0.73) }
            : line,
      )
    }
    expect(names(run(0.35))).toEqual(['proposer_reward_deceives'])
    expect(names(run(0.3))).toEqual([])
    expect(names(run(0.35).slice(0, -1))).toEqual([])
  })

  it('are raised once, when they begin to hold', () => {
    const history = rounds('questions/valid_frac', repeat(0, 7))
    expect([4, 5, 6, 7].map((n) => newAlarms(history.slice(0, n)).length)).toEqual([0, 1, 0, 0])
  })

  it('pass over values that are missing', () => {
    const gaps = rounds('questions/valid_frac', repeat(0, 5)).map((line) => ({
      ...line,
      'solver/policy/entropy': null,
    }))
    expect(names(gaps as MetricsLine[])).toEqual(['valid_questions_low'])
  })
})

describe('settings of alarms', () => {
  it('may be a word or a table, and survive being written down', () => {
    const settings = alarmsSchema.parse({
      labels_wrong: 'rollback',
      diversity_low: { do: 'off' },
      truncation_high: { threshold: 0.5, window: 2 },
    })
    expect(settings.labels_wrong).toEqual({ do: 'rollback', threshold: 0.5, window: 5 })
    expect(settings.truncation_high).toEqual({ do: 'warn', threshold: 0.5, window: 2 })
    expect(alarmsSchema.parse(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
    for (const name of alarmNames) expect(usualAlarms[name].do).toBe('warn')
  })

  it('change thresholds, windows, and what is said', () => {
    const settings = alarmsSchema.parse({
      diversity_low: 'off',
      truncation_high: { do: 'stop', threshold: 0.5, window: 2 },
    })
    const history = table({
      'diversity/mean': repeat(0, 5),
      'solver/len/truncated_frac': [0, 0, 0, 0.6, 0.6],
    })
    expect(activeAlarms(history, settings)).toMatchObject([
      {
        name: 'solver_truncation_high',
        action: 'stop',
        formula: expect.stringContaining('over 2 rounds > 0.5'),
      },
    ])
  })

  it('obey the severest of several alarms, and none that only warns', () => {
    const alarm = (name: string, action: 'warn' | 'rollback' | 'pause' | 'stop') => ({
      ...activeAlarms(rounds('diversity/mean', repeat(0, 5)))[0]!,
      name,
      action,
    })
    expect(decisive([alarm('a', 'warn')])).toBeUndefined()
    expect(decisive([alarm('a', 'rollback'), alarm('b', 'warn'), alarm('c', 'pause')])?.name).toBe('c')
    expect(decisive([alarm('a', 'stop'), alarm('c', 'pause')])?.name).toBe('a')
  })
})

describe('a history with a rollback', () => {
  const history: MetricsLine[] = [
    heldout(0, 0.6),
    { ...heldout(1, 0.8), 'solver/reward/mean': 0.5 },
    { ...heldout(2, 0.2), 'solver/reward/mean': 0.9, 'rollback/to': 1, 'rollback/lr_scale': 0.5 },
    { ...heldout(3, 0.79), 'solver/reward/mean': 0.6 },
  ]

  it('leaves out what was undone', () => {
    expect(lineage(history).map(({ step }) => step)).toEqual([0, 1, 3])
    expect(lineage(history.slice(0, 3)).map(({ step }) => step)).toEqual([0, 1])
    expect(names(history)).toEqual([])
    expect(names(history.slice(0, 3))).toContain('heldout_below_best')
    expect(bestAnchor(lineage(history))?.step).toBe(1)
    expect(rateScale(history.slice(0, 2))).toBe(1)
    expect(rateScale(history)).toBe(0.5)
  })

  it('may roll back over a rollback', () => {
    const again = [...history, { step: 4, 'rollback/to': 0, 'rollback/lr_scale': 0.25 }, { step: 5 }]
    expect(lineage(again as MetricsLine[]).map(({ step }) => step)).toEqual([0, 5])
    expect(rateScale(again as MetricsLine[])).toBe(0.25)
  })

  it('raises an alarm again that begins to hold again', () => {
    const fallen = [...history, heldout(4, 0.3)]
    expect(newAlarms(fallen).map(({ name }) => name)).toContain('heldout_below_best')
  })
})

describe('the gap between reward and anchor', () => {
  it('is what the reward gained more than the anchor', () => {
    const lines = table({ 'solver/reward/mean': [...repeat(0.4, 5), ...repeat(0.7, 5)] })
    const measured = [heldout(0, 0.6), ...lines.slice(0, -1), { ...lines.at(-1)!, ...heldout(10, 0.5) }]
    expect(rewardGap(measured, 'solver')).toBeCloseTo(0.3 + 0.1, 12)
    expect(rewardGap(measured.slice(0, -1), 'solver')).toBeUndefined()
    expect(rewardGap([heldout(0, 0.6)], 'solver')).toBeUndefined()
    expect(rewardGap(measured, 'proposer')).toBeUndefined()
  })
})
