import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../core/paths.js'
import { judge } from './grade.js'

interface Case {
  gold: string
  prediction: string
  equal: boolean
  kind: 'answer' | 'response'
  category: string
  choices?: string[]
  disputed?: boolean
  /** Wrongly called different, and known to be. */
  known?: boolean
}

const load = (file: string): Case[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const wrong = (cases: Case[]) => cases.filter((each) => judge(each).equal !== each.equal)

describe('cases of every kind', () => {
  const cases = load(join(projectRoot(), 'src', 'grader', 'fixtures', 'cases.jsonl'))
  const categories = [...new Set(cases.map(({ category }) => category))]

  it('cover what answers look like', () => {
    expect(categories.length).toBe(28)
    expect(cases.length).toBeGreaterThan(2800)
  })

  it.each(categories)('%s', (category) => {
    expect(wrong(cases.filter((each) => each.category === category && !each.known))).toEqual([])
  })

  it('that are known to be wrongly called different are few, and none is wrongly called equal', () => {
    const known = cases.filter((each) => each.known)
    expect(known.length).toBeLessThanOrEqual(10)
    expect(known.filter((each) => !each.equal)).toEqual([])
  })
})

const shared = join(projectRoot(), '..', 'shared')
const verify = join(shared, 'cases', 'verify.jsonl')

describe.skipIf(!existsSync(verify))(`collected cases (skipped where ${verify} is absent)`, () => {
  const cases = existsSync(verify) ? load(verify).filter(({ disputed }) => !disputed) : []

  it('agree', () => {
    const failed = wrong(cases)
    expect(failed.filter(({ equal }) => !equal)).toEqual([])
    expect(1 - failed.length / cases.length).toBeGreaterThanOrEqual(0.99)
  })
})

const sets = [
  'math500',
  'olympiadbench_oe_maths_en',
  'minerva_math',
  'livemathbench',
  'hmmt_feb_2025',
  'aime24',
  'amc23',
]

describe.skipIf(!existsSync(join(shared, 'data')))(
  'gold answers of benchmarks (skipped without the data)',
  () => {
    it.each(sets)('of %s are read, equal to themselves in a box, and apart from their neighbours', (set) => {
      const file = join(shared, 'data', `${set}.jsonl`)
      const golds = readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => String(JSON.parse(line).answer))
      const boxed = (gold: string, text: string) =>
        judge({ gold, prediction: `So it is $\\boxed{${text}}$.` }).equal
      const lost = golds.filter(
        (gold) => !boxed(gold, gold) || !judge({ gold, prediction: gold, kind: 'answer' }).equal,
      )
      expect(lost).toEqual([])
      const confused = golds
        .slice(1)
        .filter(
          (gold, i) =>
            /^\d+$/.test(gold) && /^\d+$/.test(golds[i]!) && gold !== golds[i] && boxed(gold, golds[i]!),
        )
      expect(confused).toEqual([])
    })
  },
)
