import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { isEquivalent } from '../../grader/index.js'
import { equationsOf, plantError } from './plant.js'
import { splitSteps } from './steps.js'

describe('equationsOf', () => {
  it('finds the links of a chain', () => {
    const steps = splitSteps('(7-3)*2+5=4*2+5=8+5=13 \\boxed{13}', 'links', 40)
    expect(equationsOf(steps)).toEqual([
      { step: 1, left: '(7-3)*2+5', right: '4*2+5' },
      { step: 2, left: '4*2+5', right: '8+5' },
      { step: 3, left: '8+5', right: '13' },
    ])
  })

  it('finds what prose computes', () => {
    const steps = splitSteps(
      'Natalia sold 48/2 = 24 clips in May.\nThat is $0.2 × 50 = $10, and 1,000 + 1 = 1,001.\nx = y, so n = 3',
      'lines',
      40,
    )
    expect(equationsOf(steps)).toEqual([
      { step: 1, left: '48/2', right: '24' },
      { step: 2, left: '0.2 * 50', right: '10' },
      { step: 2, left: '1000 + 1', right: '1001' },
    ])
    for (const { left, right } of equationsOf(steps)) expect(isEquivalent(left, right), left).toBe(true)
  })

  it('finds none where there is nothing to compute', () => {
    expect(equationsOf(['', 'a=b', 'The answer is 7.', '\\boxed{7}'])).toEqual([])
  })
})

describe('plantError', () => {
  it('changes one number or operator of an equation, and nothing else', () => {
    const solution = 'Tom has 3 cats.\n48/2 = 24 clips, so 48+24=72 \\boxed{72}'
    fc.assert(
      fc.property(fc.nat(10_000), (seed) => {
        const changed = plantError(solution, randomStream(seed))!
        expect(changed).not.toBe(solution)
        expect(changed.startsWith('Tom has 3 cats.\n')).toBe(true)
        expect(changed.endsWith('\\boxed{72}')).toBe(true)
        expect(changed).toHaveLength(solution.length)
        const differing = [...changed].filter((letter, i) => letter !== solution[i])
        expect(differing).toHaveLength(1)
        expect(equationsOf(splitSteps(changed, 'lines', 40)).length).toBe(2)
      }),
    )
  })

  it('nearly always makes a step false, which the checker tells', () => {
    const solution = '89-32+78=57+78=135 \\boxed{135}'
    const falsified = Array.from({ length: 200 }, (_, seed) => {
      const changed = splitSteps(plantError(solution, randomStream(seed))!, 'links', 40)
      return equationsOf(changed).some(({ left, right }) => !isEquivalent(left, right))
    })
    expect(falsified.filter(Boolean).length).toBe(200)
  })

  it('reaches every number and operator', () => {
    const seen = new Set(Array.from({ length: 500 }, (_, seed) => plantError('12+3=15', randomStream(seed))!))
    const places = new Set(
      [...seen].map((text) => [...text].findIndex((letter, i) => letter !== '12+3=15'[i])),
    )
    expect(places).toEqual(new Set([0, 1, 2, 3, 5, 6]))
  })

  it('finds nothing to change where no equation is', () => {
    for (const text of ['', 'no numbers = here', '7', '\\boxed{7}']) {
      expect(plantError(text, randomStream(0))).toBeUndefined()
    }
  })
})
