import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { proposerExample, solverExample } from './examples.js'
import { canonical, solveQuestion } from './expression.js'
import { isHeldout } from './heldout.js'
import { arithmetic } from './index.js'
import { kinds, knowledgeTexts } from './kinds.js'
import type { Detail } from './steps.js'

const seeds = fc.integer()
const details = fc.constantFrom<Detail>('plain', 'split')
const builders = fc.constantFrom(proposerExample, solverExample)
const boxed = (text: string) => /\\boxed\{(-?\d+)\}/.exec(text)![1]!

describe('examples', () => {
  it('box the truth where no wrong step is planted, and never otherwise', () => {
    for (const wrongStepRate of [0, 1]) {
      fc.assert(
        fc.property(builders, details, seeds, (build, detail, seed) => {
          const example = build(randomStream(seed, 'example'), { detail, wrongStepRate })
          const answer = boxed(example.messages[1]!.content)
          expect(example.correct).toBe(wrongStepRate === 0)
          expect(answer).toBe(example.answer)
          expect(answer === solveQuestion(example.problem)).toBe(example.correct)
        }),
        { numRuns: 500 },
      )
    }
  })

  it('plant wrong steps at the rate asked for', () => {
    const stream = randomStream(5, 'rate')
    const wrong = Array.from({ length: 2000 }, () =>
      solverExample(stream, { detail: 'plain', wrongStepRate: 0.15 }),
    ).filter((example) => !example.correct)
    expect(wrong.length / 2000).toBeGreaterThan(0.12)
    expect(wrong.length / 2000).toBeLessThan(0.18)
  })

  it('write the proposer as knowledge text, problem, worked answer', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { messages, problem } = proposerExample(randomStream(seed, 'p'), {
          detail: 'plain',
          wrongStepRate: 0,
        })
        const [user, assistant] = messages
        expect(knowledgeTexts).toContain(user!.content)
        const form = /^<\/think>\n<problem>(.*)<\/problem>\n<answer>(.*) \\boxed\{(-?\d+)\}<\/answer>$/
        const [, stated, chain, result] = form.exec(assistant!.content)!
        expect(stated).toBe(problem)
        expect(chain!.split('=')[0]).toBe(problem)
        expect(chain!.split('=').at(-1)).toBe(result)
      }),
    )
  })

  it('write the solver as problem, worked answer', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { messages, problem } = solverExample(randomStream(seed, 's'), {
          detail: 'split',
          wrongStepRate: 0,
        })
        expect(messages[0]).toEqual({ role: 'user', content: problem })
        expect(canonical(problem)).toBe(problem)
        expect(messages[1]!.content).toMatch(/^[-+*()=\d]+ \\boxed\{-?\d+\}$/)
        expect(messages[1]!.content.startsWith(`${problem}=`)).toBe(true)
      }),
    )
  })

  it('never ask a held-out problem', () => {
    fc.assert(
      fc.property(builders, seeds, (build, seed) => {
        expect(
          isHeldout(build(randomStream(seed, 'h'), { detail: 'plain', wrongStepRate: 0.5 }).problem),
        ).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('keep to the kinds asked for', () => {
    const options = { detail: 'plain', wrongStepRate: 0, kinds: kinds.slice(0, 1) } as const
    const { messages } = proposerExample(randomStream(1, 'kinds'), options)
    expect(messages[0]!.content).toBe(knowledgeTexts[0])
  })
})

it('the world answers its questions and no others', () => {
  expect(arithmetic.name).toBe('arithmetic')
  expect(arithmetic.solve('(7-3)*12+5')).toBe('53')
  expect(arithmetic.solve('What is 3+4?')).toBeUndefined()
})
