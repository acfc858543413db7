import { describe, expect, it } from 'vitest'
import { randomStream } from '../../core/random.js'
import { type Expression, evaluate, LIMIT, operations, print, solveQuestion } from './expression.js'
import { heldoutProblems, isHeldout, sampleTraining } from './heldout.js'
import { kinds, knowledgeTexts } from './kinds.js'

const words: Record<string, number> = { two: 2, three: 3, four: 4 }
const sizes: Record<string, RegExp> = {
  'one digit': /^[1-9]$/,
  'one or two digits': /^[1-9]\d?$/,
  'two digits': /^[1-9]\d$/,
  'three digits': /^[1-9]\d\d$/,
}

describe('kinds', () => {
  it('are many, short and different', () => {
    expect(kinds.length).toBeGreaterThanOrEqual(24)
    expect(new Set(knowledgeTexts).size).toBe(kinds.length)
    for (const text of knowledgeTexts) expect(text.length).toBeLessThanOrEqual(60)
  })

  it('go from easy to hard without a gap', () => {
    const levels = kinds.map((kind) => kind.level)
    expect(levels).toEqual([...levels].sort())
    expect([...new Set(levels)]).toEqual(Array.from({ length: levels.at(-1)! }, (_, i) => i + 1))
    expect(levels.at(-1)).toBeGreaterThanOrEqual(4)
  })

  it.each(kinds.map((kind) => [kind.text, kind] as const))(
    '%s: every sample is what the text says',
    (text, kind) => {
      const [, family, terms, size, brackets] = /^(.*): (.*) terms, ([^,]*)(?:, (.*))?$/.exec(text)!
      const stream = randomStream(1, text)
      for (let i = 0; i < 200; i++) {
        const expression = kind.sample(stream)
        const printed = print(expression)
        const used = new Set(printed.replace(/[^+*-]/g, ''))
        expect(operations(expression)).toBe(words[terms!]! - 1)
        for (const number of printed.match(/\d+/g)!) expect(number).toMatch(sizes[size!]!)
        expect(printed.split('(').length - 1).toBe(
          brackets === undefined ? 0 : brackets === 'brackets' ? 1 : 2,
        )
        expect(Math.abs(evaluate(expression)!)).toBeLessThanOrEqual(LIMIT)
        expect(suits(family!, used)).toBe(true)
      }
    },
  )

  it('use different numbers for different streams and the same for the same', () => {
    for (const kind of kinds) {
      const draw = (seed: number) => {
        const stream = randomStream(seed, 'same')
        return Array.from({ length: 5 }, () => print(kind.sample(stream)))
      }
      expect(draw(1)).toEqual(draw(1))
      expect(draw(1)).not.toEqual(draw(2))
    }
  })

  it('place one pair of brackets anywhere', () => {
    const kind = kinds.find(({ text }) => text === 'mixed: four terms, one digit, brackets')!
    const stream = randomStream(1, 'anywhere')
    const shapes = new Set(
      Array.from({ length: 500 }, () =>
        print(kind.sample(stream)).replace(/\d/g, 'n').replace(/[+*-]/g, 'o'),
      ),
    )
    expect([...shapes].sort()).toEqual(['(non)onon', '(nonon)on', 'no(non)on', 'no(nonon)', 'nono(non)'])
  })
})

function suits(family: string, used: Set<string>): boolean {
  const all = [...used].sort().join('')
  if (family === 'sums') return all === '+'
  if (family === 'differences') return all === '-'
  if (family === 'products') return all === '*'
  if (family === 'sums and differences') return all === '+-'
  if (family === 'sums and products') return all === '*+'
  return used.has('*') && used.size > 1
}

describe('held-out problems', () => {
  const problems = heldoutProblems(640, 7)

  it('are different, held out and truly answered', () => {
    expect(new Set(problems.map((p) => p.problem)).size).toBe(640)
    for (const { problem, answer } of problems) {
      expect(isHeldout(problem)).toBe(true)
      expect(solveQuestion(problem)).toBe(answer)
    }
  })

  it('cover the kinds evenly as far as these have any', () => {
    const counts = kinds.map(({ text }) => problems.filter((p) => p.kind === text).length)
    expect(Math.min(...counts)).toBeGreaterThan(0)
    const most = Math.max(...counts)
    expect(counts.filter((count) => count >= most - 1).length).toBeGreaterThanOrEqual(kinds.length - 4)
  })

  it('depend on the seed alone, a smaller set being the start of a larger one', () => {
    expect(heldoutProblems(100, 7)).toEqual(problems.slice(0, 100))
    expect(heldoutProblems(100, 8)).not.toEqual(problems.slice(0, 100))
  })

  it('are refused at once where more are asked for than are ever drawn', () => {
    expect(() => heldoutProblems(1e9, 7)).toThrow(/20000 held-out problems at most, 1000000000/)
  })

  it('are recognised in any spelling, and other texts never', () => {
    const { problem } = problems[0]!
    expect(isHeldout(` (${problem}) `)).toBe(true)
    expect(isHeldout('what is 3+4?')).toBe(false)
  })

  it('hold out a sixteenth, and training draws none of it', () => {
    const stream = randomStream(3, 'training')
    const kind = kinds.find(({ text }) => text === 'sums: three terms, two digits')!
    const all = Array.from({ length: 4000 }, () => print(kind.sample(stream)))
    const share = all.filter(isHeldout).length / all.length
    expect(share).toBeGreaterThan(1 / 16 - 0.015)
    expect(share).toBeLessThan(1 / 16 + 0.015)
    for (const each of kinds) {
      const drawn: Expression[] = Array.from({ length: 50 }, () => sampleTraining(each, stream))
      expect(drawn.some((expression) => isHeldout(print(expression)))).toBe(false)
    }
  })
})
