import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { characterTokenizer } from '../../../../test/support/scripted.js'
import { randomStream } from '../../../core/random.js'
import type { Reference } from '../references.js'
import { readVerdict, type Verdict } from '../verdict.js'
import { balance, type LabelledSlice, labelByRule, labelBySource, targetOf } from './labels.js'

const stream = (seed = 1) => randomStream(seed, 'labels')
const slice = (shown: string, from = 0): Reference => ({ question: 'q', shown, from })

describe('labelByRule', () => {
  const slices = Array.from({ length: 400 }, (_, i) => slice(`so ${i}+${i}=${2 * i}, and on`))

  it('says NO to what was changed, with what it should read, and YES to what was not', () => {
    const labels = labelByRule(slices, stream())
    expect(labels).toHaveLength(400)
    labels.forEach(({ shown, verdict }, i) => {
      expect(verdict).toBe(shown === slices[i]!.shown ? 1 : 0)
    })
    const flawed = labels.filter(({ verdict }) => verdict === 0)
    expect(flawed.length / 400).toBeCloseTo(0.5, 1)
  })

  it('leaves out slices that offer no place for an error', () => {
    expect(labelByRule([slice('Wait, no.'), slice('1+1=2 so', 5)], stream())).toEqual([])
  })
})

it('labelBySource tells whose slices they are', () => {
  const labels = labelBySource([slice('a')], [slice('b'), slice('c')])
  expect(labels.map(({ shown, verdict }) => `${shown}${verdict}`)).toEqual(['a1', 'b0', 'c0'])
})

describe('balance', () => {
  it('keeps as many of both verdicts, and all of the rarer one', () => {
    const list = fc.array(fc.record({ verdict: fc.constantFrom<Verdict>(0, 1), id: fc.nat() }))
    fc.assert(
      fc.property(list, fc.integer(), (labels, seed) => {
        const count = (of: typeof labels, wanted: Verdict) =>
          of.filter(({ verdict }) => verdict === wanted).length
        const kept = balance(labels, stream(seed))
        const least = Math.min(count(labels, 0), count(labels, 1))
        expect([count(kept, 0), count(kept, 1)]).toEqual([least, least])
        expect(kept.every((label) => labels.includes(label))).toBe(true)
      }),
    )
  })
})

describe('targetOf', () => {
  it('keeps analysis and all within their caps, and the verdict always', () => {
    const text = fc.string({ maxLength: 200 }).filter((text) => !/YES|NO/.test(text))
    const label = fc.record({
      ...{ question: text, shown: text, analysis: text, rationale: text },
      verdict: fc.constantFrom<Verdict>(0, 1),
    })
    fc.assert(
      fc.property(label, fc.integer({ min: 0, max: 90 }), (label: LabelledSlice, cap) => {
        const target = targetOf(label, characterTokenizer, { analysis: cap, completion: 128 })
        const read = readVerdict(target)!
        expect(read.verdict).toBe(label.verdict)
        expect(read.at).toBeLessThanOrEqual(cap + 3)
        expect(target.length).toBeLessThan(128)
        if (label.analysis.length <= cap) expect(target.startsWith(label.analysis)).toBe(true)
      }),
    )
  })
})
