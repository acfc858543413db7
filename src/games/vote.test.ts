import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boxGrader } from '../../test/support/scripted.js'
import { createGrader } from '../grader/index.js'
import { countVotes, type Vote } from './vote.js'

/** Equal strings are equal, and 1/2 is 0.5. */
const grader = {
  ...boxGrader(),
  grade: async (cases: { gold: string; prediction: string }[]) =>
    cases.map(({ gold, prediction }) => ({
      equal:
        new Set([gold, prediction]).size === 1 || [gold, prediction].every((x) => ['1/2', '0.5'].includes(x)),
      extracted: prediction,
      reason: 'different' as const,
      ms: 0,
    })),
}

async function count(answers: (string | null)[], question = '?'): Promise<Vote> {
  const texts = answers.map((answer) => (answer === null ? 'no idea' : `so \\boxed{${answer}}`))
  return (await countVotes(grader, [{ question, texts }]))[0]!
}

describe('countVotes', () => {
  it('finds the majority and who is with it', async () => {
    expect(await count(['7', '8', '7', null, '7'])).toEqual({
      answer: '7',
      count: 3,
      votes: 4,
      agrees: [true, false, true, false, true],
    })
  })

  it('counts equal answers together, under the name that most give', async () => {
    expect(await count(['0.5', '3', '3', '1/2', '1/2'])).toMatchObject({ answer: '1/2', count: 3 })
  })

  it('takes the first of several majorities', async () => {
    expect(await count(['2', '1', '1', '2'])).toMatchObject({ answer: '2', count: 2 })
  })

  it('gives no vote to an empty box, a missing one or the question itself', async () => {
    expect(await count(['', null, '3+4', ' 3+4 '], '3+4')).toEqual({
      answer: null,
      count: 0,
      votes: 0,
      agrees: [false, false, false, false],
    })
  })

  it('counts every ballot by itself, of any length', async () => {
    const ballots = [[], ['1', '2', '2'], ['5']].map((answers) => ({
      question: '?',
      texts: answers.map((answer) => `\\boxed{${answer}}`),
    }))
    const votes = await countVotes(grader, ballots)
    expect(votes.map(({ answer, count }) => [answer, count])).toEqual([
      [null, 0],
      ['2', 2],
      ['5', 1],
    ])
  })

  it('gives the same count in whatever order the texts come', async () => {
    const answers = fc.array(fc.constantFrom('1', '2', '1/2', '0.5', null), { maxLength: 9 })
    const shuffled = answers.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.shuffledSubarray(given, { minLength: given.length, maxLength: given.length }),
      ),
    )
    await fc.assert(
      fc.asyncProperty(shuffled, async ([given, otherOrder]) => {
        const [a, b] = [await count(given), await count(otherOrder)]
        expect(a.count).toBe(b.count)
        expect(a.votes).toBe(given.filter((answer) => answer !== null).length)
        expect(a.agrees.filter(Boolean)).toHaveLength(a.count)
        expect(a.count).toBeLessThanOrEqual(a.votes)
      }),
    )
  })

  it('keeps an unworked expression from counting as its value, with the real grader', async () => {
    const real = await createGrader({ extract: ['last_box'], unevaluated: 'refuse' })
    const texts = ['\\boxed{7}', '\\boxed{7.0}', '\\boxed{3+4}']
    const [vote] = await countVotes(real, [{ question: 'What is 3+4?', texts }])
    await real.close()
    expect(vote).toMatchObject({ answer: '7', count: 2, agrees: [true, true, false] })
  })
})
