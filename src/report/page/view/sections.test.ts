import { describe, expect, it } from 'vitest'
import type { Role } from '../../api/run.js'
import { planSections } from './sections.js'

const parts: Role[] = [
  { name: 'proposer', model: 'm', part: 'author' },
  { name: 'solver', model: 'm', part: 'answerer' },
]
const metric = (name: string) => ({
  name,
  role: parts.find((role) => name.startsWith(`${role.name}/`))?.name ?? null,
  count: 1,
  last: 0,
})
const plan = (...names: string[]) => planSections(names.map(metric), parts)

describe('planSections', () => {
  it('puts one metric of all roles into one chart', () => {
    expect(plan('solver/reward/mean', 'proposer/reward/mean')).toEqual([
      {
        title: 'Reward',
        charts: [
          {
            title: 'reward',
            share: false,
            lines: [
              { metric: 'proposer/reward/mean', label: 'proposer', role: 'proposer' },
              { metric: 'solver/reward/mean', label: 'solver', role: 'solver' },
            ],
          },
        ],
      },
    ])
  })

  it('puts fates of questions together, and intervals with their metric', () => {
    const [yardsticks, rates] = plan(
      'questions/valid_frac',
      'heldout/accuracy_low',
      'heldout/accuracy',
      'heldout/accuracy_high',
      'questions/too_hard_frac',
      'pass_rate/p0',
    )
    expect(yardsticks!.charts[0]!.lines).toMatchObject([
      { metric: 'heldout/accuracy', ends: ['heldout/accuracy_low', 'heldout/accuracy_high'] },
    ])
    expect(
      rates!.charts.map(({ title, lines, share }) => [title, lines.map(({ label }) => label), share]),
    ).toEqual([['questions', ['valid', 'too hard'], true]])
  })

  it('shows every other metric once', () => {
    const names = [
      'solver/len/p50',
      'solver/len/p95',
      'verdicts/yes_reference_frac',
      'of_my_own',
      'time/round_s',
      'solver/clip/low_frac',
    ]
    const shown = plan(...names).flatMap(({ charts }) =>
      charts.flatMap(({ lines }) => lines.map((line) => line.metric)),
    )
    expect(shown.sort()).toEqual(names.sort())
  })
})
