import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { temporaryFolder } from '../../test/support/folders.js'
import { scriptedContext } from '../../test/support/scripted.js'
import { isHeldout, solveQuestion } from '../worlds/arithmetic/index.js'
import { labelledSource, problemSettings, problemSource, problemsOfRound } from './problems.js'

const schema = z.strictObject(problemSettings)

/** Problems of the rounds 0 .. rounds - 1, with one set-up. */
async function rounds(settings: object, rounds: number) {
  const config = schema.parse(settings)
  await problemSource(scriptedContext({ config, policies: {} }))
  return Promise.all(
    Array.from({ length: rounds }, (_, round) =>
      problemsOfRound(scriptedContext({ config, policies: {}, round })),
    ),
  )
}

function file(lines: object[]): string {
  const path = join(temporaryFolder(), 'problems.jsonl')
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'))
  return path
}

describe('problems', () => {
  it('are drawn from the world with true answers, never a held-out one', async () => {
    const [first, second] = await rounds({ problems_per_round: 200 }, 2)
    for (const { problem, answer } of first!) {
      expect(solveQuestion(problem)).toBe(answer)
      expect(isHeldout(problem)).toBe(false)
    }
    expect(second).not.toEqual(first)
    expect(await rounds({ problems_per_round: 200 }, 2)).toEqual([first, second])
  })

  it('can be a limited set of the world, seen again in every pass', async () => {
    const seen = await rounds({ problems_limit: 12, problems_per_round: 4 }, 6)
    const pass = (from: number) =>
      new Set(
        seen
          .slice(from, from + 3)
          .flat()
          .map(({ problem }) => problem),
      )
    expect(pass(0).size).toBe(12)
    expect(pass(3)).toEqual(pass(0))
  })

  it('come from a file, whole or its first lines', async () => {
    const path = file([1, 2, 3, 4, 5, 6].map((i) => ({ problem: `${i}?`, answer: i })))
    const [all] = await rounds({ problems: path, problems_per_round: 6 }, 1)
    expect(new Set(all!.map(({ answer }) => answer))).toEqual(new Set(['1', '2', '3', '4', '5', '6']))
    const [some] = await rounds({ problems: path, problems_limit: 2, problems_per_round: 2 }, 1)
    expect(some!.map(({ answer }) => answer).sort()).toEqual(['1', '2'])
  })

  it('must have answers where a game needs them', async () => {
    const config = schema.parse({ problems: file([{ problem: '1?', answer: 1 }, { problem: '2?' }]) })
    const ctx = scriptedContext({ config, policies: {} })
    await expect(labelledSource(ctx)).rejects.toMatchObject({
      code: 'data',
      message: expect.stringContaining('problem 2 has no answer'),
    })
    expect(await problemsOfRound(ctx)).toContainEqual({ problem: '2?' })
  })
})
