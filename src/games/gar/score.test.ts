import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RawLogprobs, Rollout } from '../../core/rollout.js'
import { groupAdvantages } from '../grpo/advantages.js'
import { config } from './config.js'
import type { Judgment, Outcome, Posed, Trajectory } from './play.js'
import type { Source } from './rewards.js'
import { type Played, scoreGroup } from './score.js'
import type { Verdict } from './verdict.js'

const none = new Int32Array()
const rollout: Rollout = {
  ...{ request: 0, index: 0, tokens: none, stop: 'eos', text: '', version: 0 },
  logprobs: new Float32Array() as RawLogprobs,
}
const posed: Posed = { id: 0, problem: 'p', answer: '1', traces: [], tests: [], prompt: none }
const outcome = (right: boolean): Outcome => ({ reward: Number(right), right, extracted: null, reason: '' })

/** v[t][i]: verdicts on slice i of trajectory t; then those on the references. */
function played(
  rights: boolean[] | null,
  v: (Verdict | null)[][],
  references: (Verdict | null)[] = [],
): Played {
  const slice = { text: '', start: 0, end: 0, shown: '' }
  const trajectories = v.map((own): Trajectory => ({ group: 0, rollout, pieces: own.map(() => slice) }))
  let exhibit = 0
  const judge = (source: Source, verdict: Verdict | null, place: object): Judgment => ({
    ...{ group: 0, source, question: 'p', shown: '', exhibit: exhibit++, prompt: none, rollout, verdict },
    ...place,
  })
  const judgments = [
    ...v.flatMap((own, trajectory) => own.map((verdict, piece) => judge(0, verdict, { trajectory, piece }))),
    ...references.map((verdict) => judge(1, verdict, {})),
  ]
  return { posed, trajectories, outcomes: rights?.map(outcome) ?? null, judgments }
}

const settings = config.parse({})

describe('scoreGroup', () => {
  it('gives every trajectory R^m + R^s and the advantage of its group', () => {
    const { trajectories } = scoreGroup(played([true, false, false], [[1, 1], [1, 0], []]), 1, settings)
    expect(trajectories.map(({ reward }) => reward)).toEqual([2, 0.5, 0])
    expect(trajectories.map(({ advantage }) => advantage)).toEqual(
      groupAdvantages([2, 0.5, 0], { scaleRewards: true }),
    )
  })

  it('pays verdicts by source and answer, and compares all on one problem', () => {
    const { judgments } = scoreGroup(played([true, false], [[1], [1, 0]], [1, 0, null]), 1, settings)
    const rewards = [0.5, 0, 1.5, 1, 0, -0.5]
    expect(judgments.map(({ reward }) => reward)).toEqual(rewards)
    expect(judgments.map(({ advantage }) => advantage)).toEqual(
      groupAdvantages(rewards, { scaleRewards: true }),
    )
    expect(judgments.map(({ right }) => right)).toEqual([true, false, false, undefined, undefined, undefined])
  })

  it('ranks trajectories by their slices where every answer is wrong', () => {
    const { trajectories } = scoreGroup(
      played(
        [false, false, false],
        [
          [1, 1],
          [1, 0],
          [0, 0],
        ],
      ),
      1,
      settings,
    )
    const [best, middle, worst] = trajectories.map(({ advantage }) => advantage)
    expect(best).toBeGreaterThan(middle!)
    expect(middle).toBeGreaterThan(worst!)
  })

  it('neither pays nor punishes a trajectory whose verdicts cannot be read', () => {
    const { trajectories } = scoreGroup(
      played(
        [false, false, false],
        [
          [1, 1],
          [null, null],
          [0, 0],
        ],
      ),
      1,
      settings,
    )
    expect(trajectories[1]).toMatchObject({ slices: 0.5, advantage: 0, scores: [null, null] })
  })

  it('takes the mean of several verdicts on a slice, and compares those on the slice when asked', () => {
    const base = played([true], [[1]])
    const [first] = base.judgments
    const twice = { ...base, judgments: [first!, { ...first!, verdict: 0 as const }] }
    const given = config.parse({ verdicts: 2, discriminator_group: 'slice' })
    const scored = scoreGroup(twice, 1, given)
    expect(scored.trajectories[0]).toMatchObject({ scores: [0.5], slices: 0.5 })
    expect(scored.judgments.map(({ reward }) => reward)).toEqual([0.5, 1])
    expect(scored.judgments.map(({ advantage }) => advantage)).toEqual(
      groupAdvantages([0.5, 1], { scaleRewards: true }),
    )
  })

  it('of a partial trace has no answer to reward or to agree with', () => {
    const partial = config.parse({ variant: 'partial' })
    const { trajectories, judgments } = scoreGroup(played(null, [[1, 1, 0]], [1]), 1, partial)
    expect(trajectories[0]).toMatchObject({ outcome: undefined, reward: 2 / 3 })
    expect(judgments.map(({ reward }) => reward)).toEqual([0, 0, 1, 1])
  })

  const verdict = fc.constantFrom<Verdict | null>(0, 1, null)
  const games = fc
    .array(fc.tuple(fc.boolean(), fc.array(verdict, { maxLength: 4 })), { minLength: 1, maxLength: 6 })
    .chain((all) => fc.tuple(fc.constant(all), fc.array(verdict, { maxLength: 8 })))

  it.each([0, 1] as const)('a discriminator that always says %d leaves plain GRPO on answers', (constant) => {
    fc.assert(
      fc.property(games, ([all, references]) => {
        const rights = all.map(([right]) => right)
        const slices = all.map(([, own]) => [...own, 0].map(() => constant))
        const scored = scoreGroup(played(rights, slices, references), 1, settings)
        const plain = groupAdvantages(rights.map(Number), { scaleRewards: true })
        scored.trajectories.forEach(({ slices, advantage }, t) => {
          expect(slices).toBe(constant)
          expect(advantage).toBeCloseTo(plain[t]!, 9)
        })
      }),
    )
  })

  it('centres the advantages of both roles, and weighs R^d by the lambda3 in force', () => {
    fc.assert(
      fc.property(games, fc.double({ min: 0, max: 1, noNaN: true }), ([all, references], lambda3) => {
        const given = played(
          all.map(([right]) => right),
          all.map(([, own]) => own),
          references,
        )
        const { trajectories, judgments } = scoreGroup(given, lambda3, settings)
        for (const scored of [trajectories, judgments]) {
          const sum = scored.reduce((total, { advantage }) => total + advantage, 0)
          expect(sum).toBeCloseTo(0, 6)
        }
        for (const { reward, verdict, discrimination, alignment } of judgments) {
          const expected = verdict === null ? -0.5 : lambda3 * discrimination + 0.5 * alignment
          expect(reward).toBeCloseTo(expected, 9)
        }
      }),
    )
  })
})
