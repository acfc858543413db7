import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { scriptedPolicy } from '../../test/support/scripted.js'
import { continueQuestions, memorisationRows, rougeL } from './memorisation.js'
import { type QuestionsOptions, questionsOfRun } from './memorisation-questions.js'

const prefixes = [0.2, 0.4, 0.6, 0.8]
const known = '0123456789'

/** Knows one text by heart, and says 'x' after anything else. */
const policy = () =>
  scriptedPolicy((prompt) => (known.startsWith(prompt) ? known.slice(prompt.length) : 'x'.repeat(20)))

describe('continueQuestions', () => {
  it('gives shares of the tokens, greedily and without a template, and compares the rest', async () => {
    const model = policy()
    const out = await continueQuestions(model, [known, 'abcde'], { prefixes })
    expect(out.map(({ prefix, rest, exact }) => [prefix, rest, exact])).toEqual([
      [0.2, '23456789', true],
      [0.2, 'bcde', false],
      [0.4, '456789', true],
      [0.4, 'cde', false],
      [0.6, '6789', true],
      [0.6, 'de', false],
      [0.8, '89', true],
      [0.8, 'e', false],
    ])
    expect(model.asked.map(({ prompt }) => prompt)).toEqual(
      expect.arrayContaining(['01', '0123', 'a', 'ab', 'abcd']),
    )
    expect(model.asked.every(({ n, params }) => n === 1 && params.temperature === 0)).toBe(true)
  })

  it('compares no more tokens than the rest has, and strips both', async () => {
    const model = scriptedPolicy(() => ' cd and so on')
    const [one] = await continueQuestions(model, ['ab cd'], { prefixes: [0.4] })
    expect(one).toMatchObject({ rest: ' cd', continuation: ' cd', exact: true, rougeL: 1 })
    const [late] = await continueQuestions(
      scriptedPolicy(() => 'cd'),
      ['ab cd '],
      { prefixes: [0.5] },
    )
    expect(late).toMatchObject({ rest: 'cd ', continuation: 'cd', exact: true })
  })

  it('always gives something and always leaves something', async () => {
    const out = await continueQuestions(policy(), ['ab', 'a', ''], { prefixes: [0.01, 0.99] })
    expect(out.map(({ rest }) => rest)).toEqual(['b', 'b'])
  })

  it('puts many questions of all lengths back in their order', async () => {
    const questions = Array.from({ length: 300 }, (_, i) => `${known.slice(0, 2 + (i % 9))}`)
    const out = await continueQuestions(policy(), questions, { prefixes: [0.5, 0.6] })
    expect(out.map(({ question }) => question)).toEqual([...questions, ...questions])
    expect(out.every(({ exact }) => exact)).toBe(true)
  })
})

describe('memorisationRows', () => {
  it('are shares and means by prefix, with their intervals', async () => {
    const rows = memorisationRows(await continueQuestions(policy(), [known, 'abcde'], { prefixes }))
    expect(rows.map(({ prefix, n }) => [prefix, n])).toEqual(prefixes.map((prefix) => [prefix, 2]))
    for (const { exact, rougeL } of rows) {
      expect(exact.mean).toBe(0.5)
      expect(rougeL.mean).toBe(0.5)
      expect(exact.low).toBeGreaterThan(0)
      expect(exact.high).toBeLessThan(1)
    }
  })
})

describe('rougeL', () => {
  it('is the harmonic mean of the shares of the longest common subsequence', () => {
    // The examples of the paper that defined it: "police killed the gunman" as the reference.
    const reference = 'police killed the gunman'
    expect(rougeL(reference, 'police kill the gunman')).toBe(3 / 4)
    expect(rougeL(reference, 'the gunman kill police')).toBe(2 / 4)
    expect(rougeL('a b c d', 'b d')).toBeCloseTo((2 * 1 * 0.5) / 1.5, 12)
  })

  it('counts signs as words, and letters of any script', () => {
    expect(rougeL('12+3', '12-3')).toBeCloseTo(2 / 3, 12)
    expect(rougeL('x = 2', 'X=2')).toBe(1)
    expect(rougeL('число 7', 'Число 8')).toBe(0.5)
    expect(rougeL('两个数', '两个数')).toBe(1)
  })

  it('is defined where there are no words', () => {
    expect([rougeL('', ''), rougeL(' ', '\n'), rougeL('a', ''), rougeL('', 'a')]).toEqual([1, 1, 0, 0])
  })

  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', '+', '1'), { maxLength: 12 })
    .map((words) => words.join(' '))

  it('is symmetric, at most 1, 1 for equal texts and no less than a common prefix earns', () => {
    fc.assert(
      fc.property(text, text, text, (common, a, b) => {
        const value = rougeL(a, b)
        expect(value).toBe(rougeL(b, a))
        expect(value).toBeGreaterThanOrEqual(0)
        expect(value).toBeLessThanOrEqual(1)
        expect(rougeL(a, a)).toBe(1)
        const [x, y] = [`${common} ${a}`, `${common} ${b}`]
        const words = (of: string) => of.split(' ').filter((word) => word !== '').length
        const least = words(x) + words(y) === 0 ? 1 : (2 * words(common)) / (words(x) + words(y))
        expect(rougeL(x, y)).toBeGreaterThanOrEqual(least - 1e-12)
      }),
    )
  })
})

describe('questionsOfRun', () => {
  function run(rounds: string[][]): string {
    const folder = temporaryFolder()
    rounds.forEach((questions, i) => {
      const at = join(folder, 'rollouts', `round-00000${i + 1}`)
      mkdirSync(at, { recursive: true })
      const lines = questions.map((question) => JSON.stringify({ role: 'proposer', parts: { question } }))
      writeFileSync(join(at, 'proposer.jsonl'), lines.join('\n'))
    })
    return folder
  }
  const usual = { role: 'proposer', limit: 100, seed: 0 }
  const read = async (folder: string, changes: Partial<QuestionsOptions> = {}) =>
    (await questionsOfRun(folder, { ...usual, ...changes })).questions

  it('are the different ones, in order, without the empty ones of malformed completions', async () => {
    const folder = run([
      ['q1', 'q2', ''],
      ['q2', 'q3'],
    ])
    expect(await read(folder)).toEqual(['q1', 'q2', 'q3'])
    expect(await read(folder, { last: 1 })).toEqual(['q2', 'q3'])
  })

  it('are drawn by the seed where there are more than wanted', async () => {
    const folder = run([Array.from({ length: 50 }, (_, i) => `q${i}`)])
    const drawn = await read(folder, { limit: 10 })
    expect(drawn).toHaveLength(10)
    expect((await questionsOfRun(folder, { ...usual, limit: 10 })).different).toBe(50)
    expect(drawn).toEqual([...drawn].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))))
    expect(await read(folder, { limit: 10 })).toEqual(drawn)
    expect(await read(folder, { limit: 10, seed: 1 })).not.toEqual(drawn)
  })

  it('must be there', async () => {
    await expect(questionsOfRun(temporaryFolder(), usual)).rejects.toMatchObject({ code: 'data' })
    await expect(questionsOfRun(run([['']]), usual)).rejects.toThrow('holds no question that proposer')
  })
})
