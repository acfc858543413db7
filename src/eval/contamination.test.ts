import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../core/paths.js'
import { loadProblems } from '../data/problems.js'
import { ContaminationIndex } from './contamination.js'
import { readTexts } from './contamination-texts.js'
import { wordsOf } from './contamination-words.js'

const place = (record: number) => ({ path: 'texts.jsonl', record })
const named = (problems: string[]) => problems.map((problem, i) => ({ id: `p${i}`, problem }))

/** What an index finds in texts that are records of a file. */
function find(problems: string[], texts: string[], n: number) {
  const index = new ContaminationIndex(named(problems), n)
  for (const [i, text] of texts.entries()) index.add({ text, place: place(i + 1) })
  return index
}

/** The same by the definition: every run of n words is looked for in every text. */
function byDefinition(problem: string, texts: string[], n: number) {
  const words = wordsOf(problem)
  const length = Math.min(n, words.length)
  const has = (run: string[]) =>
    texts.findIndex((text) => ` ${wordsOf(text).join(' ')} `.includes(` ${run.join(' ')} `))
  const runs = Array.from({ length: length === 0 ? 0 : words.length - length + 1 }, (_, i) =>
    words.slice(i, i + length),
  )
  let longest: { words: string[]; text: number } = { words: [], text: -1 }
  for (let from = 0; from < words.length; from++) {
    for (let to = from + Math.max(1, length); to <= words.length; to++) {
      const text = has(words.slice(from, to))
      if (text >= 0 && to - from > longest.words.length) longest = { words: words.slice(from, to), text }
    }
  }
  return {
    grams: runs.length,
    found: runs.filter((run) => has(run) >= 0).length,
    longest: longest.words.length,
  }
}

/** Few different words, so that runs meet often. */
const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 24 }).map((words) => words.join(' '))
const texts = fc.array(text, { maxLength: 4 })

describe('ContaminationIndex', () => {
  it('finds what the definition finds', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 1, max: 6 }), (problems, texts, n) => {
        const found = find(problems, texts, n).overlaps()
        for (const [i, problem] of problems.entries()) {
          expect(found[i]).toMatchObject(byDefinition(problem, texts, n))
          const { stretch, place, longest } = found[i]!
          expect(stretch === '' ? 0 : stretch.split(' ').length).toBe(longest)
          if (place) expect(` ${texts[place.record! - 1]} `).toContain(` ${stretch} `)
          else expect(longest).toBe(0)
        }
      }),
      { numRuns: 2000 },
    )
  })

  const word = fc.string({
    unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'),
    minLength: 3,
    maxLength: 9,
  })
  const prose = (length: number) => fc.array(word, { minLength: length, maxLength: length + 20 })

  it('finds a problem that was planted, typeset anew, and where', () => {
    const cases = fc.tuple(prose(30), fc.array(prose(40), { minLength: 1, maxLength: 5 }), fc.nat(), fc.nat())
    fc.assert(
      fc.property(cases, ([problem, others, which, at]) => {
        const texts = others.map((words) => words.join(' '))
        const i = which % texts.length
        const words = others[i]!
        const planted = problem.map((each, k) => (k % 3 === 0 ? `\\textbf{${each.toUpperCase()}},` : each))
        texts[i] = [...words.slice(0, at % words.length), ...planted, ...words.slice(at % words.length)].join(
          '  ',
        )
        const [overlap] = find([problem.join(' ')], texts, 13).overlaps()
        expect(overlap).toMatchObject({
          share: 1,
          longest: problem.length,
          stretch: problem.join(' '),
          place: place(i + 1),
        })
      }),
    )
  })

  it('finds nothing in texts of random words', () => {
    fc.assert(
      fc.property(
        fc.array(prose(20), { maxLength: 5 }),
        fc.array(prose(40), { maxLength: 5 }),
        (problems, texts) => {
          const joined = (all: string[][]) => all.map((words) => words.join(' '))
          expect(find(joined(problems), joined(texts), 8).summary().any).toBe(0)
        },
      ),
    )
  })

  it('finds a planted part, and tells how much of the problem it is', () => {
    const words = Array.from(
      { length: 40 },
      (_, i) => `word${'abcdefghij'[i % 10]}${'klmn'[Math.floor(i / 10)]}`,
    )
    const index = find([words.join(' ')], [words.slice(10, 30).join(' ')], 13)
    expect(index.overlaps()[0]).toMatchObject({ words: 40, grams: 28, found: 8, longest: 20 })
    expect(index.overlaps()[0]!.share).toBeCloseTo(8 / 28)
  })

  it('compares problems of fewer words as a whole', () => {
    const index = find(
      ['What is two and three?', 'Compute $2+2$.', '?'],
      ['Say what is two and three now', '2 + 2'],
      13,
    )
    expect(index.overlaps().map(({ share, longest }) => [share, longest])).toEqual([
      [1, 5],
      [0, 0],
      [0, 0],
    ])
    expect(index.summary()).toEqual({
      problems: 3,
      n: 13,
      texts: 2,
      words: 10,
      any: 1,
      half: 1,
      whole: 1,
      short: 3,
      shortFound: 1,
    })
  })

  it('lets runs reach over the pieces of one text, and never from text to text', () => {
    const halves = ['one two three four', 'five six seven eight']
    const index = (continues: boolean) => {
      const made = new ContaminationIndex(named([halves.join(' ')]), 5)
      for (const text of halves) made.add({ text, place: place(1), continues })
      return made.overlaps()[0]!.share
    }
    expect(index(true)).toBe(1)
    expect(index(false)).toBe(0)
  })
})

const data = join(projectRoot(), '..', 'shared', 'data')

describe.skipIf(!existsSync(data))('on published data', () => {
  const search = async (problems: string, texts: string, n = 13) => {
    const index = new ContaminationIndex(await loadProblems(join(data, problems)), n)
    for await (const piece of readTexts(join(data, texts))) index.add(piece)
    return index.summary()
  }

  it('finds every problem of a set in the set itself', async () => {
    for (const file of ['math500.jsonl', 'gsm8k_test.jsonl', 'olympiadbench_oe_maths_en.jsonl']) {
      const { problems, any, whole } = await search(file, file)
      expect({ any, whole }).toEqual({ any: problems, whole: problems })
    }
  })

  it('finds no problem of MATH-500 in the training problems that it was taken out of', async () => {
    expect(await search('math500.jsonl', 'math_train.jsonl')).toMatchObject({ whole: 0, half: 11, any: 48 })
  })

  it('finds nothing of GSM8K in passages of encyclopaedias, and two general polynomials of MATH-500', async () => {
    const of = (file: string) => search(file, 'knowledge_passages.jsonl')
    expect(await of('gsm8k_test.jsonl')).toMatchObject({ any: 0, texts: 1220 })
    expect(await of('math500.jsonl')).toMatchObject({ any: 2, half: 0, texts: 1220 })
  })
})
