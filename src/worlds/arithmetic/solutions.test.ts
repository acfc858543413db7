import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { evaluate, parseExpression, print } from './expression.js'
import { holds } from './holds.js'
import { kinds, longKinds } from './kinds.js'
import { chainSolution, lineSolution } from './solutions.js'

describe('solutions', () => {
  it('say the same in two styles, right in every step', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(...kinds, ...longKinds), (seed, kind) => {
        const expression = kind.sample(randomStream(seed, 'solution'))
        const box = `\\boxed{${evaluate(expression)}}`
        const chain = chainSolution(expression)
        expect(holds(chain, print(expression))).toBe(true)
        expect(chain.endsWith(` ${box}`)).toBe(true)
        const lines = lineSolution(expression).split('\n')
        expect(lines.at(-1)).toBe(box)
        expect(lines.slice(0, -1).every((line) => holds(line))).toBe(true)
        expect(lines).toHaveLength(chain.split('=').length)
      }),
    )
  })

  it('are as written', () => {
    const expression = parseExpression('(7-3)*12+5')!
    expect(chainSolution(expression)).toBe('(7-3)*12+5=4*12+5=48+5=53 \\boxed{53}')
    expect(lineSolution(expression)).toBe('7-3=4\n4*12=48\n48+5=53\n\\boxed{53}')
  })
})
