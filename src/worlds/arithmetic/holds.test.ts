import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { print } from './expression.js'
import { holds } from './holds.js'
import { kinds, longKinds } from './kinds.js'
import { slippedSteps } from './slips.js'
import { steps } from './steps.js'

describe('holds', () => {
  it('is true of every step of a right chain, and false of the one that slipped', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(...kinds, ...longKinds), (seed, kind) => {
        const stream = randomStream(seed, 'holds')
        const expression = kind.sample(stream)
        const stepsOf = (links: { expression: typeof expression }[]) =>
          links.slice(1).map((link, i) => `${print(links[i]!.expression)}=${print(link.expression)}`)
        const right = stepsOf(steps(expression, 'plain')!)
        expect(right.every((step) => holds(step))).toBe(true)
        expect(holds(right[0]!, print(expression))).toBe(true)
        const slipped = slippedSteps(expression, 'plain', stream)
        if (slipped) expect(stepsOf(slipped).filter((step) => holds(step) === false)).toHaveLength(1)
      }),
    )
  })

  it.each<[string, string | undefined, boolean | undefined]>([
    ['48+5=53 \\boxed{53}', undefined, true],
    ['48+5=53 \\boxed{35}', undefined, false],
    ['1+2=3', '1+2', true],
    ['2+1=3', '1+2', false],
    ['1+2=', undefined, undefined],
    ['1+2', undefined, undefined],
    ['so 1+2=3', undefined, undefined],
    ['', undefined, undefined],
    ['5000*2=10000', undefined, undefined],
  ])('%s from %s: %s', (step, question, truth) => {
    expect(holds(step, question)).toBe(truth)
  })
})
