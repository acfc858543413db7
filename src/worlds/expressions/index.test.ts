import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { formulaExample, formulaProblem, runFormula } from './index.js'

const streams = fc.integer().map((seed) => randomStream(seed, 'formula'))
const programOf = (text: string) => /```expression\n(.*)\n```$/.exec(text)![1]!

describe('runFormula', () => {
  it.each([
    ['3*x+2', 5, 17],
    [' x ', 7, 7],
    ['(x+1)*(x-1)', 4, 15],
    ['x*x-x', -3, 12],
    ['12', 5, 12],
  ])('%s at %i', (code, x, value) => {
    expect(runFormula(code, x)).toBe(value)
  })

  it.each(['', '2x', 'xx', 'y+1', 'x/2', 'x**2', 'f(x)', 'x*x*x*x*x*x', 'process.exit(1)'])(
    'refuses %s',
    (code) => {
      expect(runFormula(code, 9)).toBeUndefined()
    },
  )
})

describe('formula problems', () => {
  it('are solved by their solutions, whose every step holds', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { problem, tests, solution } = formulaProblem(stream)
        const program = programOf(solution)
        for (const { input, output } of tests) {
          expect(runFormula(program, Number(input))).toBe(Number(output))
          expect(problem).toContain(`f(${input})=${output}`)
        }
        for (const [, op, a, b, c] of solution.matchAll(/^(?:(\d+)([-+*])(\d+)=(\d+))$/gm)) {
          expect(runFormula(`${op}${a}${b}`, 0)).toBe(Number(c))
        }
      }),
    )
  })

  it('hold a wrong step and a program that follows from it at the rate asked for', () => {
    const isRight = (stream: ReturnType<typeof randomStream>, rate: number) => {
      const [user, assistant] = formulaExample(stream, rate)
      const steps = [...assistant!.content.matchAll(/^(\d+)([-+*])(\d+)=(\d+)$/gm)]
      const sound = steps.every(([, a, op, b, c]) => runFormula(`${a}${op}${b}`, 0) === Number(c))
      const values = [...user!.content.matchAll(/f\((\d+)\)=(\d+)/g)]
      const solves = values.every(
        ([, x, y]) => runFormula(programOf(assistant!.content), Number(x)) === Number(y),
      )
      return { sound, solves }
    }
    for (let seed = 0; seed < 200; seed++) {
      expect(isRight(randomStream(seed, 'right'), 0)).toEqual({ sound: true, solves: true })
      expect(isRight(randomStream(seed, 'wrong'), 1).sound).toBe(false)
    }
    const mixed = Array.from({ length: 400 }, (_, seed) => isRight(randomStream(seed, 'mixed'), 0.4))
    expect(mixed.filter(({ sound }) => !sound).length / 400).toBeCloseTo(0.4, 1)
    expect(mixed.some(({ solves }) => !solves)).toBe(true)
  })
})
