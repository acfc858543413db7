import { describe, expect, it } from 'vitest'
import type { Alarm } from '../../api/run.js'
import { gravest, grouped, marksOf, marksWithin } from './marks.js'

const alarm = (name: string, round: number) => ({ name, round }) as Alarm
const marks = marksOf({
  history: [alarm('heldout_below_best', 12), alarm('diversity_low', 3)],
  rollbacks: [{ round: 12, to: 4, alarm: 'heldout_below_best' }],
  resumes: [7],
})

describe('marks', () => {
  it('are of alarms, rollbacks and resumes, by round', () => {
    expect(marks.map((mark) => [mark.round, mark.text])).toEqual([
      [3, 'alarm diversity_low'],
      [7, 'ended and resumed'],
      [12, 'alarm heldout_below_best'],
      [12, 'rollback to round 4 (heldout_below_best)'],
    ])
    expect(marksWithin(marks, 3, 7).map(({ round }) => round)).toEqual([3, 7])
  })

  it('that lie close are one, in the sign of the gravest', () => {
    const close = grouped(marks, (round) => 2 * round, 9)
    expect(close.map(({ at, marks: own }) => [at, own.length, gravest(own)])).toEqual([
      [6, 2, 'alarm'],
      [24, 2, 'rollback'],
    ])
    expect(grouped(marks, (round) => 20 * round, 9)).toHaveLength(3)
  })
})
