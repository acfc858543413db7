import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { isHeldout } from '../worlds/arithmetic/index.js'
import { leveledProblems } from './levels.js'

function file(...lines: object[]): string {
  const path = join(temporaryFolder(), 'problems.jsonl')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}
const problem = (name: string, level: unknown) => ({ problem: name, answer: '1', level })

describe('problems by level', () => {
  it('of the arithmetic world are as many of each level, all held out', async () => {
    const problems = await leveledProblems('arithmetic', 5)
    expect(problems.map(({ level }) => level)).toEqual(['1', '2', '3', '4'].flatMap((l) => Array(5).fill(l)))
    expect(problems.every((each) => isHeldout(each.problem))).toBe(true)
    expect(new Set(problems.map((each) => each.problem)).size).toBe(20)
    expect(await leveledProblems('arithmetic', 5)).toEqual(problems)
  })

  it('of a file are the first of each level, numbered levels in order', async () => {
    const path = file(problem('a', 10), problem('b', 9), problem('c', 10), problem('d', 10))
    const names = (await leveledProblems(path, 2)).map((each) => `${each.level} ${each.problem}`)
    expect(names).toEqual(['9 b', '10 a', '10 c'])
    const named = await leveledProblems(file(problem('a', 'hard'), problem('b', 'easy')), 2)
    expect(named.map(({ level }) => level)).toEqual(['hard', 'easy'])
  })

  it.each([[undefined], [''], ['very hard'], [null]])('refuse a level %j', async (level) => {
    await expect(leveledProblems(file(problem('a', 1), problem('b', level)), 2)).rejects.toThrow(
      /problem 2 has no level that can be part of a name/,
    )
  })
})
