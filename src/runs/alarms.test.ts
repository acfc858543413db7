import { describe, expect, it } from 'vitest'
import { activeAlarms, newAlarms } from './alarms.js'
import type { MetricsLine } from './directory.js'

const rounds = (name: string, values: number[]): MetricsLine[] =>
  values.map((value, i) => ({ step: i + 1, [name]: value }) as MetricsLine)
const repeat = (value: number, times: number) => Array<number>(times).fill(value)
const heldout = (step: number, accuracy: number, half = 0.04): MetricsLine => ({
  step,
  'heldout/accuracy': accuracy,
  'heldout/accuracy_low': accuracy - half,
  'heldout/accuracy_high': accuracy + half,
})
const names = (history: MetricsLine[]) => activeAlarms(history).map(({ name }) => name)

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

  it('tell of a critic that says one thing only, or nothing that can be read', () => {
    for (const share of [0.1, 0.5, 0.9])
      expect(names(rounds('critic/evidence_yes_frac', repeat(share, 5)))).toEqual([])
    for (const share of [0.05, 0.95]) {
      expect(names(rounds('critic/evidence_yes_frac', repeat(share, 5)))).toEqual(['critic_one_sided'])
    }
    expect(names(rounds('critic/parsed_frac', repeat(0.5, 5)))).toEqual([])
    expect(names(rounds('critic/parsed_frac', repeat(0.4, 5)))).toEqual(['critic_unparsable'])
  })

  it('tell which role has lost its entropy or is cut off', () => {
    expect(names(rounds('solver/policy/entropy', [...repeat(1, 5), ...repeat(0.19, 5)]))).toEqual([
      'solver_entropy_collapse',
    ])
    expect(names(rounds('proposer/len/truncated_frac', repeat(0.4, 5)))).toEqual(['proposer_truncation_high'])
  })

  it('tell of a held-out accuracy that fell by more than chance', () => {
    expect(names([heldout(0, 0.6), heldout(20, 0.55)])).toEqual([])
    expect(names([heldout(0, 0.6), heldout(20, 0.5)])).toEqual(['heldout_below_start'])
    expect(names([heldout(0, 0.6)])).toEqual([])
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
