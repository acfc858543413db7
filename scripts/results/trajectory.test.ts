import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isOver, standingAt, standingAtEnd, type Trajectory } from './trajectory.js'

/** Ten rounds of ten passes and a second each, measured after 0, 5 and 10: none of two problems right, one, both. */
const trajectory: Trajectory = {
  rounds: 10,
  work: Array.from({ length: 11 }, (_, i) => ({
    passes: 10 * i,
    sampled: 4 * i,
    trained: 2 * i,
    seconds: i,
  })),
  readings: [
    [0, 0],
    [1, 0],
    [1, 1],
  ].map((shares, i) => ({
    step: 5 * i,
    answers: { sampled: shares, greedy: shares },
  })),
  labels: [],
}

describe('standingAt', () => {
  it('is the reading where the budget ends with one', () => {
    const { round, work, answers, reached } = standingAt(trajectory, 50)
    expect({ round, reached, sampled: answers.sampled }).toEqual({ round: 5, reached: true, sampled: [1, 0] })
    expect(work).toEqual(trajectory.work[5])
  })

  it('lies between the readings as far as the work does', () => {
    const { round, work, answers } = standingAt(trajectory, 60)
    expect(answers.sampled).toEqual([1, expect.closeTo(0.2)])
    expect(round).toBeCloseTo(6)
    expect(work.seconds).toBeCloseTo(6)
  })

  it('has spent the budget, wherever it ends', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 100, noNaN: true }), (passes) => {
        const { work, round, answers } = standingAt(trajectory, passes)
        expect(work.passes).toBeCloseTo(passes)
        expect(round).toBeCloseTo(passes / 10)
        expect(answers.greedy[0]! + answers.greedy[1]!).toBeCloseTo(round / 5)
      }),
    )
  })

  it('is the end of a run that was over earlier', () => {
    expect(standingAt(trajectory, 101)).toEqual({ ...standingAtEnd(trajectory), reached: false })
  })
})

describe('isOver', () => {
  const begun = { ...trajectory, readings: trajectory.readings.slice(0, 2) }
  it('asks for the last round, or for a yardstick beyond the budget', () => {
    expect(isOver(trajectory, undefined)).toBe(true)
    expect(isOver(trajectory, 1e9)).toBe(true)
    expect(isOver(begun, undefined)).toBe(false)
    expect(isOver(begun, 50)).toBe(true)
    expect(isOver(begun, 51)).toBe(false)
    expect(isOver({ ...trajectory, readings: [] }, 0)).toBe(false)
  })
})
