import { describe, expect, it } from 'vitest'
import { boxGrader } from '../../test/support/scripted.js'
import { against, comparisons } from './grading.js'

const boxes = (...answers: string[]) => answers.map((answer) => ({ text: `\\boxed{${answer}}` }))

describe('comparisons', () => {
  it('are graded in one call and handed back to those who asked', async () => {
    const all = comparisons()
    const first = all.add(against('1', boxes('1', '2')))
    const none = all.add([])
    const second = all.add(against('2', boxes('2')))
    const grader = boxGrader()
    await all.grade(grader)
    expect([first, none, second].map((verdicts) => verdicts().map(({ equal }) => equal))).toEqual([
      [true, false],
      [],
      [true],
    ])
    expect(grader.calls).toBe(1)
  })

  it('leave the grader alone where there are none', async () => {
    const grader = boxGrader()
    await comparisons().grade(grader)
    expect(grader.calls).toBe(0)
  })
})
