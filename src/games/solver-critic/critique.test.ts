import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Critique, parseCritique, printCritique, scoreOf } from './critique.js'
import { criticTexts } from './prompts.js'

const critique: Critique = {
  sound: [true, false],
  logic: 8,
  steps: 5,
  answer: 0,
  correct: false,
  firstError: 2,
  feedback: 'Add 135 and 89 again.',
}
const text = printCritique(critique, ['57+78=135', '135+89=224'])
const swap = (from: string | RegExp, to: string) => text.replace(from, to)

describe('parseCritique', () => {
  it('reads what printCritique writes', () => {
    const score = fc.integer({ min: 0, max: 10 })
    const any = fc
      .record({
        sound: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
        logic: score,
        steps: score,
        answer: score,
        correct: fc.boolean(),
        firstError: fc.option(fc.integer({ min: 1, max: 6 })),
        feedback: fc.constantFrom('none', 'Look at the sign.', 'Two\nlines.'),
      })
      .filter(({ sound, firstError }) => firstError === null || firstError <= sound.length)
    fc.assert(
      fc.property(any, (given) => {
        const written = printCritique(
          given,
          given.sound.map(() => 'redone'),
        )
        expect(parseCritique(written, given.sound.length)).toEqual(given)
        expect(scoreOf(given)).toBeCloseTo((given.logic + given.steps + given.answer) / 30, 12)
      }),
    )
  })

  it('passes over thoughts, emphasis and lines of another form', () => {
    const dressed = `VERDICT: CORRECT? </think>\nLet me see.\n${text
      .replace('LOGIC: 8', '**LOGIC:** 8/10')
      .replace('FIRST_ERROR: 2', 'first_error: Step 2.')
      .replace('-> SOUND', '→ sound.')}`
    expect(parseCritique(dressed, 2)).toEqual(critique)
  })

  it('takes all that follows as feedback', () => {
    expect(parseCritique(`${text}\nVERDICT: CORRECT`, 2)?.feedback).toBe(
      'Add 135 and 89 again.\nVERDICT: CORRECT',
    )
  })

  it.each([
    ['nothing', '', 2],
    ['one token', 'WRONG', 2],
    ['a step left out', swap(/Step 2.*\n/, ''), 2],
    ['a step too many', text, 1],
    ['a step twice', swap('Step 2', 'Step 1'), 2],
    ['steps out of order', swap('Step 1', 'Step 3'), 2],
    ['two verdicts', `VERDICT: CORRECT\n${text}`, 2],
    ['a verdict that is none', swap('WRONG', 'CORRECT or WRONG'), 2],
    ['a verdict by an inherited name', swap('WRONG', 'constructor'), 2],
    ['a score above 10', swap('LOGIC: 8', 'LOGIC: 11'), 2],
    ['a score below 0', swap('LOGIC: 8', 'LOGIC: -1'), 2],
    ['a score in words', swap('LOGIC: 8', 'LOGIC: high'), 2],
    ['no score', swap(/LOGIC.*\n/, ''), 2],
    ['an error at a step that is not there', swap('FIRST_ERROR: 2', 'FIRST_ERROR: 3'), 2],
    ['an error at step 0', swap('FIRST_ERROR: 2', 'FIRST_ERROR: 0'), 2],
    ['no feedback', swap(/\nFEEDBACK.*/, ''), 2],
    ['empty feedback', swap(/FEEDBACK.*/, 'FEEDBACK: '), 2],
    ['a text cut off', text.slice(0, -40), 2],
    ['its own instructions', criticTexts.system, 2],
    ['its own prompt', 'Problem: 57+78\n\nSolution:\nStep 1: 57+78=135\nStep 2: 135+89=224', 2],
  ])('makes nothing of %s', (_, given, steps) => {
    expect(parseCritique(given, steps)).toBeNull()
  })

  it('takes linear time on lines without end', () => {
    const started = performance.now()
    expect(parseCritique(`Step 1: ${'-> '.repeat(100_000)}`, 1)).toBeNull()
    expect(parseCritique(`${'Step 1: a -> SOUND\n'.repeat(20_000)}`, 1)).toBeNull()
    expect(performance.now() - started).toBeLessThan(2000)
  })
})
