import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answers } from '../../test/support/answers.js'
import { projectRoot } from '../core/paths.js'
import { isEquivalent } from './equivalence.js'
import { judge } from './grade.js'
import { readAnswer } from './notation/read.js'

const file = join(projectRoot(), '..', 'shared', 'cases', 'verify.jsonl')
const seeds = existsSync(file)
  ? readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line): string[] => {
        const { gold, prediction } = JSON.parse(line)
        return [gold, prediction]
      })
      .filter((text) => text !== '')
  : []

/** 3s is three seconds only as a prediction, so there the order matters. */
const hasLetterUnit = (text: string) => /[\d.][a-zA-Z]/.test(text.normalize('NFKC'))

// `npm run fuzz-grader` runs the same properties on 100,000 pairs, in processes with deadlines.
describe('any two texts', () => {
  it('are graded without a throw, a text equal to itself where anything can be made of it', () => {
    fc.assert(
      fc.property(answers(seeds), answers(seeds), (gold, prediction) => {
        for (const kind of ['response', 'answer'] as const) judge({ gold, prediction, kind })
        const readable = readAnswer(gold) !== undefined
        expect(isEquivalent(gold, gold)).toBe(readable)
      }),
      { numRuns: 3000 },
    )
  })

  it('are equal in both orders or in none', () => {
    fc.assert(
      fc.property(answers(seeds), answers(seeds), (a, b) => {
        fc.pre(!hasLetterUnit(a) && !hasLetterUnit(b))
        expect(isEquivalent(a, b)).toBe(isEquivalent(b, a))
      }),
      { numRuns: 3000 },
    )
  })
})
